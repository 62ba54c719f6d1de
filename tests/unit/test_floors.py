"""The house's floors: who may import whom, what stands where. Source: house style, section 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from sys import stdlib_module_names

import pytest

import everturn.workers

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "layers" / "engine" / "python"
PACKAGE = ENGINE / "everturn"
FUNCTIONS = sorted((ROOT / "functions").glob("*/app.py"))

GROUND = {"protocol", "errors", "rejections", "settings", "observability"}
CORE = {"session"}
PORTS = {"ports"}
OUTBOUND = {"outbound"}
"""What every adapter that leaves AWS connects with."""

ADAPTERS = {"store", "llm", "tokens", "tools", "delivery", "push", "clock"}
VIEWS = {"runs"}
USE_CASES = {"drive", "commands"}
TOP = {"surfaces", "wiring"}
LIBRARY = {"workers"}
"""Published for worker authors: nothing of the engine imports it."""

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "rejections": {"errors"},
    "settings": {"errors"},
    "observability": set(),
    "protocol": {"errors", "rejections"},
    "session": {"protocol", "errors", "rejections"},
    "ports": GROUND | CORE,
    "outbound": GROUND,
    **dict.fromkeys(ADAPTERS, GROUND | CORE | PORTS | OUTBOUND),
    # The runs view: between the adapters whose words it speaks and the use cases.
    "runs": GROUND | CORE | PORTS | {"llm", "tools", "push"},
    # A driver reads sessions as the other use cases do; these never need a driver.
    "drive": GROUND | CORE | PORTS | OUTBOUND | ADAPTERS | {"commands"},
    "commands": GROUND | CORE | PORTS | OUTBOUND | ADAPTERS | VIEWS,
    "surfaces": GROUND | CORE | PORTS | OUTBOUND | ADAPTERS | VIEWS | USE_CASES,
    "wiring": GROUND | CORE | PORTS | OUTBOUND | ADAPTERS | USE_CASES | {"surfaces"},
    # Not the settings, which are the engine's, nor the observability, which needs powertools.
    "workers": {"protocol", "errors", "rejections"},
}
"""What each part of the engine may import beside itself."""

PURE = {"pydantic"}
"""Third parties that the core and the wire models may know."""

HOMELESS = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "base", "misc"}

READS_ENVIRONMENT = {
    "settings.py",
    # A local agent's secret may be named by a variable ({"env": …}); which one is not known before.
    "outbound/secret_places.py",
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Return a module's dotted name."""
    return ".".join(path.relative_to(ENGINE).with_suffix("").parts).removesuffix(".__init__")


def part_of(module: str) -> str:
    """Return the part of the engine that a module belongs to; nothing for the package itself."""
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, at any depth, also under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                inner = [f"{module}.{alias.name}" for alias in names]
                modules = [one for one in inner if one in KNOWN]
                yield from modules or [module]
            case ast.ImportFrom():
                raise AssertionError(f"{path.name} imports relatively")
            case _:
                pass


KNOWN = {name_of(path) for path in MODULES}
GRAPH = {
    name_of(path): {one for one in imports(path) if one.split(".")[0] == "everturn"}
    for path in MODULES
}


@pytest.mark.parametrize("module", sorted(GRAPH))
def test_imports_point_down(module: str) -> None:
    here = part_of(module)

    reached = {part_of(one) for one in GRAPH[module]} - {here}

    assert reached <= MAY_IMPORT.get(here, set())


def test_every_part_has_its_floor() -> None:
    parts = {part_of(module) for module in GRAPH} - {""}

    assert parts == set(MAY_IMPORT)
    engine = GROUND | CORE | PORTS | OUTBOUND | ADAPTERS | VIEWS | USE_CASES | TOP
    assert parts == engine | LIBRARY


def test_nothing_is_imported_in_a_circle() -> None:
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for one in sorted(GRAPH.get(module, ())):
                visit(one, (*trail, module))
            done.add(module)

    for module in sorted(GRAPH):
        visit(module, ())


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if path.relative_to(PACKAGE).parts[0] in {"session", "protocol"}],
    ids=name_of,
)
def test_the_core_knows_the_standard_library_and_pydantic(path: Path) -> None:
    outside = {one.split(".")[0] for one in imports(path)} - {"everturn"} - stdlib_module_names

    assert outside <= PURE | {"pydantic_core"}


IMPURE = {
    "asyncio",
    "datetime",
    "io",
    "logging",
    "os",
    "pathlib",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "time",
}


@pytest.mark.parametrize("path", sorted((PACKAGE / "session").rglob("*.py")), ids=name_of)
def test_the_core_is_pure(path: Path) -> None:
    """No clock, no randomness, no environment, no logging, nothing to wait for."""
    tree = ast.parse(path.read_text())

    assert {one.split(".")[0] for one in imports(path)}.isdisjoint(IMPURE)
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.AsyncFunctionDef | ast.Await)]
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names.isdisjoint({"open", "print", "uuid4", "uuid1"})


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_engine_knows_nothing_that_stands_on_it(path: Path) -> None:
    tops = {one.split(".")[0] for one in imports(path)}

    assert tops.isdisjoint({"functions", "everturn_local", "local", "bench", "tests", "app"})


PUBLIC = PACKAGE / "workers" / "__init__.py"
"""The one package that says something: its names are what users import. Source: docs/decisions."""


@pytest.mark.parametrize("path", sorted({*PACKAGE.rglob("__init__.py")} - {PUBLIC}), ids=name_of)
def test_packages_say_nothing(path: Path) -> None:
    assert path.read_text() == ""


def test_the_library_names_what_is_public_and_no_more() -> None:
    documented, *rest = ast.parse(PUBLIC.read_text()).body

    assert isinstance(documented, ast.Expr)
    assert all(isinstance(node, ast.ImportFrom | ast.Assign) for node in rest)
    names = {
        alias.name for node in rest if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert names == set(everturn.workers.__all__)


@pytest.mark.parametrize("path", sorted((PACKAGE / "workers").glob("*.py")), ids=name_of)
def test_the_library_knows_the_standard_library_and_pydantic(path: Path) -> None:
    outside = {one.split(".")[0] for one in imports(path)} - {"everturn"} - stdlib_module_names

    assert outside <= PURE | {"pydantic_core"}


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in MODULES}

    assert [folder.name for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_thing_has_a_home(path: Path) -> None:
    assert HOMELESS.isdisjoint(path.relative_to(PACKAGE).with_suffix("").parts)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_is_over_400_lines(path: Path) -> None:
    """House style, section 3."""
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize(
    "path",
    [
        one
        for folder in ("tests", "local", "bench")
        for one in sorted((ROOT / folder).rglob("*.py"))
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_no_test_and_no_tool_is_over_400_lines_either(path: Path) -> None:
    """House style, section 3."""
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.parent.name)
def test_no_handler_is_over_60_lines(path: Path) -> None:
    """House style, section 3."""
    assert len(path.read_text().splitlines()) <= 60


def test_only_the_settings_read_the_environment() -> None:
    readers = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if _mentions(path, {"environ", "getenv", "environb"})
    }

    assert readers <= READS_ENVIRONMENT


def test_only_the_observability_makes_a_logger() -> None:
    makers = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if _mentions(path, {"Logger", "getLogger", "logging"})
    }

    # The library's users log as they like, so it has a logger of the standard library.
    assert makers == {"observability.py", "workers/logs.py"}


def _mentions(path: Path, names: set[str]) -> bool:
    """Return whether code, not text, names one of `names`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found |= {alias.name for alias in aliases}
            case _:
                pass
    return not names.isdisjoint(found)
