"""Says no to the demo model where it is switched off; it reads no input and opens no turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from everturn.llm.catalogue import CatalogueOf
from everturn.rejections import NotYetSupported
from everturn.session.facts import Facts
from everturn.session.turn_model import models_of


def demo_allowed(
    catalogue_of: CatalogueOf, tenant_record: Callable[[str], Mapping[str, Any]]
) -> Callable[[str, Facts], None]:
    """Return the check that a tenant may use the providers that its agent names."""

    def check(tenant: str, facts: Facts) -> None:
        if facts.agent.config.get("handler") == "worker":
            return  # the worker runs its model calls
        off = tenant_record(tenant).get("demo_provider") == "off"
        others = [facts.routes.get(model) for model in models_of(facts.agent.config)]
        providers = {route.provider for route in (facts.route, *others) if route is not None}
        if "demo" in providers and (off or catalogue_of(tenant).route("demo") is None):
            raise NotYetSupported(
                "The demo provider is switched off here; give the agent another model."
            )

    return check
