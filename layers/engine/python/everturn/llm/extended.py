"""A catalogue with what settings say of providers, models and aliases: values, pure.

It must not know whose settings they are, or where they are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from everturn.llm.catalogue import Catalogue, ModelFacts, Route
from everturn.llm.listed import to_facts
from everturn.protocol.models import TENANT_MODELS, ModelEntry, TenantModels
from everturn.protocol.providers import ProviderSettings
from everturn.protocol.wire import to_json

FIELDS: Final = tuple(TenantModels.model_fields)
"""What of a tenant's record is about providers and models."""

NOTHING: Final = TenantModels.model_construct()
"""What most records say; checking it would build a validator."""


def extended(catalogue: Catalogue, said: TenantModels) -> Catalogue:
    """Return `catalogue` with what `said` adds and replaces, one entry by one.

    A provider of a known id keeps its models. A model of an unknown provider is left out.
    """
    routes = {route.id: route for route in catalogue.whole().routes}
    for provider, settings in said.providers.items():
        routes[provider] = _configured(provider, settings, routes.get(provider))
    for provider in {one.provider for one in said.models} & routes.keys():
        entries = (one for one in said.models if one.provider == provider)
        route = routes[provider]
        routes[provider] = replace(route, models=_with(route.models, entries))
    return Catalogue(
        tuple(routes.values()),
        said.default_provider or catalogue.whole().default_provider,
        {**catalogue.whole().aliases, **said.aliases},
    )


def _configured(provider: str, settings: ProviderSettings, known: Route | None) -> Route:
    name = settings.name or (known.name if known else provider)
    return Route(provider, name, known.models if known else (), settings)


def _with(listed: tuple[ModelFacts, ...], entries: Iterable[ModelEntry]) -> tuple[ModelFacts, ...]:
    models = {facts.id: facts for facts in listed}
    for one in entries:
        models[one.id] = to_facts(one.provider, to_json(one))
    return tuple(models.values())


def read_tenant_models(record: Mapping[str, Any]) -> tuple[TenantModels, tuple[str, ...]]:
    """Return what a stored record says of models, and the names of what cannot be read.

    A later version may have written kinds and fields that this one does not know: the fields are
    passed over, an entry that does not fit is left out.
    """
    kept = {name: record[name] for name in FIELDS if name in record}
    if not kept:
        return NOTHING, ()
    lost: list[str] = []
    while True:
        try:
            return TENANT_MODELS.validate_python(kept, extra="ignore"), tuple(lost)
        except ValidationError as error:
            place = error.errors(include_url=False)[0]["loc"]
            kept, name = _without(kept, place)
            lost.append(name)


def _without(kept: Mapping[str, Any], place: tuple[int | str, ...]) -> tuple[dict[str, Any], str]:
    """Return `kept` without the entry at `place`, or the field, or anything at all; and its name.

    Each time there is less of it, so this ends.
    """
    if not place:
        return {}, "everything"
    field, entry = str(place[0]), place[1] if place[1:] else None
    held = kept.get(field)
    rest = {name: value for name, value in kept.items() if name != field}
    match held, entry:
        case dict(), str() if entry in held:
            return {**rest, field: {key: held[key] for key in held if key != entry}}, str(entry)
        case list(), int() if 0 <= entry < len(held):
            return {**rest, field: held[:entry] + held[entry + 1 :]}, f"{field}/{entry}"
        case _:
            return rest, field
