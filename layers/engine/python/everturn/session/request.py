"""The neutral model request, a pure function of a header and of messages.

It must not know a provider's shape.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from everturn.errors import DefectError
from everturn.protocol.json_text import canonical
from everturn.protocol.limits import MAX_SPAWN_DEPTH
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.facts import PathMessage, Pinned, Route
from everturn.session.sub_agents import tools_of

DERIVATION: Final = 1
"""Version of this builder. A log names the one that each request was built with."""

NO_RESULT: Final = '{"error":"no result was recorded"}'
"""Stands in a request where a tool call has no result on the path. Source: L-4."""

CALL_SETTINGS: Final = (
    "temperature",
    "max_completion_tokens",
    "reasoning",
    "stop",
    "output_schema",
    "tool_choice",
    "parallel_tool_calls",
)
"""What a config may say about a call beside its model; absent where it says nothing."""


@dataclass(frozen=True, slots=True)
class BuiltRequest:
    """A request, its hash, and which tool calls got a result only in it."""

    body: dict[str, Any]
    """`protocol.llm.LlmRequest` as JSON."""

    sha256: str
    repairs: tuple[str, ...]
    failed: frozenset[str]
    """Tool calls whose result is an error."""

    provider: str = ""
    """Whose model it is for."""


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def header_for(
    agent: Pinned, route: Route, action: Mapping[str, Any] | None = None, *, depth: int = 0
) -> dict[str, Any]:
    """Return everything in a request that is not history. Source: RH-1, L-1, L-5.

    Below `depth` other sessions, as far as that may be, sub-agents are among the tools.

    What an `llm.call` action says wins over the config; with messages of its own, it has no system
    prompt but what stands in them (L-3).
    """
    own, config = action or {}, agent.config
    call: dict[str, Any] = {"provider": route.provider, "model": route.model}
    for name in CALL_SETTINGS:
        value = config.get(name) if own.get(name) is None else own[name]
        if value is not None:
            call[name] = value
    header: dict[str, Any] = {"config": call}
    if config.get("system") and own.get("messages") is None:
        header["system"] = config["system"]
    offered = tools_of(config) if depth < MAX_SPAWN_DEPTH else config.get("tools")
    tools = offered if own.get("tools") is None else own["tools"]
    if tools:
        header["tools"] = [_as_model_sees(tool) for tool in tools]
    return header


def _as_model_sees(tool: Mapping[str, Any]) -> dict[str, Any]:
    seen = {"name": tool["name"], "description": tool.get("description") or ""}
    return {**seen, "input": tool["input"]} if tool.get("input") is not None else seen


def build_request(header: Mapping[str, Any], path: Sequence[PathMessage]) -> BuiltRequest:
    """Return the request that `header` and `path` make. Source: RH-2, L-2, L-4, U-14."""
    messages, repairs = _well_formed(path)
    if header.get("system"):
        messages = [{"role": "system", "content": header["system"]}, *messages]
    failed = frozenset(m.message.get("tool_call_id", "") for m in path if m.is_error)
    return _built(header, messages, tuple(repairs), failed)


def explicit_request(
    header: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
) -> BuiltRequest:
    """Return the request of an action with messages of its own: sent as they are. Source: L-3."""
    return _built(header, [dict(message) for message in messages], (), frozenset())


def _built(
    header: Mapping[str, Any],
    messages: list[dict[str, Any]],
    repairs: tuple[str, ...],
    failed: frozenset[str],
) -> BuiltRequest:
    config = header["config"]
    body: dict[str, Any] = {"model": config["model"], "messages": messages}
    if header.get("tools"):
        body["tools"] = header["tools"]
    for name in CALL_SETTINGS:
        if name in config:
            body[name] = config[name]
    return BuiltRequest(body, digest(body), repairs, failed, config.get("provider", ""))


def rebuild(
    asked: ModelCallRequested, header: Mapping[str, Any], path: Iterable[PathMessage]
) -> BuiltRequest:
    """Return the request that `asked` committed; `path` has at least the messages of its boundary.

    Raises `DefectError` where it is not the committed one, byte for byte. Source: RH-5.
    """
    boundary = asked.private.boundary
    if asked.messages is not None:
        request = explicit_request(header, asked.messages)
    else:
        within = [
            node for node in path if boundary and boundary.from_seq <= node.seq <= boundary.head_seq
        ]
        request = build_request(header, within)
    if request.sha256 != asked.private.request_sha256:
        raise DefectError(f"the rebuilt request of {asked.id} is not the committed one")
    return request


def _well_formed(path: Sequence[PathMessage]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the messages with each tool call's one result directly after it, in call order."""
    messages: list[dict[str, Any]] = []
    repairs: list[str] = []
    for at, node in enumerate(path):
        message = dict(node.message)
        if message["role"] == "tool":
            continue  # placed behind its call, or left out where the call is not there
        messages.append(message)
        calls = message.get("tool_calls") or []
        results = _results(path[at + 1 :])
        for call in calls:
            found = results.get(call["id"])
            if found is None:
                repairs.append(call["id"])
            messages.append(found or _synthetic(call))
    return messages, repairs


def _results(following: Iterable[PathMessage]) -> dict[str, dict[str, Any]]:
    """Return the tool messages up to the next assistant message, by call id; the first wins."""
    found: dict[str, dict[str, Any]] = {}
    for node in following:
        if node.message["role"] == "assistant":
            break
        if node.message["role"] == "tool":
            found.setdefault(node.message["tool_call_id"], dict(node.message))
    return found


def _synthetic(call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": call["id"],
        "name": call["function"]["name"],
        "content": NO_RESULT,
    }
