"""Says which models a tenant may name, and what is known of them; never where a key is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from everturn.llm.catalogue import CatalogueOf, Route
from everturn.llm.listed import from_facts


class ListModels:
    """The use case behind `GET /v1/models`. Source: session-log MC-1, MC-2."""

    def __init__(
        self,
        catalogue_of: CatalogueOf,
        tenant_record: Callable[[str], Mapping[str, Any]],
        has_own_key: Callable[[str], bool] = lambda _kind: False,
    ) -> None:
        """Take the catalogues; `has_own_key` says of a kind whether a key is at hand anyway."""
        self._catalogue_of = catalogue_of
        self._tenant_record = tenant_record
        self._has_own_key = has_own_key

    def __call__(self, tenant: str) -> dict[str, Any]:
        """Return `{models, providers, aliases, default_provider}`, as of a minute or two ago."""
        catalogue = self._catalogue_of(tenant).whole()
        is_demo_off = self._tenant_record(tenant).get("demo_provider") == "off"
        routes = [one for one in catalogue.routes if not (is_demo_off and one.id == "demo")]
        return {
            "models": [from_facts(facts) for route in routes for facts in route.models],
            "providers": [self._shown(route) for route in routes],
            "aliases": dict(sorted(catalogue.aliases.items())),
            "default_provider": catalogue.default_provider,
        }

    def _shown(self, route: Route) -> dict[str, Any]:
        settings = route.settings
        kind = settings.kind if settings else route.id
        return {
            "id": route.id,
            "name": route.name,
            "kind": kind,
            "configured": settings is None or settings.is_configured or self._has_own_key(kind),
        }
