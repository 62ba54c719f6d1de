"""Requests for Bedrock's adapter, and what it makes of them. No test lives here."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from everturn.llm.providers.bedrock_request import to_parameters
from everturn.llm.providers.http_model import Asked
from everturn.ports.model import Beside, Replay
from providers.official_models import refusals_bedrock
from transcripts import bedrock
from transcripts.refusal import Refusal

CLAUDE: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
OPUS_5_5: Final = "global.anthropic.claude-opus-5-5"
OPUS_4_7: Final = "global.anthropic.claude-opus-4-7"
CLAUDE_3_7: Final = "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
CLAUDE_3: Final = "anthropic.claude-3-haiku-20240307-v1:0"
NOVA: Final = "us.amazon.nova-lite-v1:0"
NOVA_2: Final = "global.amazon.nova-2-lite-v1:0"
LLAMA: Final = "us.meta.llama3-3-70b-instruct-v1:0"
MISTRAL: Final = "mistral.mistral-large-2407-v1:0"
HIDDEN: Final = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"

POINT: Final = {"cachePoint": {"type": "default"}}
SCHEMA: Final = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ADD: Final = {"name": "add", "description": "Adds.", "input": SCHEMA}
ADD_SPEC: Final = {
    "toolSpec": {"name": "add", "inputSchema": {"json": SCHEMA}, "description": "Adds."}
}


HIGH: Final = {"effort": "high"}


def user(content: Any) -> dict[str, Any]:
    """Return a user's message."""
    return {"id": "u", "role": "user", "content": content}


def called(*ids: str, said: str | None = None, message_id: str = "a") -> dict[str, Any]:
    """Return an assistant message with a call of `add` for each id."""
    calls = [
        {"id": one, "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
        for one in ids
    ]
    return {"id": message_id, "role": "assistant", "content": said, "tool_calls": calls}


def result(call_id: str, content: Any) -> dict[str, Any]:
    """Return a tool's message."""
    return {"id": f"r-{call_id}", "role": "tool", "tool_call_id": call_id, "content": content}


LOOP: Final = (user("Add."), called("c1"), result("c1", "1"))
"""A call and its result."""


def data_url(media_type: str, data: bytes = b"data") -> str:
    """Return a data URL."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def file(name: str, media_type: str = "application/pdf", data: bytes = b"data") -> dict[str, Any]:
    """Return a file part."""
    return {
        "type": "file",
        "file": {"filename": name, "file_data": data_url(media_type, data)},
    }


def image(media_type: str = "image/png", data: bytes = b"data") -> dict[str, Any]:
    """Return an image part."""
    return {"type": "image_url", "image_url": {"url": data_url(media_type, data)}}


def parameters(
    *messages: Mapping[str, Any],
    model: str = LLAMA,
    failed: frozenset[str] = frozenset(),
    replays: Mapping[str, Replay] | None = None,
    default_max_tokens: int | None = None,
    **request: Any,
) -> dict[str, Any]:
    """Return what goes out for a request; by default to a model that takes least."""
    beside = Beside(replays=replays or {}, default_max_tokens=default_max_tokens)
    said = [*messages] or [user("Hi.")]
    asked = Asked({"model": model, "messages": said, **request}, failed, beside)
    made, _ = to_parameters(asked)
    return made


def refused(body: Mapping[str, Any]) -> list[Refusal | str]:
    """Return what Bedrock has against parameters: its rules, and its service's description."""
    return [*bedrock.refusals(body), *refusals_bedrock(body)]
