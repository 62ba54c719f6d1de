"""The models of a tenant as the runs API lists them."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.runs.listed import listed

DEMO: dict[str, Any] = {"id": "demo:demo", "name": "Demo", "provider": "demo", "model": "demo"}
PRICED: dict[str, Any] = {
    "id": "openai:gpt",
    "name": "GPT",
    "provider": "openai",
    "model": "gpt",
    "context_window_tokens": 128_000,
    "pricing": {"input_usd": "2.5", "output_usd": "10", "cache_read_usd": "1.25"},
}


def shown(*models: dict[str, Any]) -> dict[str, Any]:
    """Return a list of models as the use case returns it."""
    providers = dict.fromkeys(one["provider"] for one in models)
    return {"models": list(models), "providers": [{"id": one} for one in providers]}


def test_a_model_says_whose_it_is_and_what_it_costs() -> None:
    (line,) = listed(shown(PRICED), "")["models"]

    assert line == {
        "id": "openai:gpt",
        "label": "GPT",
        "provider": "openai",
        "vendorModelId": "gpt",
        "source": "provider",
        "contextWindowTokens": 128_000,
        "pricing": {"inputPer1MUsd": 2.5, "outputPer1MUsd": 10.0, "cacheReadPer1MUsd": 1.25},
    }


def test_what_is_not_known_of_a_model_is_null() -> None:
    (line,) = listed(shown(DEMO), "")["models"]

    assert (line["source"], line["contextWindowTokens"], line["pricing"]) == (
        "platform",
        None,
        None,
    )


def test_a_price_of_cached_tokens_may_be_unknown() -> None:
    pricing = {"input_usd": "0", "output_usd": "0"}

    (line,) = listed(shown({**PRICED, "pricing": pricing}), "")["models"]

    assert line["pricing"] == {
        "inputPer1MUsd": 0.0,
        "outputPer1MUsd": 0.0,
        "cacheReadPer1MUsd": None,
    }


@pytest.mark.parametrize(
    ("models", "default", "told"),
    [
        ((), "", None),
        ((DEMO,), "demo:demo", "demo:demo"),
        ((PRICED,), "demo:demo", None),
        ((PRICED,), "openai:newest", "openai:newest"),
        ((PRICED,), "fast", "fast"),
        ((PRICED,), "demo", "demo"),
    ],
)
def test_the_default_model_is_one_that_the_tenant_may_use(
    models: tuple[dict[str, Any], ...], default: str, told: str | None
) -> None:
    """Without its demo models a tenant is not told to go by one; a name may be an alias."""
    assert listed(shown(*models), default)["defaultModelId"] == told
