"""What a tenant's model call needs: route, facts, adapter, account; it calls no model.

The registry says which adapters there are, a tenant's catalogue which of them a route is served by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from everturn.llm.catalogue import Catalogue, ModelFacts, ModelRef
from everturn.llm.registry import ModelRegistry, UnknownProvider
from everturn.ports.model import Account, Model
from everturn.protocol.providers import ProviderSettings
from everturn.protocol.wire import to_json


@dataclass(frozen=True, slots=True)
class Prepared:
    """One call's route, facts, adapter and account, taken at one moment. Source: MC-5."""

    ref: ModelRef
    facts: ModelFacts
    model: Model
    account: Account = field(default_factory=Account)


class Models:
    """Prepares the calls of all tenants."""

    def __init__(
        self,
        registry: ModelRegistry,
        catalogue_of: Callable[[str], Catalogue] | None = None,
        secret: Callable[[Mapping[str, Any]], str] = lambda _place: "",
        own_key: Callable[[str], str] = lambda _kind: "",
        adapters: Mapping[str, Callable[[], Model]] = MappingProxyType({}),
    ) -> None:
        """Without `catalogue_of`, every tenant has the registry's routes.

        `secret` reads a key at its place and raises `SecretUnavailable`; `own_key` returns the key
        of a kind of provider whose settings name none, `""` for none. `adapters` make what serves a
        kind that the registry does not, each at most once.
        """
        self._registry = registry
        self._catalogue_of = catalogue_of or (lambda _tenant: registry.catalogue())
        self._secret = secret
        self._own_key = own_key
        self._adapters = {kind: lru_cache(maxsize=1)(make) for kind, make in adapters.items()}

    def prepare(self, tenant: str, ref: ModelRef) -> Prepared:
        """Return what a call needs; raises `UnknownProvider`, `SecretUnavailable`.

        The answer stays good after its registration was replaced: a call ends as it began.
        """
        catalogue = self._catalogue_of(tenant)
        route = catalogue.route(ref.provider)
        if route is None:
            raise UnknownProvider(f"no provider named {ref.provider} is registered")
        kind = route.settings.kind if route.settings else route.id
        made = self._adapters.get(kind)
        model = made() if made else self._registry.model(kind)
        account = self._account(route.settings) if route.settings else Account()
        return Prepared(ref, catalogue.facts(ref), model, account)

    def _account(self, settings: ProviderSettings) -> Account:
        place = settings.api_key
        if place:
            key = self._secret(to_json(place))
        else:  # a vendor's own key is for the vendor's own address
            key = "" if settings.base_url else self._own_key(settings.kind)
        return Account(
            base_url=(settings.base_url or "").rstrip("/"),
            api_key=key,
            region=settings.region or "",
            headers=settings.headers or {},
        )
