"""Examples of the bodies of the runs API; each one fits its schema."""

from __future__ import annotations

from typing import Any, Final

SESSION_ID: Final = "019b796d-d600-7c66-9699-50b78a8280d7"
RUN_ID: Final = "019b796d-d600-707b-83de-3f5714634d03"
_CALL: Final = "019b796d-d600-7339-b5b2-88575c5cba39"
_MOMENT: Final = "2026-01-01T12:00:00.000Z"

WEATHER: Final = {
    "kind": "local",
    "name": "weather",
    "description": "Tells the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}

RUNS: Final = (
    ("a prompt", {"prompt": "hello"}),
    (
        "a local tool",
        {
            "modelId": "openai:gpt-5-mini",
            "systemPrompt": "You answer briefly.",
            "prompt": "What is the weather in Bergen?",
            "tools": [WEATHER],
            "reasoningLevel": "low",
            "budgets": {"maxToolTurns": 8},
            "metadata": {"customer": "acme"},
        },
    ),
    (
        "messages with a file",
        {
            "agentId": "helper",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {
                    "role": "user",
                    "content": "What is this?",
                    "attachments": [
                        {
                            "type": "input_file_url",
                            "url": "https://files.example.com/a.png",
                            "mimeType": "image/png",
                        }
                    ],
                },
            ],
            "outputSchema": {"name": "thing", "schema": {"type": "object"}},
        },
    ),
)

ACCEPTED: Final = {
    "runId": RUN_ID,
    "sessionId": SESSION_ID,
    "streamUrl": f"/api/v1/workspaces/acme/agent-runs/{RUN_ID}/stream",
}

RUN: Final[dict[str, Any]] = {
    "runId": RUN_ID,
    "sessionId": SESSION_ID,
    "status": "succeeded",
    "finalText": "It rains.",
    "error": None,
    "failureReason": None,
    "tokens": {
        "inputTokens": 120,
        "cachedTokens": 80,
        "reasoningTokens": 0,
        "outputTokens": 4,
    },
    "turns": 1,
    "model": {"id": "openai:gpt-5-mini", "provider": "openai", "vendorModelId": "gpt-5-mini"},
    "spec": {"modelId": "openai:gpt-5-mini"},
    "metadata": {"customer": "acme"},
}

TOOL_RESULTS: Final = (
    ("a result", {"toolUseId": _CALL, "result": "It rains."}),
    ("an error", {"toolUseId": _CALL, "error": "no such city"}),
    (
        "a file",
        {
            "toolUseId": _CALL,
            "result": "drawn",
            "files": [{"filename": "a.png", "mimeType": "image/png", "data": "iVBORw0KGgo="}],
        },
    ),
)

RATING: Final = {"verdict": "UP", "explanation": "Short and right."}
RATED: Final = {"id": _CALL, "verdict": "UP", "targetKind": "run", "agentRunId": RUN_ID}

SESSION_WANTED: Final = {
    "name": "weather",
    "systemPrompt": "You answer briefly.",
    "metadata": {"customer": "acme"},
}
SESSION_MADE: Final = {"sessionId": SESSION_ID, "name": "weather", "createdAt": _MOMENT}

SESSIONS: Final = {
    "total": 1,
    "limit": 50,
    "offset": 0,
    "nextCursor": None,
    "sessions": [
        {
            "sessionId": SESSION_ID,
            "creationDate": _MOMENT,
            "lastInteractionDate": _MOMENT,
            "summary": "weather",
            "metadata": {"customer": "acme"},
            "status": "active",
        }
    ],
}

SESSION: Final[dict[str, Any]] = {
    "id": SESSION_ID,
    "name": "weather",
    "status": "active",
    "createdAt": _MOMENT,
    "lastUsedAt": _MOMENT,
    "endedAt": None,
    "agentSpec": {"systemPrompt": "You answer briefly."},
    "messages": [
        {"role": "user", "content": "What is the weather in Bergen?"},
        {"role": "assistant", "content": "It rains."},
    ],
    "metadata": {"customer": "acme"},
}

REPLAY: Final = {
    "sessionId": SESSION_ID,
    "total": 2,
    "nextBeforeSeq": None,
    "truncated": False,
    "events": [
        {"seq": 11, "type": "user_message", "text": "What is the weather in Bergen?"},
        {"seq": 20, "type": "assistant_message", "text": "It rains."},
    ],
}

MODELS: Final = {
    "models": [
        {
            "id": "openai:gpt-5-mini",
            "label": "GPT-5 mini",
            "provider": "openai",
            "vendorModelId": "gpt-5-mini",
            "source": "provider",
            "contextWindowTokens": 400_000,
            "pricing": {"inputPer1MUsd": 0.25, "outputPer1MUsd": 2.0, "cacheReadPer1MUsd": 0.025},
        }
    ],
    "defaultModelId": "openai:gpt-5-mini",
}

ITEM: Final = {"message": {"role": "user", "content": "and after that?"}, "turn_id": "t2"}
ENQUEUED: Final = {"turn_id": "t2", "item_id": _CALL, "placement": "queued"}
KNOWN_ITEM: Final = {"turn_id": "t2", "duplicate": True, "turn_status": "running"}
