"""`everturn providers`: an operator's hand in the table; parse, call, print."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from everturn_local.cli_asking import AsJson, Table, failures_said, say_json, say_table
from everturn_local.cli_settings import (
    Tenant,
    catalogue_in,
    given,
    say_removed,
    say_set,
    settings_in,
    whose,
)

app = typer.Typer(no_args_is_help=True, help="Model providers, in the stack's table.")

AnyNetwork = Annotated[
    bool,
    typer.Option(help="The stack's WorkerNetworks is any: http, private addresses, variables."),
]
ProviderName = Annotated[str, typer.Argument(metavar="ID", help="Id of the provider.")]


@app.command("set")
def set_provider(  # noqa: PLR0913, PLR0917  # one for each field
    provider: ProviderName,
    table: Table,
    kind: Annotated[
        str, typer.Option(show_default=False, help="Its kind; the id if that is one.")
    ] = "",
    name: Annotated[str, typer.Option(help="What people call it.")] = "",
    base_url: Annotated[str, typer.Option(help="Where its API begins.")] = "",
    secret_arn: Annotated[str, typer.Option(help="Secret in Secrets Manager with the key.")] = "",
    ssm: Annotated[str, typer.Option(help="Parameter in Parameter Store with the key.")] = "",
    env: Annotated[str, typer.Option(help="Variable with the key; locally only.")] = "",
    region: Annotated[str, typer.Option(help="Region of Bedrock; the stack's if left out.")] = "",
    header: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE to send along; may be repeated.")
    ] = None,
    tenant: Tenant = "",
    any_network: AnyNetwork = False,
    as_json: AsJson = False,
) -> None:
    """Write what is known of a provider; of its key the place, never the key."""
    key = {"secret_arn": secret_arn, "ssm": ssm, "env": env}
    settings = given(
        kind=kind or provider,
        name=name,
        base_url=base_url,
        api_key=given(**key),
        region=region,
        headers=dict(map(_header, header or ())),
    )
    with failures_said():
        made = settings_in(table, any_network).set_provider(whose(tenant), provider, settings)
    say_set(provider, tenant, made, as_json)


@app.command("list")
def list_providers(table: Table, tenant: Tenant = "", as_json: AsJson = False) -> None:
    """List providers: with --tenant as that tenant has them."""
    with failures_said():
        shown = [_provider(route) for route in catalogue_in(table, tenant).routes]
    if as_json:
        say_json({"providers": shown})
        return
    rows = [
        (
            one["id"],
            one["kind"],
            "yes" if one["configured"] else "no",
            " ".join(f"{name}:{place}" for name, place in one.get("api_key", {}).items()),
            one.get("base_url", one.get("region", "")),
        )
        for one in shown
    ]
    say_table(("id", "kind", "configured", "key at", "where"), rows, "There are no providers.")


@app.command("remove")
def remove_provider(
    provider: ProviderName, table: Table, tenant: Tenant = "", as_json: AsJson = False
) -> None:
    """Take a provider's settings away; a built-in one stays, without a key."""
    with failures_said():
        settings_in(table).remove_provider(whose(tenant), provider)
    say_removed(provider, tenant, as_json)


@app.command("default")
def set_default(
    table: Table,
    provider: Annotated[
        str, typer.Argument(metavar="[ID]", help="The provider; the stack's if left out.")
    ] = "",
    tenant: Tenant = "",
    as_json: AsJson = False,
) -> None:
    """Say which provider a model means that is named without one."""
    with failures_said():
        made = settings_in(table).set_default_provider(whose(tenant), provider or None)
    say_set(provider or "the stack's", tenant, made, as_json)


def _header(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise typer.BadParameter("is NAME=VALUE", param_hint="--header")
    return name, value


def _provider(route: Any) -> dict[str, Any]:
    from everturn.protocol.wire import to_json  # noqa: PLC0415

    shown = {**to_json(route.settings), "name": route.name}
    return {"id": route.id, "configured": route.settings.is_configured, **shown}
