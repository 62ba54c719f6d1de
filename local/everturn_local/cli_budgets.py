"""`everturn budgets`: what may be spent, over HTTP; parse, call, print."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from everturn_local.cli_asking import ApiKey, AsJson, Url, at_api, say_json

app = typer.Typer(no_args_is_help=True, help="What sessions, owners and the tenant may spend.")

Owner = Annotated[str, typer.Option(help="Of this owner; of the tenant if left out.")]
Session = Annotated[str, typer.Option(help="Of this session and its turns.")]


@app.command("set")
def set_(  # noqa: PLR0913, PLR0917  # options of a command line
    url: Url,
    api_key: ApiKey,
    owner: Owner = "",
    session: Session = "",
    cost: Annotated[str | None, typer.Option(help="US dollars, such as 2.50.")] = None,
    tokens: Annotated[int | None, typer.Option(min=0, help="All tokens together.")] = None,
    turn_cost: Annotated[str | None, typer.Option(help="Of each turn of --session.")] = None,
    turn_tokens: Annotated[int | None, typer.Option(min=0, help="The same in tokens.")] = None,
    mode: Annotated[str | None, typer.Option(help="pause or fail; pause if left out.")] = None,
    period: Annotated[str | None, typer.Option(help="lifetime, day or month (UTC).")] = None,
    as_json: AsJson = False,
) -> None:
    """Set a budget; what it holds up goes on if there is room now."""
    whole, turn = _limit(cost, tokens), _limit(turn_cost, turn_tokens)
    if turn and not session:
        raise typer.BadParameter("a turn's budget needs --session", param_hint="--turn-cost")
    if period and session:
        raise typer.BadParameter("a session's budget has no period", param_hint="--period")
    body: dict[str, Any] = {"session": whole, "turn": turn} if session else {**whole}
    body |= {"mode": mode, "period": period}
    wanted = {name: value for name, value in body.items() if value}
    with at_api(url, api_key) as remote:
        answer = remote.put(_path(owner, session), wanted)
    _say(answer, as_json=as_json)


def _limit(cost: str | None, tokens: int | None) -> dict[str, Any]:
    limits = {"cost": cost, "tokens": tokens}
    return {name: value for name, value in limits.items() if value is not None}


@app.command()
def show(
    url: Url, api_key: ApiKey, owner: Owner = "", session: Session = "", as_json: AsJson = False
) -> None:
    """Show a budget, and what was spent."""
    with at_api(url, api_key) as remote:
        answer = remote.get(_path(owner, session))
    _say(answer, as_json=as_json)


@app.command()
def clear(
    url: Url, api_key: ApiKey, owner: Owner = "", session: Session = "", as_json: AsJson = False
) -> None:
    """Take a budget away; what it holds up goes on."""
    with at_api(url, api_key) as remote:
        answer = remote.delete(_path(owner, session))
    _say(answer, as_json=as_json)


def _path(owner: str, session: str) -> str:
    from everturn_local.remote import place  # noqa: PLC0415

    if owner and session:
        raise typer.BadParameter("name an owner or a session, not both", param_hint="--session")
    if session:
        return f"/v1/sessions/{place(session)}/budgets"
    return f"/v1/budgets/owners/{place(owner)}" if owner else "/v1/budgets/tenant"


def _say(answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(answer)
        return
    states = [answer] if "limit" in answer else []
    states += [{"scope": name, **answer[name]} for name in ("turn", "session") if name in answer]
    for one in states:
        typer.echo(f"{one['scope']}: {_amount(one['spent'])} of {_amount(one['limit'])}")
    if not states:
        typer.echo("no budget")
    if answer.get("woken"):
        typer.echo(f"paused sessions that look again: {answer['woken']}", err=True)


def _amount(one: dict[str, Any]) -> str:
    shown = [f"${one['cost']}"] if "cost" in one else []
    shown += [f"{one['tokens']} tokens"] if "tokens" in one else []
    return ", ".join(shown)
