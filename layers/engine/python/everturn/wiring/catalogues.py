"""The catalogue of each tenant: what is built in, what holds for all, what is its own.

Imports stand inside the functions: who needs the demo model alone reads no list and no record.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from everturn.settings import settings
from everturn.wiring.adapters import TENANT_CACHED_MS, models, tenant_record
from everturn.wiring.clients import CLOCK

if TYPE_CHECKING:
    from everturn.llm.catalogue import Catalogue


def models_of(tenant: str) -> Catalogue:
    """Return a tenant's catalogue, as it was at most two minutes ago.

    The demo provider cannot be redefined: to know it takes no request. For anything else the
    records of the tenant and of all tenants are read, each once a minute.
    """
    from everturn.llm.catalogue import Catalogue

    certain = tuple(one for one in models().catalogue().routes if one.id == "demo")
    return Catalogue(certain, more=lambda: _whole(tenant, CLOCK.now_ms() // TENANT_CACHED_MS))


@lru_cache(maxsize=2_000)
def _whole(tenant: str, _minute: int) -> Catalogue:
    from everturn.llm.extended import extended, read_tenant_models
    from everturn.observability import logger
    from everturn.ports.registry import EVERYBODY

    catalogue = _built_in()
    for name in (EVERYBODY, tenant):
        said, lost = read_tenant_models(tenant_record(name))
        if lost:
            logger.warning("settings of models cannot be read", tenant=name, entries=list(lost))
        catalogue = extended(catalogue, said)
    return catalogue


@lru_cache(maxsize=1)
def _built_in() -> Catalogue:
    """Return the registered routes, those of the built-in kinds with the models that are listed."""
    from everturn.llm.catalogue import Catalogue
    from everturn.llm.shipped import shipped_routes

    registered = {route.id: route for route in models().catalogue().routes}
    routes = registered | {route.id: route for route in shipped_routes()}
    return Catalogue(tuple(routes.values()), settings().default_provider)
