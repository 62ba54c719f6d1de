"""Good conversations, neutral and as each provider has them, to spoil one thing at a time.

No test lives here.
"""

from __future__ import annotations

from typing import Any

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def neutral(**more: Any) -> dict[str, Any]:
    """Return a request that every provider takes: two calls, their results, an answer."""
    calls = [
        {"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for one in ("c1", "c2")
    ]
    request = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"id": "u1", "role": "user", "content": "Where?"},
            {"id": "a1", "role": "assistant", "content": "I look.", "tool_calls": calls},
            {"id": "r1", "role": "tool", "tool_call_id": "c1", "name": "look", "content": "a wall"},
            {"id": "r2", "role": "tool", "tool_call_id": "c2", "name": "look", "content": ""},
            {"id": "a2", "role": "assistant", "content": "A wall."},
            {"id": "u2", "role": "user", "content": [{"type": "text", "text": "And now?"}]},
        ],
        "tools": [{"name": "look", "description": "", "input": SCHEMA}],
    }
    return {**request, **more}


def openai() -> dict[str, Any]:
    """Return a body of OpenAI's."""
    calls = [
        {"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for one in ("c1", "c2")
    ]
    return {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Where?"}]},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c2", "content": "a wall"},
            {"role": "tool", "tool_call_id": "c1", "content": ""},
            {"role": "assistant", "content": "A wall."},
            {"role": "user", "name": "ann", "content": "And now?"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": "", "parameters": SCHEMA},
            }
        ],
        "temperature": 2,
        "max_completion_tokens": 1,
        "stop": ["END"],
        "reasoning_effort": "low",
    }


def anthropic() -> dict[str, Any]:
    """Return a body of Anthropic's."""
    uses: list[Any] = [
        {"type": "tool_use", "id": one, "name": "look", "input": {}} for one in ("c1", "c2")
    ]
    results = [
        {"type": "tool_result", "tool_use_id": "c2", "content": ""},
        {"type": "tool_result", "tool_use_id": "c1", "content": [text("a wall")]},
    ]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    return {
        "model": "m",
        "max_tokens": 4096,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": [text("I look."), *uses]},
            {"role": "user", "content": [*results, text("Well?")]},
            {"role": "assistant", "content": "A wall."},
            {"role": "user", "content": [image, text("And now?")]},
        ],
        "tools": [{"name": "look", "description": "", "input_schema": SCHEMA}],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "stop_sequences": ["END"],
    }


def text(said: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": said}


def bedrock() -> dict[str, Any]:
    """Return parameters of Converse."""
    uses: list[Any] = [
        {"toolUse": {"toolUseId": one, "name": "look", "input": {}}} for one in ("c1", "c2")
    ]
    results = [
        {"toolResult": {"toolUseId": "c2", "content": []}},
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "a wall"}], "status": "error"}},
    ]
    return {
        "modelId": "m",
        "system": [{"text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"text": "Where?"}]},
            {"role": "assistant", "content": [{"text": "I look."}, *uses]},
            {"role": "user", "content": [*results, {"text": "Well?"}]},
            {"role": "assistant", "content": [{"text": "A wall."}]},
            {"role": "user", "content": [{"text": "And now?"}]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": SCHEMA}}}]},
        "inferenceConfig": {"maxTokens": 1, "temperature": 1},
    }


def spoiled(body: Any, path: str, value: Any) -> Any:
    """Return `body` with another value at a place; `None` for a list's item takes it out."""
    name, _, rest = path.partition(".")
    if isinstance(body, list):
        at = int(name)
        if at == len(body):
            return [*body, value]
        kept = [spoiled(body[at], rest, value)] if rest else [value] if value is not None else []
        return [*body[:at], *kept, *body[at + 1 :]]
    return {**body, name: spoiled(body[name], rest, value) if rest else value}
