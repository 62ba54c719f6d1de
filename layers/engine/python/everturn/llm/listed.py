"""Models as JSON and as facts: what ships with the engine, what settings say, what readers see.

It must not read a file or a record. Source: `protocol.models`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from everturn.llm.catalogue import ModelFacts, Prices, ReasoningEffort, to_plain

_SAME = ("description", "context_window_tokens", "default_max_tokens", "max_output_tokens")
"""What is called the same in both, and stands there as it is."""


def to_facts(provider: str, entry: Mapping[str, Any]) -> ModelFacts:
    """Return the facts that `entry`, a checked `ModelEntry` as JSON, says of a provider's model."""
    reasoning = entry.get("reasoning") or {}
    efforts = tuple(
        ReasoningEffort(
            one["id"], one.get("name") or one["id"].capitalize(), one.get("description")
        )
        for one in reasoning.get("efforts", ())
    )
    prices = entry.get("pricing")
    return ModelFacts(
        provider,
        entry["id"],
        entry.get("name") or entry["id"],
        **{name: entry.get(name) for name in _SAME},
        inputs=tuple(entry.get("inputs") or ()),
        efforts=efforts,
        default_effort=reasoning.get("default_effort"),
        prices=Prices(**{name: Decimal(usd) for name, usd in prices.items()}) if prices else None,
    )


def from_facts(facts: ModelFacts) -> dict[str, Any]:
    """Return what `GET /v1/models` says of a model; what is unknown is left out."""
    said: dict[str, Any] = {
        "id": f"{facts.provider}:{facts.id}",
        "provider": facts.provider,
        "model": facts.id,
        "name": facts.name,
    }
    said |= {name: value for name in _SAME if (value := getattr(facts, name)) is not None}
    if facts.inputs:
        said["inputs"] = list(facts.inputs)
    if facts.efforts:
        said["reasoning"] = _reasoning(facts)
    if facts.prices is not None:
        said["pricing"] = {
            name: to_plain(usd)
            for name in Prices.__slots__
            if (usd := getattr(facts.prices, name)) is not None
        }
    return said


def _reasoning(facts: ModelFacts) -> dict[str, Any]:
    efforts = [
        {"id": one.id, "name": one.name}
        | ({"description": one.description} if one.description else {})
        for one in facts.efforts
    ]
    default = {"default_effort": facts.default_effort} if facts.default_effort else {}
    return {"efforts": efforts, **default}
