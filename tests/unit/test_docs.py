"""The pages say what the code says, lead somewhere, and name no machine."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar, get_args

import pytest

import everturn
from everturn.errors import (
    DefectError,
    EverturnError,
    RejectedError,
    TransientError,
    VersionConflict,
    handling,
    to_http,
)
from everturn.protocol import limits
from everturn.push.envelopes import HIDDEN, NAMES_ITS_TURN
from everturn.session.events.stored import Event

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, *DOCS]
MOST_LINES = 200

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(
    r"^(?P<mark><!-- runs -->\n)?```bash\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
NEEDS_MORE = re.compile(r"\b(?:aws|sam|docker|podman|make deploy)\b")
"""Commands that want an account or a container runtime."""

HOST = re.compile(r"(?:https?|wss?)://([^\s/:\"'`)]+)")
BARE_HOST = re.compile(r"\b(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|cloud)\b")
MACHINE_PATH = re.compile(r"(?<![\w.}>])/(?:home|root|tmp|work|Users|var|opt|usr)/|\b[A-Z]:\\")
DATE = re.compile(r"\b(?:19|20)\d\d-[01]\d-[0-3]\d\b")
ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<cells>.*) \|$", re.MULTILINE)
E = TypeVar("E", bound=EverturnError)
UNITS = {"KiB": 1024, "MiB": 1024 * 1024}


def name_of(page: Path) -> str:
    """Return a page's name for a test's id."""
    return page.name


def rows(text: str) -> dict[str, list[str]]:
    """Return the rows of all tables that begin with code: the name to the other cells."""
    return {
        found["name"]: [cell.strip() for cell in re.split(r"(?<!\\)\|", found["cells"])]
        for found in ROW.finditer(text)
    }


def section(page: Path, heading: str) -> str:
    """Return what stands below a heading, up to the next one of its level."""
    level = heading.split(" ", maxsplit=1)[0]
    _, _, rest = page.read_text().partition(f"\n{heading}\n")
    assert rest, f"{page.name} has no section {heading}"
    return re.split(rf"^{level} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-") for one in headings}


def to_number(cell: str) -> float:
    """Return the figure of a table cell: `4 MiB`, `0.25`, `200`."""
    figure, _, unit = cell.partition(" ")
    return float(figure) * UNITS.get(unit, 1)


def bash_blocks() -> list[tuple[bool, str]]:
    """Return the README's shell blocks: whether one is marked, and its text."""
    return [(bool(found["mark"]), found["body"]) for found in BLOCK.finditer(README.read_text())]


def commands_of(body: str) -> str:
    """Return a block without its comments."""
    return re.sub(r"(?:^|\s)#.*$", "", body, flags=re.MULTILINE)


def subclasses(of: type[E]) -> Iterator[type[E]]:
    """Yield a class and everything below it."""
    yield of
    for one in of.__subclasses__():
        yield from subclasses(one)


def codes() -> dict[str, int]:
    """Return every code that an error body can have, with its status."""
    for module in pkgutil.walk_packages(everturn.__path__, "everturn."):
        importlib.import_module(module.name)
    found: dict[str, int] = {}
    for one in subclasses(RejectedError):
        if one.__module__.startswith("everturn."):
            found[one.code] = one.status
    for other in subclasses(TransientError):
        if other.__module__.startswith("everturn."):
            found[other.code] = handling(other("")).status
    for error in (VersionConflict(""), DefectError("")):
        status, body = to_http(error)
        found[body["code"]] = status
    return found


def public_fields() -> dict[str, list[str]]:
    """Return the payload fields of every stored event as clients see them, `?` for optional."""
    shown: dict[str, list[str]] = {}
    for one in get_args(Event):
        kind = one.model_fields["type"].default
        hidden = {"type", "private", "refs", "turn_id"} | HIDDEN.get(kind, frozenset())
        shown[kind] = ["turn_id"] if kind in NAMES_ITS_TURN else []
        shown[kind] += [
            name.removesuffix("_ms") + ("" if field.is_required() else "?")
            for name, field in one.model_fields.items()
            if name not in hidden
        ]
    return shown


def test_the_readme_is_short() -> None:
    lines = README.read_text().splitlines()

    assert len(lines) <= MOST_LINES


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]

    missing = []
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(link)

    assert missing == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    linked = {link.partition("#")[0] for link in LINK.findall(README.read_text())}

    assert {f"docs/{page.name}" for page in DOCS} <= linked


def test_the_error_table_has_every_code_with_its_status() -> None:
    table = rows(section(ROOT / "docs/wire.md", "## Errors"))

    written = {code: int(cells[0]) for code, cells in table.items()}

    assert written == codes()


def test_the_event_table_has_every_event_with_its_public_fields() -> None:
    table = rows(section(ROOT / "docs/wire.md", "## Events"))

    written = {kind: re.findall(r"[a-z_]+\??", cells[0]) for kind, cells in table.items()}

    assert written == public_fields()


def test_the_limits_table_has_every_limit_of_the_wire() -> None:
    table = rows(section(ROOT / "docs/limits.md", f"### `{limits.__name__}`"))

    written = {name: to_number(cells[0]) for name, cells in table.items()}

    known = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert written == {name: value for name, value in known.items() if name not in {"KIB", "MIB"}}


def test_every_other_limit_is_that_of_its_module() -> None:
    page = ROOT / "docs/limits.md"
    names = re.findall(r"^### `(everturn\.[a-z_.]+)`$", page.read_text(), re.MULTILINE)

    wrong = {}
    for name in names:
        module = importlib.import_module(name)
        for constant, cells in rows(section(page, f"### `{name}`")).items():
            if getattr(module, constant, None) != to_number(cells[0]):
                wrong[f"{name}.{constant}"] = cells[0]

    assert wrong == {}


def test_a_shell_block_is_marked_exactly_if_it_needs_no_account_and_no_container() -> None:
    blocks = bash_blocks()

    marked = [mark for mark, _ in blocks]

    assert blocks
    assert marked == [NEEDS_MORE.search(commands_of(body)) is None for _, body in blocks]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pages_use_targets_that_the_makefile_has(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))

    code = "\n".join(re.findall(r"```bash\n.*?```|`[^`\n]+`", page.read_text(), re.DOTALL))
    used = set(re.findall(r"\bmake ([a-z][a-z-]*)", code))

    assert used - targets == set()


def test_the_settings_table_has_every_parameter_of_the_template() -> None:
    template = (ROOT / "template.yaml").read_text()
    parameters, _, _ = template.partition("\nConditions:")
    declared = set(re.findall(r"^  ([A-Z][A-Za-z]+):$", parameters, re.MULTILINE))

    table = section(README, "## Settings")

    assert set(re.findall(r"`([A-Z][A-Za-z]+)`", table)) == declared


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_no_page_names_a_host_that_is_not_an_example(page: Path) -> None:
    text = page.read_text()

    hosts = {*HOST.findall(text), *BARE_HOST.findall(text)}

    assert {one for one in hosts if one != "127.0.0.1" and not one.endswith("example.com")} == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_names_a_machine_or_a_day(page: Path) -> None:
    text = page.read_text()

    assert (MACHINE_PATH.findall(text), DATE.findall(text)) == ([], [])
