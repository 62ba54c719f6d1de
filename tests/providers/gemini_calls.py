"""Calls of Gemini as the tests make them, and frames as it answers them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from everturn.llm.assemble import Answer, assemble
from everturn.llm.chunks import Chunk
from everturn.llm.providers.gemini import GeminiWire
from everturn.llm.providers.http_model import Asked, Encoded
from everturn.outbound.sse import SseFrame
from everturn.ports.model import Account, Beside, Replay
from providers.official_models import refusals_gemini

ACCOUNT = Account(api_key="k-1")
FLASH_2 = "gemini-2.5-flash"
FLASH_3 = "gemini-3-flash-preview"
HELLO: dict[str, Any] = {"id": "u1", "role": "user", "content": "Hello"}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Tells it.", "input": CITY}


def encoded(
    request: Mapping[str, Any],
    *,
    failed: Iterable[str] = (),
    replays: Mapping[str, Replay] | None = None,
    **beside: Any,
) -> Encoded:
    """Return what goes out, which Gemini would take; the usual model and message by default."""
    asked = {"model": FLASH_3, "messages": [HELLO], **request}
    told = {"account": ACCOUNT, **beside}
    sent = GeminiWire().encode(
        Asked(asked, frozenset(failed), Beside(replays=replays or {}, **told))
    )
    assert refusals_gemini(sent.body) == []
    return sent


def body_of(request: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the body that goes out."""
    return dict(encoded(request, **more).body)


def contents_of(messages: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    """Return the contents that messages become."""
    model = more.pop("model", FLASH_3)
    return list(body_of({"model": model, "messages": messages}, **more)["contents"])


def call(
    call_id: str, name: str = "get_weather", arguments: str = '{"city":"Oslo"}'
) -> dict[str, Any]:
    """Return a tool call as messages have it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, content: Any, name: str = "get_weather") -> dict[str, Any]:
    """Return a tool's message."""
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


def frame(event: Any) -> SseFrame:
    """Return an event as it comes."""
    return SseFrame("message", json.dumps(event))


def parts(*given: Mapping[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a response with these parts."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(given)}, "index": 0}
    candidate |= {"finishReason": reason} if reason else {}
    return {"candidates": [candidate], **more}


def chunks_of(events: Iterable[Any], request: Mapping[str, Any] | None = None) -> list[Chunk]:
    """Return the chunks of an answer to `request`, read to its end."""
    reader = encoded(request or {}).reader
    read = [chunk for event in events for chunk in reader.read(frame(event))]
    return [*read, *reader.end()]


def answer_of(events: Iterable[Any], request: Mapping[str, Any] | None = None) -> Answer:
    """Return what an answer adds up to."""
    return assemble(chunks_of(events, request))
