"""What a tenant's call is made with: its route, its key, the one adapter of its kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everturn.llm.catalogue import Catalogue, ModelFacts, ModelRef, Route
from everturn.llm.demo.model import DemoModel
from everturn.llm.models import Models, Prepared
from everturn.llm.registry import ModelRegistry, UnknownProvider
from everturn.ports.model import Account
from everturn.protocol.providers import ProviderSettings
from everturn.protocol.secret_place import SecretPlace

SETTINGS = ProviderSettings(
    kind="openai-compatible",
    base_url="https://llm.example.com/v1/",
    api_key=SecretPlace(ssm="/everturn/key"),
    headers={"X-Title": "Acme"},
)
MODEL = DemoModel(lambda _s: None)
ACME = Catalogue(
    (
        Route("router", "Router", (ModelFacts("router", "m", "M"),), SETTINGS),
        Route("anthropic", "Anthropic", (), ProviderSettings(kind="anthropic")),
        Route("bedrock", "Bedrock", (), ProviderSettings(kind="bedrock", region="eu-central-1")),
    )
)


def models(made: list[str] | None = None) -> Models:
    def build(kind: str) -> DemoModel:
        if made is not None:
            made.append(kind)
        return MODEL

    return Models(
        ModelRegistry(),
        lambda tenant: ACME if tenant == "acme" else Catalogue(),
        secret=lambda place: f"secret of {place['ssm']}",
        own_key=lambda kind: f"own {kind}",
        adapters={
            kind: lambda kind=kind: build(kind)  # type: ignore[misc]  # bound at once
            for kind in ("openai-compatible", "anthropic", "bedrock")
        },
    )


def test_a_route_brings_its_account() -> None:
    prepared = models().prepare("acme", ModelRef("router", "m"))

    assert prepared == Prepared(
        ModelRef("router", "m"),
        ModelFacts("router", "m", "M"),
        MODEL,
        Account("https://llm.example.com/v1", "secret of /everturn/key", "", {"X-Title": "Acme"}),
    )


def test_a_provider_without_a_place_for_its_key_has_the_laptops() -> None:
    assert models().prepare("acme", ModelRef("anthropic", "x")).account == Account(
        api_key="own anthropic"
    )
    prepared = models().prepare("acme", ModelRef("bedrock", "x"))
    assert prepared.account.region == "eu-central-1"


def test_a_key_at_hand_goes_to_no_other_address() -> None:
    """`OPENAI_API_KEY` in the environment is not for a gateway that names no key."""
    elsewhere = ProviderSettings(kind="anthropic", base_url="https://other.example.com")
    catalogue = Catalogue((Route("anthropic", "A", (), elsewhere),))
    prepare = Models(
        ModelRegistry(),
        lambda _tenant: catalogue,
        own_key=lambda kind: f"own {kind}",
        adapters={"anthropic": lambda: MODEL},
    ).prepare

    assert prepare("acme", ModelRef("anthropic", "x")).account.api_key == ""


def test_an_adapter_is_made_once() -> None:
    made: list[str] = []
    prepare = models(made).prepare

    prepare("acme", ModelRef("router", "m"))
    prepare("acme", ModelRef("router", "n"))

    assert made == ["openai-compatible"]


def test_a_tenant_has_its_own_routes_and_no_other_ones() -> None:
    with pytest.raises(UnknownProvider, match="no provider named router"):
        models().prepare("rival", ModelRef("router", "m"))


def test_a_kind_that_nobody_serves_is_refused() -> None:
    only = replace(ACME, routes=(Route("gemini", "G", (), ProviderSettings(kind="gemini")),))

    with pytest.raises(UnknownProvider, match="no provider named gemini"):
        Models(ModelRegistry(), lambda _tenant: only).prepare("acme", ModelRef("gemini", "m"))


def test_no_key_is_shown() -> None:
    assert "secret" not in repr(models().prepare("acme", ModelRef("router", "m")))
