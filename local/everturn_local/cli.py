"""The `everturn` command line: parse, call, print."""

from __future__ import annotations

import errno
import json
import logging
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Durable AI-agent sessions: the stack on this machine, and a hand for a deployed one.",
)

ROOT = Path(__file__).resolve().parents[2]
"""The checkout: the local runtime runs its template and its functions."""

Template = Annotated[Path, typer.Option(help="The SAM template to run.")]


LOOK_FOR_SIGNALS_S = 0.2
"""A signal that another thread was given is only handled once the main thread runs again."""


@app.callback()
def main(
    verbose: Annotated[bool, typer.Option(help="Log what the functions log.")] = False,
) -> None:
    """Set up logging once for all commands."""
    level = logging.INFO if verbose else logging.ERROR
    logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s %(message)s")


def _environment() -> dict[str, str]:
    """Return what the functions are told beside the template: say little, on standard error."""
    quiet = logging.getLogger().level > logging.INFO
    return {
        "POWERTOOLS_LOG_LEVEL": "ERROR" if quiet else "INFO",
        "POWERTOOLS_METRICS_DISABLED": "true",
    }


@contextmanager
def _port_taken_said(port: int) -> Iterator[None]:
    """End the program with one line where the port is not free."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        typer.echo(f"Port {port} is in use; choose another one, or 0 for a free one.", err=True)
        raise typer.Exit(1) from None


@app.command()
def dev(
    port: Annotated[
        int, typer.Option(help="Port of the HTTP and WebSocket APIs; 0: a free one.")
    ] = 0,
    api_key: Annotated[str, typer.Option(help="API key to accept; made up if left out.")] = "",
    workspace: Annotated[str, typer.Option(help="Tenant that the key belongs to.")] = "local",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line with the addresses once ready.")
    ] = False,
    cloud: Annotated[
        bool, typer.Option(help="With --json, say also where the local AWS and its resources are.")
    ] = False,
    template: Template = ROOT / "template.yaml",
) -> None:
    """Run the whole stack on this machine until Ctrl-C."""
    from everturn_local.bootstrap import (  # noqa: PLC0415  # moto is heavy: `--help` should not wait for it
        DEMO_AGENT,
        open_access,
        register_sample_agent,
    )
    from everturn_local.runtime import LocalRuntime  # noqa: PLC0415

    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    console = Console(stderr=as_json)
    with (
        _port_taken_said(port),
        LocalRuntime(template, http_port=port, environment=_environment()) as runtime,
    ):
        access = open_access(runtime, workspace, api_key or None)
        register_sample_agent(runtime, access, ROOT)
        if as_json:
            about = {
                "http_url": access.http_url,
                "ws_url": access.ws_url,
                "api_key": access.api_key,
                "workspace": access.workspace,
            }
            if cloud:
                about |= {
                    "aws_endpoint_url": runtime.aws_endpoint_url,
                    "table": runtime.physical["Table"],
                    "queue_url": runtime.physical["Queue"],
                    "dead_letters_url": runtime.physical["DeadLetterQueue"],
                }
            print(json.dumps(about), flush=True)
        else:
            console.print(f"HTTP       {access.http_url}", highlight=False)
            console.print(f"WebSocket  {access.ws_url}", highlight=False)
            console.print(f"API key    {access.api_key}", highlight=False)
            console.print(f"Workspace  {access.workspace}", highlight=False)
            console.print(f"Agent      {DEMO_AGENT}", highlight=False)
            console.print("Ctrl-C stops it.")
        while not stopped.wait(LOOK_FOR_SIGNALS_S):
            pass
        console.print("stopping")


@app.command()
def redrive(
    table: Annotated[str, typer.Option(help="Name of the stack's table.")],
    queue_url: Annotated[str, typer.Option(help="URL of the stack's queue.")],
    dead_letters: Annotated[
        str, typer.Option(help="URL of the dead-letter queue; its messages are moved back.")
    ] = "",
    session: Annotated[
        list[str] | None, typer.Option(help="TENANT/SESSION to lift and wake; may be repeated.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Lift all quarantines; reads the whole table.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Say what would be done, and do nothing.")] = False,
) -> None:
    """Lift quarantines and move dead letters back, with the credentials of the environment."""
    from everturn.errors import EverturnError  # noqa: PLC0415  # `--help` should not wait for boto3
    from everturn_local.redriving import redrive as redriven  # noqa: PLC0415
    from everturn_local.redriving import session_named  # noqa: PLC0415

    if not (session or everything or dead_letters):
        raise typer.BadParameter("name a --session, --dead-letters, or --all")
    try:
        keys = [session_named(one) for one in session or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    counted: Counter[str] = Counter()
    try:
        for line in redriven(
            table, queue_url, dead_letters, keys, all_quarantined=everything, dry_run=dry_run
        ):
            counted[line.done] += 1
            name = f"{line.session.tenant}/{line.session.session}" if line.session else "-"
            typer.echo(f"{line.done:<10} {name}  {line.detail}".rstrip())
    except EverturnError as error:
        typer.echo(f"failed: {error.message}", err=True)
        raise typer.Exit(1) from None
    done = ", ".join(f"{count} {what}" for what, count in sorted(counted.items()))
    typer.echo(f"{'dry run, nothing done: ' if dry_run else ''}{done or 'nothing to do'}")
    if counted["failed"]:
        raise typer.Exit(1)


@app.command()
def demo(template: Template = ROOT / "template.yaml") -> None:
    """Start the stack on free ports, run one turn, show it and what it cost."""
    from everturn_local.bootstrap import open_access, register_sample_agent  # noqa: PLC0415
    from everturn_local.demo import play  # noqa: PLC0415
    from everturn_local.runtime import LocalRuntime  # noqa: PLC0415

    console = Console()
    with console.status("starting the local runtime"):
        runtime = LocalRuntime(template, environment=_environment())
        runtime.start()
    try:
        access = open_access(runtime, "demo")
        agent = register_sample_agent(runtime, access, ROOT)
        tools = ", ".join(tool["name"] for tool in agent["tools"])
        console.print(
            f"local runtime at {access.http_url}, agent demo with {tools}", highlight=False
        )
        last = play(console, runtime, access)
    finally:
        runtime.stop()
    if last["outcome"] != "done":
        raise typer.Exit(1)
