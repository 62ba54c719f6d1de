"""`GET /v1/models`, and agents on what it says: over HTTP, on settings that an operator made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from e2e.client import Client, new_id
from everturn_local.runtime import LocalRuntime

GATEWAY = {
    "kind": "openai-compatible",
    "name": "Ours",
    "base_url": "https://gateway.example/v1",
    "api_key": {"ssm": "/everturn/hidden-key"},
    "headers": {"x-title": "hidden title"},
}


@pytest.fixture
def tenant(runtime: LocalRuntime) -> Callable[..., httpx.Client]:
    """Makes a tenant with settings of models; gives a client with a key to it."""
    from everturn.commands.model_settings import ModelSettings  # noqa: PLC0415
    from everturn.commands.tenants import Keys, Tenants  # noqa: PLC0415
    from everturn.store.registry import DynamoRegistry  # noqa: PLC0415
    from everturn.wiring.clients import CLOCK  # noqa: PLC0415

    registry = DynamoRegistry(runtime.physical["Table"], runtime.clients.dynamodb)

    def made(demo: Any = None, **settings: Any) -> httpx.Client:
        name = new_id("tenant")
        Tenants(registry, CLOCK).create(name, demo_provider=demo)
        office = ModelSettings(registry, "public")
        for provider, one in settings.get("providers", {}).items():
            office.set_provider(name, provider, one)
        for model in settings.get("models", ()):
            office.set_model(name, model)
        for alias, selector in settings.get("aliases", {}).items():
            office.set_alias(name, alias, selector)
        office.set_default_provider(name, settings.get("default_provider"))
        key = Keys(registry, CLOCK).create(name, "test").key
        headers = {"authorization": f"Bearer {key}"}
        return httpx.Client(base_url=runtime.http_url, headers=headers, timeout=30)

    return made


def test_models_that_ship_are_listed_with_what_is_known_of_them(client: Client) -> None:
    told = client.http.get("/v1/models")

    assert told.status_code == 200
    listed = told.json()
    models = {one["id"]: one for one in listed["models"]}
    assert models["openai:gpt-5-mini"]["context_window_tokens"] == 400_000
    assert models["anthropic:claude-haiku-4-5"]["default_max_tokens"] == 32_000
    assert models["demo:demo"]["pricing"] == {"input_usd": "0", "output_usd": "0"}
    configured = {one["id"]: one["configured"] for one in listed["providers"]}
    assert configured == {
        "demo": True,
        "openai": False,
        "openai-chat": False,
        "anthropic": False,
        "gemini": False,
        "bedrock": True,
    }
    assert (listed["aliases"], listed["default_provider"]) == ({}, "demo")


def test_a_tenants_own_settings_count_for_it_and_show_no_place(
    tenant: Callable[..., httpx.Client], client: Client
) -> None:
    model = {"provider": "ours", "id": "vendor/m:1", "context_window_tokens": 1000}
    own = tenant(
        providers={"ours": GATEWAY},
        models=[model],
        aliases={"fast": "ours:vendor/m:1"},
        default_provider="ours",
    )

    told = own.get("/v1/models")

    assert "hidden" not in told.text
    assert "gateway.example" not in told.text
    listed = told.json()
    assert listed["models"][-1] == {
        "id": "ours:vendor/m:1",
        "provider": "ours",
        "model": "vendor/m:1",
        "name": "vendor/m:1",
        "context_window_tokens": 1000,
    }
    ours = {"id": "ours", "name": "Ours", "kind": "openai-compatible", "configured": True}
    assert listed["providers"][-1] == ours
    assert (listed["aliases"], listed["default_provider"]) == ({"fast": "ours:vendor/m:1"}, "ours")
    assert "ours" not in client.http.get("/v1/models").text


def test_the_demo_provider_is_not_listed_where_it_is_off(
    tenant: Callable[..., httpx.Client],
) -> None:
    listed = tenant(demo="off").get("/v1/models").json()

    assert "demo" not in [one["id"] for one in listed["providers"]]
    assert "demo:demo" not in [one["id"] for one in listed["models"]]


def test_an_agent_names_an_alias_and_its_sessions_run_on_what_that_stands_for(
    tenant: Callable[..., httpx.Client],
) -> None:
    own = tenant(aliases={"script": "demo:demo"}, default_provider="openai")

    put = own.put("/v1/agents/a1", json={"model": "script"})
    unknown = own.put("/v1/agents/a2", json={"model": "demo:other"})
    elsewhere = own.put("/v1/agents/a3", json={"model": "gpt-5", "reasoning": {"effort": "xhigh"}})

    assert put.status_code == 201
    assert (unknown.status_code, unknown.json()["code"]) == (400, "schema_violation")
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (400, "unsupported_effort")
    assert elsewhere.json()["message"].startswith("openai:gpt-5 offers no effort xhigh; it has ")
