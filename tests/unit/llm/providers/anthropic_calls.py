"""Requests to Anthropic, as tests make them. No test lives here."""

from __future__ import annotations

from typing import Any

from everturn.llm.providers.anthropic import AnthropicWire
from neutral_requests import asked

SONNET = "claude-sonnet-4-5"
OPUS = "claude-opus-4-7"
CALL = {
    "id": "toolu_1",
    "type": "function",
    "function": {"name": "get.weather", "arguments": '{"city":"Bern"}'},
}
LOOP: list[dict[str, Any]] = [
    {"id": "u1", "role": "user", "content": "How is it in Bern?"},
    {"id": "a1", "role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "toolu_1", "name": "get.weather", "content": "sunny"},
]
TOOL = {"name": "get.weather", "description": "Tells it."}


def body(model: str = SONNET, messages: Any = None, **more: Any) -> dict[str, Any]:
    beside = {name: more.pop(name) for name in ("replays", "failed", "account") if name in more}
    request = {"model": model, "messages": messages or LOOP[:1], **more}
    return dict(AnthropicWire().encode(asked(request, **beside)).body)
