"""`everturn sessions` and `everturn send`: what goes on at an API; parse, call, print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    say_json,
    say_more,
    say_table,
)

if TYPE_CHECKING:
    from everturn_local.tailing import Tail

app = typer.Typer(no_args_is_help=True, help="Sessions of a tenant, over HTTP.")

SessionId = Annotated[str, typer.Argument(help="Id of the session.")]

SHOWN_CHARS = 2_000
"""Characters of a message that a person is shown."""


@app.command("list")
def list_sessions(
    url: Url,
    api_key: ApiKey,
    agent: Annotated[str, typer.Option(help="Sessions of this agent only.")] = "",
    status: Annotated[
        str, typer.Option(help="active, idle, interrupted, done or cancelled ones only.")
    ] = "",
    owner: Annotated[str, typer.Option(help="Sessions of this owner only, newest first.")] = "",
    limit: Limit = 50,
    cursor: Cursor = "",
    as_json: AsJson = False,
) -> None:
    """List sessions, the newest last turn first."""
    wish = {"agent_id": agent, "status": status, "owner": owner}
    with at_api(url, api_key) as remote:
        page = remote.get("/v1/sessions", **wish, limit=limit, cursor=cursor)
    if as_json:
        say_json(page)
        return
    columns = ("session", "agent", "owner", "status", "turns", "last turn")
    say_table(columns, map(_row, page["sessions"]), "There are no such sessions.")
    say_more(page)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    status = "quarantined" if "quarantined" in one else one.get("status", "unreadable")
    return (
        one["session_id"],
        one.get("agent_id", ""),
        one.get("owner", ""),
        status,
        str(one.get("turns", "")),
        day_and_time(one.get("last_turn_at", "")),
    )


@app.command()
def show(session_id: SessionId, url: Url, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Show a session and its newest messages."""
    with at_api(url, api_key) as remote:
        from everturn_local.remote import place  # noqa: PLC0415

        session = remote.get(f"/v1/sessions/{place(session_id)}")
    if as_json:
        say_json(session)
        return
    for name in ("session_id", "agent_id", "status", "turn_id", "last_outcome", "seq"):
        if name in session:
            typer.echo(f"{name:<13} {session[name]}")
    if "quarantined" in session:
        aside = session["quarantined"]
        typer.echo(f"{'quarantined':<13} {aside['reason']} since {day_and_time(aside['at'])}")
    for call in session["calls"]:
        named = call.get("name") or call["kind"]
        typer.echo(f"{'call':<13} {named} {call['status']}, attempt {call['attempt']}")
    for wait in session["waits"]:
        asked = wait.get("question") or f"the task {wait['task_id']}"
        offered = f" [{' | '.join(wait['choices'])}]" if wait.get("choices") else ""
        typer.echo(f"{'wait':<13} {wait['id']} {wait['name']}: {asked}{offered}")
    for message in session["messages"]:
        typer.echo(f"{message['role']:<13} {_text(message)}")


def _text(message: dict[str, Any]) -> str:
    """Return what a person is shown of a message, on one line."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [_part(one) for one in content or ()]
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    parts += [f"{call['name']}({call['arguments']})" for call in calls]
    text = " ".join(" ".join(parts).split())
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]} …"


def _part(part: dict[str, Any]) -> str:
    return str(part.get("text") or f"[{part['type']}]")


@app.command()
def tail(
    session_id: SessionId,
    url: Url,
    api_key: ApiKey,
    turn: Annotated[str, typer.Option(help="Show this turn only, and end with it.")] = "",
    after: Annotated[str, typer.Option(help="Begin behind this cursor or event number.")] = "",
    follow: Annotated[bool, typer.Option(help="Go on when no turn is open.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print events and output as they come, until no turn is open."""
    with at_api(url, api_key) as remote:
        from everturn_local.tailing import Tail  # noqa: PLC0415

        _follow(Tail(remote, session_id, turn, after, follow), as_json=as_json)


@app.command()
def cancel(
    session_id: SessionId,
    url: Url,
    api_key: ApiKey,
    turn: Annotated[str, typer.Option(help="The turn; the open one if left out.")] = "",
    for_good: Annotated[bool, typer.Option(help="End the whole session, for good.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop a turn, or end a session."""
    with at_api(url, api_key) as remote:
        from everturn_local.remote import place  # noqa: PLC0415

        path = f"/v1/sessions/{place(session_id)}"
        if for_good:
            answer = remote.post(f"{path}/cancel", {})
        else:
            named = turn or remote.get(path).get("turn_id")
            if named is None:
                fail("no_active_turn", "The session has no open turn.")
            answer = remote.post(f"{path}/turns/{place(named)}/cancel", {})
    if as_json:
        say_json(answer)
        return
    what = session_id if for_good else f"{answer['turn_id']} of {session_id}"
    typer.echo(f"cancelled {what}" if answer["cancelled"] else f"{what} was over already")


@app.command()
def delete(
    session_ids: Annotated[list[str], typer.Argument(help="Ids of the sessions.")],
    url: Url,
    api_key: ApiKey,
    as_json: AsJson = False,
) -> None:
    """Delete sessions with all that they hold."""
    with at_api(url, api_key) as remote:
        from everturn_local.remote import place  # noqa: PLC0415

        for session_id in session_ids:
            answer = remote.delete(f"/v1/sessions/{place(session_id)}")
            if as_json:
                say_json({"session_id": session_id, **answer})
            else:
                typer.echo(f"{'deleting' if 'deleting' in answer else 'deleted'} {session_id}")


def send(
    agent_id: Annotated[str, typer.Argument(help="Id of the agent.")],
    text: Annotated[str, typer.Argument(help="What to say to it.")],
    url: Url,
    api_key: ApiKey,
    session: Annotated[str, typer.Option(help="The session; a new one if left out.")] = "",
    turn: Annotated[str, typer.Option(help="Id of the turn: makes a repetition harmless.")] = "",
    wait: Annotated[bool, typer.Option(help="Follow the turn to its end.")] = True,
    as_json: AsJson = False,
) -> None:
    """Send a message to an agent and print its turn."""
    message = {"role": "user", "content": text}
    wanted = {"type": "client.message", "agent_id": agent_id, "message": message, "stream": True}
    body: dict[str, Any] = {"input": {**wanted, **({"turn_id": turn} if turn else {})}}
    if session:
        body["session_id"] = session
    with at_api(url, api_key) as remote:
        from everturn_local.tailing import Tail  # noqa: PLC0415

        accepted = remote.post("/v1/sessions/input", body)
        if as_json:
            say_json(accepted)
        else:
            typer.echo(f"session {accepted['session_id']}  turn {accepted['turn_id']}")
        if not wait:
            return
        named = Tail(remote, accepted["session_id"], accepted["turn_id"])
        last = _follow(named, as_json=as_json)
    if last.get("outcome") != "done":
        raise typer.Exit(ExitCode.REFUSED)


def answer(
    session_id: SessionId,
    wait_id: Annotated[str, typer.Argument(help="Id of the wait, as `sessions show` has it.")],
    url: Url,
    api_key: ApiKey,
    text: Annotated[str, typer.Argument(help="What to answer; the reason, with --decline.")] = "",
    decline: Annotated[bool, typer.Option("--decline", help="Do not answer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question that a tool asked its user, or decline to."""
    declined = {"outcome": "rejected", **({"message": text} if text else {})}
    with at_api(url, api_key) as remote:
        from everturn_local.remote import place  # noqa: PLC0415

        path = f"/v1/sessions/{place(session_id)}/approvals/{place(wait_id)}"
        said = remote.post(path, declined if decline else {"answer": text})
    if as_json:
        say_json(said)
    else:
        typer.echo("it was over already" if said.get("duplicate") else f"answered {wait_id}")


def _follow(tail: Tail, *, as_json: bool) -> dict[str, Any]:
    """Print what a tail brings; return the payload of the last end of a turn."""
    last: dict[str, Any] = {}
    printed = _as_json(tail.frames()) if as_json else _for_people(tail.frames())
    for frame in printed:
        payload = frame["event"]["payload"] if frame["type"] == "event" else {}
        if payload.get("type") == "turn.completed":
            last = payload
    return last


def _as_json(frames: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for frame in frames:
        say_json(frame)
        yield frame


def _for_people(frames: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    from rich.console import Console  # noqa: PLC0415

    from everturn_local.showing import TurnPrinter  # noqa: PLC0415

    printer = TurnPrinter(Console(soft_wrap=True))
    for frame in frames:
        printer.show(frame)
        yield frame
    printer.end()
