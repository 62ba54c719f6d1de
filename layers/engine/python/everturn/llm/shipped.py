"""The routes and models that ship with the engine: `catalogue_data.json`, read when asked for.

It must not know a tenant. A turn that needs only the demo model never comes here.
"""

from __future__ import annotations

from functools import lru_cache
from json import loads
from pathlib import Path
from typing import Any, Final

from everturn.llm.catalogue import Route
from everturn.llm.listed import to_facts
from everturn.protocol.providers import BUILT_IN, ProviderSettings

DATA: Final = Path(__file__).with_name("catalogue_data.json")

NAMES: Final = {
    "openai": "OpenAI",
    "openai-chat": "OpenAI Chat Completions",
    "anthropic": "Anthropic",
    "gemini": "Google Gemini",
    "bedrock": "Amazon Bedrock",
}


def shipped_data() -> dict[str, Any]:
    """Return the file: `{as_of, routes: [{ids, models}]}`, a model being a `ModelLine` and id."""
    data: dict[str, Any] = loads(DATA.read_text())
    return data


@lru_cache(maxsize=1)
def shipped_routes() -> tuple[Route, ...]:
    """Return the route of each built-in kind, with its models and without a key."""
    models: dict[str, list[Any]] = {kind: [] for kind in BUILT_IN}
    for part in shipped_data()["routes"]:
        for kind in part["ids"]:
            models[kind] += part["models"]
    return tuple(
        Route(
            kind,
            NAMES[kind],
            tuple(to_facts(kind, one) for one in models[kind]),
            ProviderSettings.model_construct(kind=kind),  # checking it would build a validator
        )
        for kind in BUILT_IN
    )
