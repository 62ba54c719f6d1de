"""What the commands have in common: options, how they answer, how they fail; no command is here.

It must not import anything heavy: `everturn --help` waits for all of this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

if TYPE_CHECKING:
    from everturn_local.remote import Remote

ROOT = Path(__file__).resolve().parents[2]
"""The checkout: the local runtime runs its template and its functions."""

Template = Annotated[Path, typer.Option(help="The SAM template to run.")]

Url = Annotated[
    str,
    typer.Option("--url", envvar="EVERTURN_URL", show_default=False, help="Base URL of the API."),
]
ApiKey = Annotated[
    str,
    typer.Option(
        "--api-key",
        envvar="EVERTURN_API_KEY",
        show_default=False,
        help="API key of the tenant, or a client token.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with JSON on standard output.")]
Table = Annotated[
    str,
    typer.Option(
        "--table",
        envvar="EVERTURN_TABLE",
        show_default=False,
        help="Name of the stack's table; the credentials are those of the environment.",
    ),
]
Limit = Annotated[int, typer.Option(min=1, max=200, help="Most rows of one page.")]
Cursor = Annotated[str, typer.Option(help="Where the page begins: what the one before it said.")]


_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_SPAN: Final = re.compile(r"([0-9]{1,9})([smhd])")


class ExitCode(IntEnum):
    """How a command ends; 2 is what the command line itself says of wrong usage."""

    DONE = 0
    REFUSED = 1
    """The request was refused, or what was asked for failed."""

    UNREACHABLE = 3
    """Nobody answered, or only that it cannot be done now: try again later."""


@contextmanager
def failures_said() -> Iterator[None]:
    """End the program with one line for what a server, a file or the engine says no to."""
    from everturn.errors import EverturnError, RejectedError, TransientError  # noqa: PLC0415
    from everturn_local.remote import Refused, Unreachable  # noqa: PLC0415

    try:
        yield
    except Refused as error:
        fail(error.code, error.message, error.hint, status=error.status)
    except Unreachable as error:
        fail("unreachable", str(error), status=UNAVAILABLE)
    except RejectedError as error:
        fail(error.code, error.message, error.hint)
    except TransientError as error:
        fail(error.code, error.message, status=UNAVAILABLE)
    except EverturnError as error:
        fail("internal", error.message)


@contextmanager
def at_api(url: str, api_key: str) -> Iterator[Remote]:
    """Give a client of an API; end the program with one line where it says no."""
    with failures_said():
        from everturn_local.remote import Remote  # noqa: PLC0415

        with Remote(url, api_key) as remote:
            yield remote


UNAVAILABLE = 503
"""From this status on it is worth trying again."""


def fail(code: str, message: str, hint: str | None = None, *, status: int = 400) -> NoReturn:
    """End the program with one line on standard error."""
    said = " ".join(message.split())
    typer.echo(f"error: {code}: {said}{f' ({hint})' if hint else ''}", err=True)
    raise typer.Exit(ExitCode.UNREACHABLE if status >= UNAVAILABLE else ExitCode.REFUSED)


def say_json(value: Any) -> None:
    """Print one JSON line."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def say_table(columns: Iterable[str], rows: Iterable[Iterable[str]], empty: str) -> None:
    """Print rows below their columns, or what is said where there are none."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415

    made = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    listed = [*rows]
    for row in listed:
        made.add_row(*row)
    if listed:
        Console(highlight=False, markup=False, emoji=False).print(made)
    else:
        typer.echo(empty)


def say_more(page: Mapping[str, Any]) -> None:
    """Say where a list goes on, on standard error."""
    if "cursor" in page:
        typer.echo(f"more: --cursor {page['cursor']}", err=True)


def day_and_time(moment: str) -> str:
    """Return an RFC 3339 moment as a person reads it, in UTC."""
    return moment[:19].replace("T", " ")


def seconds(span: str) -> int:
    """Return the seconds of `30d` and its like; a usage error for anything else."""
    found = _SPAN.fullmatch(span)
    if found is None:
        raise typer.BadParameter("is a number and s, m, h or d", param_hint="--expires-in")
    return int(found[1]) * _UNITS[found[2]]
