"""What a request is for: the turn itself or something beside it; it counts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn_local.usage import default_category, sort_keys

TURN: Final = ("main", "source")
"""Categories that make up the turn itself; `source` is the queue's receive and delete."""

BESIDE: Final = {
    "watch": "looking for readers and cancels",
    "delta": "stream output kept for an hour",
    "push": "frames to the WebSocket",
    "connection": "connecting, subscribing, replaying",
    "recovery": "the sweep, every five minutes for all sessions",
    "directory": "API key, tenant and agent, cached 30 to 60 s by a process",
}
"""Categories that are listed apart, and what they are."""

_DIRECTORY: Final = ("KEY#", "TENANT#", "AGENTS#")
_SOCKETS: Final = ("websocket-", "authorizer-")


def category(operation: str, parameters: Mapping[str, Any], thread_name: str) -> str:
    """Return the category of a request, as the meter wants it."""
    usual = default_category(operation, parameters, thread_name)
    if usual in {"push", "watch"}:
        return usual
    if thread_name.startswith(_SOCKETS) or _writes_watch(operation, parameters):
        return "connection"
    if thread_name.startswith("recovery-"):
        return "recovery"
    if usual == "main" and partition(parameters).startswith(_DIRECTORY):
        return "directory"
    return usual


def partition(parameters: Mapping[str, Any]) -> str:
    """Return the partition key that a request names, empty where it names none or several."""
    key = parameters.get("Key") or parameters.get("Item") or {}
    return str(key.get("pk", {}).get("S", ""))


def _writes_watch(operation: str, parameters: Mapping[str, Any]) -> bool:
    return operation == "dynamodb.UpdateItem" and sort_keys(parameters) == ["WATCH"]
