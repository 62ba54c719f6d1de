"""`everturn token`: a client token of an owner, over HTTP; parse, call, print."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from everturn_local.cli_asking import ApiKey, AsJson, Url, at_api, day_and_time, say_json


def token(
    owner: Annotated[str, typer.Argument(help="Id of the owner whom the token speaks for.")],
    url: Url,
    api_key: ApiKey,
    ttl: Annotated[
        int | None, typer.Option(min=1, help="How many seconds it lives; 600 if left out.")
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="What it allows; may be repeated; all if left out.")
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE, kept with sessions that it creates; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a client token of an owner, for a browser or an app."""
    wanted: dict[str, Any] = {"identity": {"id": owner, **_named(metadata or ())}}
    if ttl is not None:
        wanted["ttl_seconds"] = ttl
    if scope:
        wanted["scopes"] = scope
    with at_api(url, api_key) as remote:
        made = remote.post("/v1/client-tokens", wanted)
    if as_json:
        say_json(made)
        return
    typer.echo(made["token"])
    end = datetime.fromtimestamp(made["expires_at"], tz=UTC).isoformat()
    typer.echo(f"expires at {day_and_time(end)} UTC", err=True)


def _named(pairs: Iterable[str]) -> dict[str, Any]:
    metadata = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"{pair} is not NAME=VALUE", param_hint="--metadata")
        metadata[name] = value
    return {"metadata": metadata} if metadata else {}
