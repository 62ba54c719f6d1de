"""`everturn tenants`, `keys` and `redrive`: an operator's hand in the table; parse, call, print."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from everturn_local.cli_asking import (
    AsJson,
    ExitCode,
    Table,
    day_and_time,
    failures_said,
    say_json,
    say_table,
    seconds,
)

if TYPE_CHECKING:
    from everturn.commands.tenants import Keys, Tenants
    from everturn.ports.registry import KeyEntry, Registry

tenants_app = typer.Typer(no_args_is_help=True, help="Tenants, in the stack's table.")
keys_app = typer.Typer(no_args_is_help=True, help="API keys, in the stack's table.")

TenantName = Annotated[str, typer.Argument(help="Name of the tenant.")]

TRUSTED: Final = (
    "Functions that used it trust it until the end of the minute; open WebSockets stay open."
)


@tenants_app.command("create")
def create_tenant(
    tenant: TenantName,
    table: Table,
    name: Annotated[str, typer.Option(help="What people call it.")] = "",
    demo_provider: Annotated[
        str, typer.Option(help="on or off: whether its agents may use the demo model.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Make a tenant; one that is there stays as it is."""
    if demo_provider not in {"", "on", "off"}:
        raise typer.BadParameter("is on or off", param_hint="--demo-provider")
    wanted: dict[str, Literal["on", "off"]] = {"on": "on", "off": "off"}
    with failures_said():
        made = _tenants(table).create(tenant, name, wanted.get(demo_provider))
    result = "created" if made else "unchanged"
    if as_json:
        say_json({"tenant": tenant, "result": result})
    else:
        typer.echo(f"{result:<10} {tenant}")


@tenants_app.command("list")
def list_tenants(table: Table, as_json: AsJson = False) -> None:
    """List tenants by name."""
    with failures_said():
        shown = [_shown(tenant, record) for tenant, record in _tenants(table).all()]
    if as_json:
        say_json({"tenants": shown})
        return
    rows = [
        (one["tenant"], one.get("name", ""), day_and_time(one.get("created_at", "")))
        for one in shown
    ]
    say_table(("tenant", "name", "created"), rows, "There are no tenants.")


@tenants_app.command("show")
def show_tenant(tenant: TenantName, table: Table, as_json: AsJson = False) -> None:
    """Show a tenant."""
    with failures_said():
        shown = _shown(tenant, _tenants(table).get(tenant))
    if as_json:
        say_json(shown)
        return
    for name, value in shown.items():
        typer.echo(f"{name:<14} {value}")


@keys_app.command("create")
def create_key(
    tenant: Annotated[str, typer.Option(help="Whose key it is.")],
    name: Annotated[str, typer.Option(help="What it is for.")],
    table: Table,
    expires_in: Annotated[
        str, typer.Option(help="How long it holds: 30d, 12h, 90m; for ever if left out.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Make an API key; it is shown this once, and stored as its hash."""
    life_s = seconds(expires_in) if expires_in else None
    with failures_said():
        made = _keys(table).create(tenant, name, life_s)
    shown = _key(made.entry)
    if as_json:
        say_json({**shown, "key": made.key})
        return
    typer.echo(made.key)
    until = f", until {day_and_time(shown['expires_at'])} UTC" if life_s else ""
    typer.echo(f"{shown['id']}{until}. This is the one time that the key is shown.", err=True)


@keys_app.command("list")
def list_keys(
    tenant: Annotated[str, typer.Option(help="Whose keys.")], table: Table, as_json: AsJson = False
) -> None:
    """List a tenant's keys, the first one first; never the keys themselves."""
    with failures_said():
        shown = [_key(entry) for entry in _keys(table).of(tenant)]
    if as_json:
        say_json({"keys": shown})
        return
    rows = [
        (
            one["id"],
            one["name"],
            f"…{one['last4']}",
            day_and_time(one["created_at"]),
            day_and_time(one.get("expires_at", "never")),
        )
        for one in shown
    ]
    say_table(("id", "name", "ends in", "created", "expires"), rows, "There are no keys.")


@keys_app.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(help="Id of the key, as the list has it.")],
    table: Table,
    as_json: AsJson = False,
) -> None:
    """End a key, within a minute."""
    with failures_said():
        _keys(table).revoke(key_id)
    if as_json:
        say_json({"id": key_id, "result": "revoked", "effective_within_s": 60})
        return
    typer.echo(f"revoked {key_id}")
    typer.echo(TRUSTED, err=True)


def redrive(
    table: Table,
    queue_url: Annotated[str, typer.Option(help="URL of the stack's queue.")],
    dead_letters: Annotated[
        str, typer.Option(help="URL of the dead-letter queue; its messages are moved back.")
    ] = "",
    session: Annotated[
        list[str] | None, typer.Option(help="TENANT/SESSION to lift and wake; may be repeated.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Lift all quarantines.")] = False,
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
        raise typer.Exit(ExitCode.REFUSED) from None
    done = ", ".join(f"{count} {what}" for what, count in sorted(counted.items()))
    typer.echo(f"{'dry run, nothing done: ' if dry_run else ''}{done or 'nothing to do'}")
    if counted["failed"]:
        raise typer.Exit(ExitCode.REFUSED)


def _tenants(table: str) -> Tenants:
    from everturn.commands.tenants import Tenants  # noqa: PLC0415
    from everturn.wiring.clients import CLOCK  # noqa: PLC0415

    return Tenants(registry_of(table)[0], CLOCK)


def _keys(table: str) -> Keys:
    from everturn.commands.tenants import Keys  # noqa: PLC0415
    from everturn.wiring.clients import CLOCK  # noqa: PLC0415

    return Keys(registry_of(table)[0], CLOCK)


def registry_of(table: str) -> tuple[Registry, bool]:
    """Return the registry in a table, and whether the table is a local runtime's."""
    import boto3  # noqa: PLC0415

    from everturn.store.registry import DynamoRegistry  # noqa: PLC0415
    from everturn.wiring.clients import AWS  # noqa: PLC0415

    client = boto3.client("dynamodb", config=AWS)
    return DynamoRegistry(table, client), client.meta.endpoint_url.startswith("http://")


def _shown(tenant: str, record: Any) -> dict[str, Any]:
    """Return what is shown of a tenant: what is known to be no secret."""
    from everturn.protocol.events import to_rfc3339  # noqa: PLC0415

    shown: dict[str, Any] = {"tenant": tenant}
    for name in ("name", "demo_provider"):
        if name in record:
            shown[name] = record[name]
    if "created_ms" in record:
        shown["created_at"] = to_rfc3339(record["created_ms"])
    return shown


def _key(entry: KeyEntry) -> dict[str, Any]:
    from everturn.commands.tenants import named  # noqa: PLC0415
    from everturn.protocol.events import to_rfc3339  # noqa: PLC0415

    shown = {
        "id": named(entry),
        "name": entry.name,
        "last4": entry.last4,
        "created_at": to_rfc3339(entry.created_ms),
    }
    if entry.expires_ms is not None:
        shown["expires_at"] = to_rfc3339(entry.expires_ms)
    return shown
