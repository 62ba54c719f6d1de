"""What `everturn providers` and `everturn models` have in common; no command is here.

It must not import anything heavy: `everturn --help` waits for all of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from everturn_local.cli_asking import say_json

if TYPE_CHECKING:
    from everturn.commands.model_settings import ModelSettings
    from everturn.llm.catalogue import Catalogue

Tenant = Annotated[
    str, typer.Option(show_default=False, help="For this tenant alone; for all if left out.")
]

SOON: Final = "Functions that looked it up go by it until the end of the next minute."


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that were given something."""
    return {name: value for name, value in fields.items() if value}


def whose(tenant: str) -> str:
    """Return the name of the record."""
    from everturn.ports.registry import EVERYBODY  # noqa: PLC0415

    return tenant or EVERYBODY


def settings_in(table: str, any_network: bool = False) -> ModelSettings:
    """Return the use cases on a table; a local runtime's providers may be anywhere."""
    from everturn.commands.model_settings import ModelSettings  # noqa: PLC0415
    from everturn_local.cli_operator import registry_of  # noqa: PLC0415

    registry, is_local = registry_of(table)
    return ModelSettings(registry, "any" if any_network or is_local else "public")


def catalogue_in(table: str, tenant: str) -> Catalogue:
    """Return what is built in, extended by what the table says."""
    from everturn.llm.catalogue import Catalogue  # noqa: PLC0415
    from everturn.llm.extended import extended  # noqa: PLC0415
    from everturn.llm.shipped import shipped_routes  # noqa: PLC0415

    settings = settings_in(table)
    catalogue = extended(Catalogue(shipped_routes()), settings.of(whose("")))
    return extended(catalogue, settings.of(tenant)) if tenant else catalogue


def say_set(what: str, tenant: str, changed: bool, as_json: bool) -> None:
    """Say that something was written, or stood there already."""
    _say(what, tenant, "written" if changed else "unchanged", as_json)


def say_removed(what: str, tenant: str, as_json: bool) -> None:
    """Say that something is gone."""
    _say(what, tenant, "removed", as_json)


def _say(what: str, tenant: str, result: str, as_json: bool) -> None:
    if as_json:
        whose = {"tenant": tenant} if tenant else {}
        say_json({"name": what, **whose, "result": result, "effective_within_s": 120})
        return
    typer.echo(f"{result:<10} {what}")
    if result != "unchanged":
        typer.echo(SOON, err=True)
