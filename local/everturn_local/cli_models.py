"""`everturn models`: an operator's hand in the table; parse, call, print."""

from __future__ import annotations

from typing import Annotated

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

app = typer.Typer(no_args_is_help=True, help="Models and aliases, in the stack's table.")

ModelName = Annotated[str, typer.Argument(metavar="PROVIDER:MODEL", help="The model.")]
Tokens = Annotated[int | None, typer.Option(min=1, show_default=False)]
Usd = Annotated[
    str, typer.Option(show_default=False, help="US dollars for a million tokens, as 0.25.")
]
Alias = Annotated[str, typer.Argument(metavar="NAME", help="The alias.")]


@app.command("list")
def list_models(
    table: Table,
    tenant: Tenant = "",
    provider: Annotated[str, typer.Option(help="Of this provider alone.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the known models and the aliases: with --tenant as that tenant has them."""
    from everturn.llm.listed import from_facts  # noqa: PLC0415  # `--help` should not wait for it

    with failures_said():
        catalogue = catalogue_in(table, tenant)
    models = [from_facts(facts) for facts in catalogue.models() if provider in ("", facts.provider)]
    if as_json:
        say_json({"models": models, "aliases": dict(catalogue.aliases)})
        return
    rows = [
        (
            one["id"],
            _count(one.get("context_window_tokens")),
            _count(one.get("max_output_tokens")),
            one.get("pricing", {}).get("input_usd", ""),
            one.get("pricing", {}).get("output_usd", ""),
            " ".join(effort["id"] for effort in one.get("reasoning", {}).get("efforts", ())),
        )
        for one in models
    ]
    columns = ("model", "context", "output", "$ in", "$ out", "efforts")
    say_table(columns, rows, "There are no models.")
    if catalogue.aliases:
        typer.echo()
        say_table(("alias", "stands for"), sorted(catalogue.aliases.items()), "")


@app.command("set")
def set_model(  # noqa: PLR0913, PLR0917  # one for each field
    model: ModelName,
    table: Table,
    name: Annotated[str, typer.Option(help="What people call it.")] = "",
    context_window: Tokens = None,
    max_output: Tokens = None,
    default_max_tokens: Tokens = None,
    input_usd: Usd = "",
    output_usd: Usd = "",
    cache_read_usd: Usd = "",
    cache_write_usd: Usd = "",
    effort: Annotated[
        list[str] | None, typer.Option(help="An effort that it offers; may be repeated.")
    ] = None,
    takes: Annotated[
        list[str] | None,
        typer.Option("--input", help="text, image, file, audio or video; may be repeated."),
    ] = None,
    tenant: Tenant = "",
    as_json: AsJson = False,
) -> None:
    """List a model, or say other things of a listed one; what is left out is unknown."""
    provider, model_id = _split(model)
    efforts = {"efforts": [{"id": one} for one in effort]} if effort else {}
    pricing = {
        "input_usd": input_usd,
        "output_usd": output_usd,
        "cache_read_usd": cache_read_usd,
        "cache_write_usd": cache_write_usd,
    }
    entry = given(
        provider=provider,
        id=model_id,
        name=name,
        context_window_tokens=context_window,
        max_output_tokens=max_output,
        default_max_tokens=default_max_tokens,
        inputs=takes,
        reasoning=efforts,
        pricing=given(**pricing),
    )
    with failures_said():
        made = settings_in(table).set_model(whose(tenant), entry)
    say_set(model, tenant, made, as_json)


@app.command("remove")
def remove_model(
    model: ModelName, table: Table, tenant: Tenant = "", as_json: AsJson = False
) -> None:
    """Take back what `set` said of a model."""
    provider, model_id = _split(model)
    with failures_said():
        settings_in(table).remove_model(whose(tenant), provider, model_id)
    say_removed(model, tenant, as_json)


@app.command("alias")
def set_alias(
    alias: Alias,
    selector: Annotated[str, typer.Argument(metavar="SELECTOR", help="What it stands for.")],
    table: Table,
    tenant: Tenant = "",
    as_json: AsJson = False,
) -> None:
    """Let a name stand for a model, as `fast` for `openai:gpt-5-mini`."""
    with failures_said():
        made = settings_in(table).set_alias(whose(tenant), alias, selector)
    say_set(alias, tenant, made, as_json)


@app.command("unalias")
def remove_alias(alias: Alias, table: Table, tenant: Tenant = "", as_json: AsJson = False) -> None:
    """Take an alias away."""
    with failures_said():
        settings_in(table).remove_alias(whose(tenant), alias)
    say_removed(alias, tenant, as_json)


def _split(model: str) -> tuple[str, str]:
    provider, _, model_id = model.partition(":")
    if not model_id:
        raise typer.BadParameter("is PROVIDER:MODEL", param_hint="MODEL")
    return provider, model_id


def _count(tokens: int | None) -> str:
    return "" if tokens is None else f"{tokens:,}"
