"""What `GET /v1/models` says of a tenant's models, and what it keeps to itself."""

from __future__ import annotations

from everturn.commands.list_models import ListModels
from everturn.llm.catalogue import Catalogue, ModelFacts, Route
from everturn.llm.demo.model import DEMO_ROUTE
from everturn.protocol.providers import ProviderSettings
from everturn.protocol.secret_place import SecretPlace

SETTINGS = ProviderSettings(
    kind="openai-compatible",
    base_url="https://hidden.example/v1",
    api_key=SecretPlace(ssm="/everturn/hidden"),
    headers={"x-title": "hidden"},
)
CATALOGUE = Catalogue(
    (
        DEMO_ROUTE,
        Route("router", "Router", (ModelFacts("router", "a/b", "A"),), SETTINGS),
        Route("openai", "OpenAI", (), ProviderSettings(kind="openai")),
    ),
    "router",
    {"slow": "router:a/b", "fast": "x"},
)


def test_models_providers_and_aliases_are_shown_without_places_of_keys() -> None:
    listed = ListModels(lambda _tenant: CATALOGUE, lambda _tenant: {"demo_provider": "off"})

    assert listed("acme") == {
        "models": [{"id": "router:a/b", "provider": "router", "model": "a/b", "name": "A"}],
        "providers": [
            {"id": "router", "name": "Router", "kind": "openai-compatible", "configured": True},
            {"id": "openai", "name": "OpenAI", "kind": "openai", "configured": False},
        ],
        "aliases": {"fast": "x", "slow": "router:a/b"},
        "default_provider": "router",
    }


def test_the_demo_provider_is_listed_where_it_is_on() -> None:
    listed = ListModels(lambda _tenant: CATALOGUE, lambda _tenant: {})

    shown = listed("acme")

    demo = {"id": "demo", "name": "Demo", "kind": "demo", "configured": True}
    assert shown["providers"][0] == demo
    assert shown["models"][0]["pricing"] == {"input_usd": "0", "output_usd": "0"}
    assert shown["models"][0]["reasoning"]["default_effort"] == "medium"


def test_a_provider_whose_key_is_at_hand_is_configured() -> None:
    listed = ListModels(lambda _tenant: CATALOGUE, lambda _tenant: {}, "openai".__eq__)

    configured = {one["id"]: one["configured"] for one in listed("acme")["providers"]}

    assert configured == {"demo": True, "router": True, "openai": True}
