"""The `everturn` command line: parse, call, print."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from everturn_local import (
    cli_agents,
    cli_budgets,
    cli_invoke,
    cli_models,
    cli_operator,
    cli_providers,
    cli_sessions,
    cli_tokens,
)
from everturn_local.cli_asking import ROOT, Template

if TYPE_CHECKING:
    from everturn_local.handlers import Handler

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Durable AI-agent sessions: the stack on this machine, and a hand for a deployed one.",
)

app.add_typer(cli_agents.app, name="agents")
app.add_typer(cli_sessions.app, name="sessions")
app.add_typer(cli_budgets.app, name="budgets")
app.command()(cli_sessions.send)
app.command()(cli_sessions.answer)
app.command()(cli_tokens.token)
app.add_typer(cli_operator.tenants_app, name="tenants")
app.add_typer(cli_operator.keys_app, name="keys")
app.add_typer(cli_providers.app, name="providers")
app.add_typer(cli_models.app, name="models")
app.command()(cli_operator.redrive)
app.command()(cli_invoke.invoke)

LOOK_FOR_SIGNALS_S = 0.2
"""A signal that another thread was given is only handled once the main thread runs again."""


@app.callback()
def main(
    context: typer.Context,
    verbose: Annotated[bool, typer.Option(help="Log what the functions log.")] = False,
) -> None:
    """Set up logging once for all commands."""
    level = logging.INFO if verbose else logging.ERROR
    logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s %(message)s")
    context.obj = _environment()


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


def _workers(arguments: Iterable[str]) -> dict[str, Handler]:
    """Return the worker functions of the command line."""
    from everturn_local.worker_functions import load_worker  # noqa: PLC0415

    try:
        return dict(map(load_worker, arguments))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--worker") from error


def _parameters(upload_origins: str, default_provider: str) -> dict[str, str]:
    """Return the template's parameters that the command line says something of."""
    given = {"UploadOrigins": upload_origins} if upload_origins else {}
    return given if default_provider == "demo" else given | {"DefaultProvider": default_provider}


@contextmanager
def _refusals_said() -> Iterator[None]:
    """End the program with one line where the stack cannot be played as asked."""
    from everturn_local.intrinsics import TemplateError  # noqa: PLC0415

    try:
        yield
    except TemplateError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


@app.command()
def dev(  # noqa: PLR0913, PLR0917  # one for each option
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
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=path/to/file.py:handler: a Lambda function that agents name as their worker "
            "by its ARN; may be repeated."
        ),
    ] = None,
    upload_origins: Annotated[
        str, typer.Option(help="Origins whose pages may upload, with commas between.")
    ] = "",
    default_provider: Annotated[
        str, typer.Option(help="Provider of a model that an agent names without one.")
    ] = "demo",
    provider: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=URL of a provider, as ollama=http://127.0.0.1:11434/v1; its key is the "
            "variable NAME_API_KEY, if there is one; may be repeated."
        ),
    ] = None,
    template: Template = ROOT / "template.yaml",
) -> None:
    """Run the whole stack on this machine until Ctrl-C."""
    from everturn_local.bootstrap import (  # noqa: PLC0415  # moto is heavy: `--help` should not wait for it
        open_access,
        register_sample_agent,
        set_provider,
    )
    from everturn_local.pointing import lines, runs_client  # noqa: PLC0415
    from everturn_local.runtime import LocalRuntime  # noqa: PLC0415

    told: list[int] = []  # no lock: a second signal comes while the first one is handled
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: told.append(number))
    console = Console(stderr=as_json)
    with (
        _refusals_said(),
        _port_taken_said(port),
        LocalRuntime(
            template,
            http_port=port,
            parameters=_parameters(upload_origins, default_provider),
            environment=_environment(),
            worker_functions=_workers(worker or ()),
        ) as runtime,
    ):
        workers = {name: runtime.function_arn(name) for name in runtime.worker_functions}
        access = open_access(runtime, workspace, api_key or None)
        register_sample_agent(runtime, access, ROOT)
        for one in provider or ():
            try:
                set_provider(one, os.environ)
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint="--provider") from error
        if as_json:
            about: dict[str, Any] = {
                "http_url": access.http_url,
                "ws_url": access.ws_url,
                "api_key": access.api_key,
                "workspace": access.workspace,
                "runs_client": runs_client(access),
            }
            if workers:
                about["workers"] = workers
            if cloud:
                about |= {
                    "aws_endpoint_url": runtime.aws_endpoint_url,
                    "table": runtime.physical["Table"],
                    "queue_url": runtime.physical["Queue"],
                    "dead_letters_url": runtime.physical["DeadLetterQueue"],
                }
            print(json.dumps(about), flush=True)
        else:
            for line in lines(access, [*workers.values()]):
                console.print(line, highlight=False, markup=False, soft_wrap=True)
        while not told:
            time.sleep(LOOK_FOR_SIGNALS_S)
        console.print("stopping")


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
