"""`everturn agents`: definitions in a file and at an API; parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everturn_local.cli_asking import (
    ApiKey,
    AsJson,
    Cursor,
    ExitCode,
    Limit,
    Url,
    at_api,
    day_and_time,
    fail,
    failures_said,
    say_json,
    say_more,
    say_table,
)

if TYPE_CHECKING:
    from everturn_local.agents_file import Wanted
    from everturn_local.remote import Remote

app = typer.Typer(no_args_is_help=True, help="Agents of a tenant, over HTTP.")

AgentId = Annotated[str, typer.Argument(help="Id of the agent.")]


@app.command()
def apply(
    file: Annotated[Path, typer.Argument(help="YAML: one agent or many.")],
    url: Url,
    api_key: ApiKey,
    dry_run: Annotated[
        bool, typer.Option(help="Say what would change, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the agents of a file what it says; what is so already is left alone."""
    with failures_said():
        from everturn_local.agents_file import FileRefused, read_agents  # noqa: PLC0415
        from everturn_local.remote import Refused, Remote  # noqa: PLC0415

        try:
            agents = read_agents(file)
        except FileRefused as error:
            fail("invalid_file", str(error))
        failed = False
        with Remote(url, api_key) as remote:
            for wanted in agents:
                try:
                    _say(_applied(remote, wanted, dry_run=dry_run), as_json=as_json)
                except Refused as error:
                    if error.code in {"unauthenticated", "insufficient_privilege"}:
                        raise
                    failed = True
                    _say(_refused(wanted, error), as_json=as_json)
    if failed:
        raise typer.Exit(ExitCode.REFUSED)


def _applied(remote: Remote, wanted: Wanted, *, dry_run: bool) -> dict[str, Any]:
    """Return what became of an agent, or would."""
    from everturn_local.agents_file import changes  # noqa: PLC0415
    from everturn_local.remote import Refused, place  # noqa: PLC0415

    path = f"/v1/agents/{place(wanted.agent_id)}"
    before: dict[str, Any] | None = None
    try:
        before = remote.get(path)
        before.pop("agent_id", None)
    except Refused as error:
        if error.code != "unknown_agent":
            raise
    about: dict[str, Any] = {"agent_id": wanted.agent_id}
    if before == wanted.definition:
        return {**about, "result": "unchanged", "changes": []}
    named = [] if before is None else changes(before, wanted.definition)
    if not dry_run:
        remote.put(path, wanted.body)
    return {**about, "result": "created" if before is None else "updated", "changes": named}


def _refused(wanted: Wanted, error: Any) -> dict[str, Any]:
    return {
        "agent_id": wanted.agent_id,
        "result": "failed",
        "changes": [],
        "code": error.code,
        "message": error.message,
    }


def _say(line: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(line)
        return
    detail = " ".join(line["changes"])
    if line["result"] == "failed":
        detail = f"{line['code']}: {line['message']}"
    typer.echo(f"{line['result']:<10} {line['agent_id']}  {detail}".rstrip())


@app.command("list")
def list_agents(
    url: Url, api_key: ApiKey, limit: Limit = 50, cursor: Cursor = "", as_json: AsJson = False
) -> None:
    """List agents by their ids."""
    with at_api(url, api_key) as remote:
        page = remote.get("/v1/agents", limit=limit, cursor=cursor)
    if as_json:
        say_json(page)
        return
    rows = [
        (one["agent_id"], one.get("model", ""), day_and_time(one["updated_at"]))
        for one in page["agents"]
    ]
    say_table(("agent", "model", "updated"), rows, "There are no agents.")
    say_more(page)


@app.command()
def show(agent_id: AgentId, url: Url, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Show a definition, as YAML that `apply` takes."""
    with at_api(url, api_key) as remote:
        from everturn_local.remote import place  # noqa: PLC0415

        agent = remote.get(f"/v1/agents/{place(agent_id)}")
    if as_json:
        say_json(agent)
        return
    import yaml  # noqa: PLC0415

    typer.echo(yaml.safe_dump(agent, sort_keys=False, allow_unicode=True), nl=False)


@app.command()
def delete(agent_id: AgentId, url: Url, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Delete an agent; its sessions keep what they pinned, without a worker."""
    with at_api(url, api_key) as remote:
        from everturn_local.remote import place  # noqa: PLC0415

        answer = remote.delete(f"/v1/agents/{place(agent_id)}")
    if as_json:
        say_json(answer)
    else:
        typer.echo(f"deleted {agent_id}")
