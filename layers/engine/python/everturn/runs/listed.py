"""The models of a tenant as the runs API lists them. Source: agent-runs.md, "Routes"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def listed(shown: Mapping[str, Any], default_model: str) -> dict[str, Any]:
    """Return `{models, defaultModelId}` of a `ModelsView` as JSON."""
    return {
        "models": [_line(one) for one in shown["models"]],
        "defaultModelId": None if _is_off(shown, default_model) else default_model or None,
    }


def _is_off(shown: Mapping[str, Any], model: str) -> bool:
    """Return whether a model is the demo's where the tenant may not use that."""
    provider, separator, _ = model.partition(":")
    is_demo = bool(separator) and provider == "demo"
    return is_demo and all(one["id"] != "demo" for one in shown["providers"])


def _line(model: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": model["id"],
        "label": model["name"],
        "provider": model["provider"],
        "vendorModelId": model["model"],
        "source": "platform" if model["provider"] == "demo" else "provider",
        "contextWindowTokens": model.get("context_window_tokens"),
        "pricing": _prices(model.get("pricing")),
    }


def _prices(said: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if said is None:
        return None
    cached = said.get("cache_read_usd")
    return {
        "inputPer1MUsd": float(said["input_usd"]),
        "outputPer1MUsd": float(said["output_usd"]),
        "cacheReadPer1MUsd": None if cached is None else float(cached),
    }
