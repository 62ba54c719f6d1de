"""The list of models that ships with the engine: well formed, complete, consistent."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from everturn.llm.catalogue import Catalogue, ModelRef
from everturn.llm.listed import from_facts
from everturn.llm.shipped import DATA, NAMES, shipped_data, shipped_routes
from everturn.protocol.models import MODEL_ENTRY
from everturn.protocol.providers import BUILT_IN, ProviderSettings

PARTS = shipped_data()["routes"]
ENTRIES = [(kind, one) for part in PARTS for kind in part["ids"] for one in part["models"]]


@pytest.mark.parametrize(("kind", "entry"), ENTRIES, ids=[f"{k}:{e['id']}" for k, e in ENTRIES])
def test_a_listed_model_is_known_in_full(kind: str, entry: dict[str, Any]) -> None:
    read = MODEL_ENTRY.validate_python({**entry, "provider": kind})

    assert read.name
    assert read.max_output_tokens is not None
    assert read.context_window_tokens is not None
    assert (read.default_max_tokens or 0) <= read.max_output_tokens <= read.context_window_tokens
    assert (read.default_max_tokens is not None) == (kind == "anthropic")
    assert read.inputs is not None
    assert read.inputs[0] == "text"
    assert read.pricing is not None
    assert Decimal(read.pricing.input_usd) <= Decimal(read.pricing.output_usd)
    if read.pricing.cache_read_usd is not None:
        assert Decimal(read.pricing.cache_read_usd) <= Decimal(read.pricing.input_usd)


def test_the_list_has_its_date_and_each_model_of_a_route_once() -> None:
    data = shipped_data()
    named = [(kind, entry["id"]) for kind, entry in ENTRIES]

    assert set(data) == {"as_of", "routes"}
    assert date.fromisoformat(data["as_of"])
    assert len(set(named)) == len(named)
    assert DATA.stat().st_size < 64 * 1024  # a cold start reads it


def test_every_built_in_kind_is_a_route_of_its_id_without_a_key() -> None:
    routes = {route.id: route for route in shipped_routes()}

    assert list(routes) == list(BUILT_IN) == list(NAMES)
    assert {route.settings for route in routes.values()} == {
        ProviderSettings(kind=kind) for kind in BUILT_IN
    }
    assert all(route.models for route in routes.values())
    assert [one.id for one in routes["openai"].models] == [
        one.id for one in routes["openai-chat"].models
    ]


def test_a_model_of_bedrock_is_found_by_its_id_with_colons() -> None:
    catalogue = Catalogue(shipped_routes(), "bedrock")
    model = "us.anthropic.claude-haiku-4-5-20251001-v1:0"

    named, bare = catalogue.split(f"bedrock:{model}"), catalogue.split(model)

    assert named == bare == ModelRef("bedrock", model)
    shown = from_facts(catalogue.facts(bare))
    assert [one["id"] for one in shown.pop("reasoning")["efforts"]] == [
        *("medium", "low", "high", "xhigh", "minimal", "none")
    ]
    assert shown == {
        "id": f"bedrock:{model}",
        "provider": "bedrock",
        "model": model,
        "name": "Claude Haiku 4.5 (US)",
        "context_window_tokens": 200_000,
        "max_output_tokens": 64_000,
        "inputs": ["text", "image", "file"],
        "pricing": {
            "input_usd": "1.1",
            "output_usd": "5.5",
            "cache_read_usd": "0.11",
            "cache_write_usd": "1.375",
        },
    }


def test_a_model_with_efforts_is_shown_with_their_names() -> None:
    catalogue = Catalogue(shipped_routes())

    shown = from_facts(catalogue.facts(ModelRef("openai", "gpt-5-mini")))

    assert shown["reasoning"] == {
        "efforts": [
            {"id": "medium", "name": "Medium"},
            {"id": "low", "name": "Low"},
            {"id": "high", "name": "High"},
            {"id": "minimal", "name": "Minimal"},
        ]
    }
