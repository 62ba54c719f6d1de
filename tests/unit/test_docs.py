"""The pages say what the code says, lead somewhere, and name no machine."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar, get_args

import pytest
import yaml

import everturn
from everturn.errors import (
    DefectError,
    EverturnError,
    RejectedError,
    StoreUnreadable,
    TransientError,
    VersionConflict,
    handling,
    to_http,
)
from everturn.protocol import limits
from everturn.push.envelopes import HIDDEN, NAMES_ITS_TURN, SHOWN_AT_DEFAULT
from everturn.session.events.stored import Event
from marked_blocks import blocks_of

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
ADRS = sorted((ROOT / "docs" / "adr").glob("*.md"))
PROJECT = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")]
PAGES = [README, *DOCS, *PROJECT]
FORMS = [*sorted((ROOT / ".github").rglob("*.*")), ROOT / ".pre-commit-config.yaml"]
CHANGELOG = ROOT / "CHANGELOG.md"
MOST_LINES = 200
MOST_ADR_LINES = 40

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
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
    return page.relative_to(ROOT).as_posix()


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


def links_of(page: Path) -> set[Path]:
    """Return the files of this project that a page links to."""
    links = {link.partition("#")[0] for link in LINK.findall(page.read_text()) if "://" not in link}
    return {(page.parent / link).resolve() for link in links if link}


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
    for error in (VersionConflict(""), DefectError(""), StoreUnreadable("")):
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
        always = SHOWN_AT_DEFAULT.get(kind, {}).keys()
        shown[kind] += [
            name.removesuffix("_ms") + ("" if field.is_required() or name in always else "?")
            for name, field in ((f.alias or n, f) for n, f in one.model_fields.items())
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
    reached: set[Path] = set()
    ahead = {README}

    while ahead:
        page = ahead.pop()
        reached.add(page)
        ahead |= {one for one in links_of(page) if one.suffix == ".md"} - reached

    assert set(PAGES) - reached == set()


def test_the_index_has_every_page_of_its_folder() -> None:
    index = ROOT / "docs" / "README.md"

    listed = {one for one in links_of(index) if one.parent == index.parent}

    assert listed == {one for one in index.parent.iterdir() if one.is_file()} - {index}


def test_decisions_are_numbered_and_listed_in_their_order() -> None:
    index = (ROOT / "docs" / "decisions.md").read_text()

    listed = re.findall(r"^- \[(\d{4})\]\(adr/(\S+)\) (.+)$", index, re.MULTILINE)

    titles = [one.read_text().partition("\n")[0].removeprefix("# ") for one in ADRS]
    assert [f"{number} {title}" for number, _, title in listed] == titles
    assert [name for _, name, _ in listed] == [one.name for one in ADRS]
    assert [number for number, _, _ in listed] == [f"{n:04d}" for n in range(1, len(ADRS) + 1)]


@pytest.mark.parametrize("page", ADRS, ids=name_of)
def test_a_decision_has_its_context_what_was_decided_and_what_follows(page: Path) -> None:
    text = page.read_text()

    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)

    assert headings == ["Context", "Decision", "Consequences"]
    assert page.name.startswith(text[2:6])
    assert len(text.splitlines()) <= MOST_ADR_LINES


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
    blocks = [block for block in blocks_of(README) if block.language == "bash"]

    marked = [bool(block.kind) for block in blocks]

    assert blocks
    assert marked == [NEEDS_MORE.search(commands_of(block.body)) is None for block in blocks]


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


@pytest.mark.parametrize("page", [*PAGES, *FORMS, CHANGELOG], ids=name_of)
def test_no_page_names_a_host_that_is_not_an_example(page: Path) -> None:
    text = page.read_text()

    hosts = {*HOST.findall(text), *BARE_HOST.findall(text)}

    assert {one for one in hosts if one != "127.0.0.1" and not one.endswith("example.com")} == set()


@pytest.mark.parametrize("page", [*PAGES, *FORMS], ids=name_of)
def test_no_page_names_a_machine_or_a_day(page: Path) -> None:
    text = page.read_text()

    assert (MACHINE_PATH.findall(text), DATE.findall(text)) == ([], [])


def test_the_changelog_is_kept_as_its_format_wants() -> None:
    text = CHANGELOG.read_text()

    releases = re.findall(r"^## (.+)$", text, re.MULTILINE)
    sections = set(re.findall(r"^### (.+)$", text, re.MULTILINE))

    assert releases[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in releases[1:])
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_hooks_run_what_is_there_and_download_nothing() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())

    repositories = {one["repo"] for one in config["repos"]}
    hooks = [hook for one in config["repos"] for hook in one["hooks"]]

    assert repositories == {"local"}
    assert {hook["language"] for hook in hooks} == {"system"}
    assert {"format", "lint", "types", "whitespace"} <= {hook["id"] for hook in hooks}


@pytest.mark.parametrize("form", ["bug.yml", "feature.yml"])
def test_a_form_asks_something_and_each_question_once(form: str) -> None:
    asked = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / form).read_text())

    ids = [one["id"] for one in asked["body"]]

    assert {"name", "description", "body"} <= asked.keys()
    assert ids == list(dict.fromkeys(ids))
    assert all(one["attributes"]["label"] for one in asked["body"])
