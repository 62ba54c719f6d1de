"""A catalogue with what settings say: pure, entry by entry, tolerant of what was stored."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from everturn.llm.catalogue import Catalogue, ModelFacts, ModelRef, Prices, ReasoningEffort, Route
from everturn.llm.demo.model import DEMO_ROUTE
from everturn.llm.extended import extended, read_tenant_models
from everturn.llm.listed import from_facts
from everturn.protocol.models import TENANT_MODELS, TenantModels
from everturn.protocol.providers import ProviderSettings
from everturn.protocol.secret_place import SecretPlace
from everturn.protocol.wire import parse

SMALL = ModelFacts("acme", "small", "Small", context_window_tokens=1000)
LARGE = ModelFacts("acme", "large", "Large")
BARE = ProviderSettings(kind="anthropic")
CATALOGUE = Catalogue(
    (DEMO_ROUTE, Route("acme", "Acme", (SMALL, LARGE), BARE)), "acme", {"fast": "acme:small"}
)
KEYED = {"kind": "anthropic", "api_key": {"ssm": "/everturn/acme"}}
GATEWAY = {"kind": "openai-compatible", "base_url": "https://gateway.example/v1"}


def said(**fields: Any) -> TenantModels:
    return parse(TENANT_MODELS, fields)


def test_settings_replace_those_of_a_route_and_keep_its_models() -> None:
    after = extended(CATALOGUE, said(providers={"acme": KEYED}))

    settings = ProviderSettings(kind="anthropic", api_key=SecretPlace(ssm="/everturn/acme"))
    assert after.routes == (DEMO_ROUTE, Route("acme", "Acme", (SMALL, LARGE), settings))
    assert (after.default_provider, after.aliases) == ("acme", {"fast": "acme:small"})


def test_a_new_provider_is_a_route_and_its_models_may_be_listed() -> None:
    model = {
        "provider": "router",
        "id": "vendor/model:free",
        "reasoning": {
            "efforts": [{"id": "low", "name": "Quick", "description": "Less"}, {"id": "high"}],
            "default_effort": "low",
        },
        "pricing": {"input_usd": "0.10", "output_usd": "1"},
        "inputs": ["text"],
        "max_output_tokens": 7,
    }

    after = extended(CATALOGUE, said(providers={"router": GATEWAY}, models=[model]))

    facts = ModelFacts(
        "router",
        "vendor/model:free",
        "vendor/model:free",
        max_output_tokens=7,
        inputs=("text",),
        efforts=(ReasoningEffort("low", "Quick", "Less"), ReasoningEffort("high", "High")),
        default_effort="low",
        prices=Prices(Decimal("0.10"), Decimal(1)),
    )
    assert after.route("router") == Route("router", "router", (facts,), parse_settings(GATEWAY))
    assert after.split("router:vendor/model:free") == ModelRef("router", "vendor/model:free")
    assert from_facts(facts)["reasoning"] == {
        "efforts": [
            {"id": "low", "name": "Quick", "description": "Less"},
            {"id": "high", "name": "High"},
        ],
        "default_effort": "low",
    }
    assert from_facts(facts)["pricing"] == {"input_usd": "0.1", "output_usd": "1"}


def parse_settings(data: dict[str, Any]) -> ProviderSettings:
    return said(providers={"x": data}).providers["x"]


def test_a_model_of_the_settings_takes_the_place_of_a_listed_one() -> None:
    mine = {"provider": "acme", "id": "small", "name": "Mine"}
    unknown = {"provider": "nobody", "id": "x"}

    after = extended(CATALOGUE, said(models=[mine, unknown]))

    assert after.facts(ModelRef("acme", "small")) == ModelFacts("acme", "small", "Mine")
    assert after.models() == (*DEMO_ROUTE.models, ModelFacts("acme", "small", "Mine"), LARGE)


def test_aliases_and_the_default_provider_of_the_later_settings_win() -> None:
    everybody = said(aliases={"fast": "acme:large", "big": "large"}, default_provider="demo")
    tenant = said(aliases={"big": "acme:small"}, default_provider="acme")

    after = extended(extended(CATALOGUE, everybody), tenant)

    assert after.split("fast") == ModelRef("acme", "large")
    assert after.split("big") == ModelRef("acme", "small")
    assert after.default_provider == "acme"


def test_an_alias_is_resolved_once() -> None:
    catalogue = Catalogue(CATALOGUE.routes, "acme", {"a": "b", "b": "acme:small"})

    assert catalogue.split("a") == ModelRef("acme", "b")
    assert catalogue.split("b") == ModelRef("acme", "small")
    assert catalogue.split("acme:b") == ModelRef("acme", "b")


def test_the_rest_of_a_catalogue_is_read_only_where_it_is_needed() -> None:
    asked = []

    def more() -> Catalogue:
        asked.append(1)
        return CATALOGUE

    lean = Catalogue((DEMO_ROUTE,), more=more)
    ref = lean.split("demo:demo")
    facts = lean.facts(ref)
    certain = (ref, facts, lean.route("demo"), len(asked))

    assert certain == (ModelRef("demo", "demo"), DEMO_ROUTE.models[0], DEMO_ROUTE, 0)
    assert lean.split("fast") == ModelRef("acme", "small")
    assert lean.split("demo") == ModelRef("acme", "demo")
    assert lean.facts(ModelRef("acme", "small")) == SMALL
    assert lean.route("nobody") is None
    assert lean.models() == CATALOGUE.models()
    assert extended(lean, TenantModels()) == CATALOGUE


@pytest.mark.parametrize(
    ("record", "kept", "lost"),
    [
        ({}, {}, ()),
        ({"name": "Acme", "created_ms": 1}, {}, ()),
        (
            {"providers": {"acme": KEYED, "later": {"kind": "telepathy"}}},
            {"providers": {"acme": KEYED}},
            ("later",),
        ),
        (
            {"models": [{"provider": "acme", "id": "a", "aura": "green"}, {"provider": "acme"}]},
            {"models": [{"provider": "acme", "id": "a"}]},
            ("models/1",),
        ),
        ({"aliases": {"a": 1, "b": "c"}}, {"aliases": {"b": "c"}}, ("a",)),
        ({"aliases": "none", "default_provider": 7}, {}, ("aliases", "default_provider")),
        ({"models": 7, "providers": [KEYED]}, {}, ("providers", "models")),
        (
            {"models": [{"provider": "demo", "id": "demo"}], "aliases": {"b": "c"}},
            {},
            ("everything",),
        ),
    ],
)
def test_what_cannot_be_read_of_a_record_is_left_out_and_named(
    record: dict[str, Any], kept: dict[str, Any], lost: tuple[str, ...]
) -> None:
    read, names = read_tenant_models(record)

    assert (read, names) == (said(**kept), lost)
