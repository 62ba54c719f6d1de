"""Says no to the demo model where it is switched off; it reads no input and opens no turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from everturn.llm.catalogue import CatalogueOf
from everturn.rejections import NotYetSupported
from everturn.session.facts import Facts


def demo_allowed(
    catalogue_of: CatalogueOf, tenant_record: Callable[[str], Mapping[str, Any]]
) -> Callable[[str, Facts], None]:
    """Return the check that a tenant may use the providers that its agent names."""

    def check(tenant: str, facts: Facts) -> None:
        if facts.agent.config.get("handler") == "worker":
            return  # the worker runs its model calls
        off = tenant_record(tenant).get("demo_provider") == "off"
        providers = {route.provider for route in (facts.route, *facts.routes.values())}
        if "demo" in providers and (off or catalogue_of(tenant).route("demo") is None):
            raise NotYetSupported(
                "The demo provider is switched off here; give the agent another model."
            )

    return check
