"""One full body for each provider: text, an image, tools, calls, results and thinking.

No test lives here.
"""

from __future__ import annotations

from typing import Any, Final

SCHEMA: Final = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where"}},
    "required": ["city"],
    "additionalProperties": False,
}
PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


def chat() -> dict[str, Any]:
    """Return a body of Chat Completions."""
    look = {"name": "look", "arguments": '{"city": "Rome"}'}
    return {
        "model": "gpt-5",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 100,
        "reasoning_effort": "low",
        "temperature": 1,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Where?"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                ],
            },
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": look},
                    {"id": "c2", "type": "function", "function": look},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a wall"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "none"}]},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "parameters": SCHEMA, "strict": True},
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "parallel_tool_calls": True,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
        "metadata": {"turn": "t1"},
    }


def responses() -> dict[str, Any]:
    """Return a body of Responses."""
    return {
        "model": "gpt-5",
        "stream": True,
        "store": False,
        "instructions": "Be brief.",
        "max_output_tokens": 100,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Where?"},
                    {
                        "type": "input_image",
                        "image_url": f"data:image/png;base64,{PIXEL}",
                        "detail": "auto",
                    },
                ],
            },
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "A look will do."}],
                "encrypted_content": "c2VjcmV0",
            },
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "a wall"},
            {"role": "assistant", "content": "A wall."},
            {"role": "user", "content": "And now?"},
        ],
        "tools": [{"type": "function", "name": "look", "parameters": SCHEMA, "strict": True}],
        "tool_choice": {"type": "function", "name": "look"},
        "parallel_tool_calls": True,
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}},
    }


def anthropic() -> dict[str, Any]:
    """Return a body of Messages."""
    image = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    return {
        "model": "claude-sonnet-5",
        "stream": True,
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Where?"},
                    {"type": "image", "source": image},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "A look will do.", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "c2VjcmV0"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"city": "Rome"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "is_error": True,
                        "content": [{"type": "image", "source": image}],
                    }
                ],
            },
        ],
        "tools": [{"name": "look", "description": "Looks.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u1"},
    }


def gemini() -> dict[str, Any]:
    """Return a body of `streamGenerateContent`."""
    call = {"id": "c1", "name": "look", "args": {"city": "Rome"}}
    return {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "Where?"},
                    {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "A look will do.", "thought": True},
                    {"functionCall": call, "thoughtSignature": "c2ln"},
                    {"functionCall": {**call, "id": "c2"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": one,
                            "name": "look",
                            "response": {"output": "a wall"},
                        }
                    }
                    for one in ("c1", "c2")
                ],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": SCHEMA}]}],
        "toolConfig": {
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]},
        },
        "generationConfig": {
            "maxOutputTokens": 100,
            "temperature": 1,
            "stopSequences": ["END"],
            "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1024},
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }


def bedrock() -> dict[str, Any]:
    """Return parameters of `converse_stream`."""
    thought = {"reasoningText": {"text": "A look will do.", "signature": "c2ln"}}
    return {
        "modelId": "anthropic.claude-sonnet-5-v1:0",
        "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "Where?"},
                    {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": thought},
                    {"text": "I look."},
                    {"toolUse": {"toolUseId": "c1", "name": "look", "input": {"city": "Rome"}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "toolResult": {
                            "toolUseId": "c1",
                            "content": [{"json": {"seen": ["a wall"]}}],
                            "status": "error",
                        }
                    }
                ],
            },
        ],
        "inferenceConfig": {"maxTokens": 100, "temperature": 1.0, "stopSequences": ["END"]},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": SCHEMA}}}],
            "toolChoice": {"tool": {"name": "look"}},
        },
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    }


def without(body: Any, path: str) -> Any:
    """Return `body` without the key at a place."""
    name, _, rest = path.partition(".")
    if isinstance(body, list):
        at = int(name)
        return [*body[:at], without(body[at], rest), *body[at + 1 :]]
    if rest:
        return {**body, name: without(body[name], rest)}
    return {key: one for key, one in body.items() if key != name}
