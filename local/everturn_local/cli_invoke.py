"""`everturn invoke`: one function, one event, no container; parse, call, print."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from everturn_local.cli_asking import ROOT, ExitCode, Template, fail


def invoke(
    context: typer.Context,
    function: Annotated[str, typer.Argument(help="Name of the function, as its folder is called.")],
    event: Annotated[
        Path,
        typer.Option("--event", "-e", help="File with the event as JSON; - is standard input."),
    ],
    template: Template = ROOT / "template.yaml",
) -> None:
    """Run a function once on an event, here, and print its answer.

    The stack is fresh, nothing else runs in it, and it holds what the samples in events/ name.
    """
    given = _read(event)
    from everturn_local.intrinsics import TemplateError  # noqa: PLC0415
    from everturn_local.invocations import Failed, Returned  # noqa: PLC0415
    from everturn_local.invoking import invoke as invoked  # noqa: PLC0415

    try:
        outcome = invoked(function, given, template, context.obj or {})
    except TemplateError as error:
        fail("unknown_function", str(error))
    match outcome:
        case Returned(payload=payload):
            typer.echo(json.dumps(payload, ensure_ascii=False))
        case Failed():
            typer.echo(json.dumps(outcome.to_payload(), ensure_ascii=False))
            raise typer.Exit(ExitCode.REFUSED)
        case _:
            fail("too_large", "the event is over Lambda's limit")


def _read(event: Path) -> Any:
    try:
        text = sys.stdin.read() if str(event) == "-" else event.read_text()
        return json.loads(text)
    except OSError as error:
        fail("invalid_file", f"{event}: {error.strerror}")
    except ValueError as error:
        fail("invalid_file", f"{event}: is no JSON: {error}")
