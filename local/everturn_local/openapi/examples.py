"""Examples of bodies, as a reader of the published pages meets them; each one fits its schema."""

from __future__ import annotations

from typing import Any, Final

UPLOAD_ID: Final = "019b796d-d600-7595-955d-48b4303a886b"
_CALL: Final = "019b796d-d600-7339-b5b2-88575c5cba39"
_MOMENT: Final = "2026-01-01T12:00:00.000Z"
_LATER: Final = "2026-01-01T12:15:00.000Z"
_FILE_URL: Final = f"everturn:upload:{UPLOAD_ID}"

_USER: Final = {"id": "u1", "role": "user", "content": "hello"}
_REPLY: Final = {"id": _CALL, "role": "assistant", "content": "echo: hello"}

TOKEN_WANTED: Final = {
    "identity": {"id": "user-7"},
    "ttl_seconds": 900,
    "scopes": ["sessions:read"],
}

TOKEN: Final = {"token": "eyJ…", "expires_at": 1_767_269_700}

OAUTH_TOKENS: Final = {
    "access_token": "eyJ…",
    "token_type": "Bearer",
    "expires_in": 3600,
    "refresh_token": "eyJ…",
    "scope": "runs:read runs:write",
}

USER_INFO: Final = {
    "sub": "default",
    "kind": "client_token",
    "workspace": {"id": "acme", "slug": "acme"},
    "scopes": ["mantyx.identity:read"],
    "scope": "mantyx.identity:read",
    "expires_at": 1_767_272_400,
}

OAUTH_CLIENT: Final = {"client_id": "acme", "client_secret": "ek_…"}

INPUTS: Final = (
    (
        "one message",
        {
            "session_id": "first",
            "input": {
                "type": "client.message",
                "agent_id": "helper",
                "turn_id": "t1",
                "stream": True,
                "message": {"role": "user", "content": "hello"},
            },
        },
    ),
    (
        "the whole view",
        {
            "session_id": "first",
            "identity": {"id": "user-7"},
            "input": {
                "type": "client.messages",
                "agent_id": "helper",
                "messages": [_USER, _REPLY, {"role": "user", "content": "and now?"}],
            },
        },
    ),
)

ACCEPTED: Final = {"session_id": "first", "turn_id": "t1"}

SESSION: Final[dict[str, Any]] = {
    "session_id": "first",
    "agent_id": "helper",
    "status": "done",
    "seq": 21,
    "interrupts": [],
    "messages": [_USER, _REPLY],
    "calls": [],
    "waits": [],
    "last_outcome": "done",
}

SESSIONS: Final[dict[str, Any]] = {
    "sessions": [
        {
            "session_id": "first",
            "agent_id": "helper",
            "owner": "user-7",
            "status": "done",
            "turns": 1,
            "created_at": _MOMENT,
            "last_turn_at": _MOMENT,
        }
    ],
    "cursor": "WyJjcmVhdGVkIl0",
}

DELETING: Final = {"ok": True, "deleting": True}

EVENT: Final[dict[str, Any]] = {
    "session_id": "first",
    "seq": 15,
    "occurred_at": _MOMENT,
    "turn_id": "t1",
    "payload": {
        "type": "llm.call.completed",
        "id": _CALL,
        "attempt": 1,
        "message": _REPLY,
        "finish_reason": "stop",
        "usage": {"input_tokens": 25, "output_tokens": 2},
        "cost": "0",
    },
}

DELTA: Final[dict[str, Any]] = {
    "type": "llm.token.delta",
    "session_id": "first",
    "agent_id": "helper",
    "turn_id": "t1",
    "call_id": _CALL,
    "attempt": 1,
    "seq": 1,
    "text": "echo: ",
}

EVENTS_PAGE: Final = {"events": [EVENT], "next_after_seq": 15, "more": True}

STREAM: Final = (
    "id: 16.13-1\nevent: turn.stalled\n"
    f'data: {{"session_id":"first","seq":16,"occurred_at":"{_MOMENT}","turn_id":"t1",'
    '"payload":{"type":"turn.stalled","turn_id":"t1"}}\n\n'
)

AGENT: Final[dict[str, Any]] = {
    "model": "demo",
    "system": "You answer briefly.",
    "decides": "engine",
    "worker": "https://tools.example.com/everturn",
    "worker_secret": {"ssm": "/everturn/tools-secret"},
    "tools": [
        {
            "name": "add",
            "description": "Adds numbers.",
            "effect": "read",
            "timeout_secs": 20,
            "input": {
                "type": "object",
                "required": ["numbers"],
                "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
            },
        }
    ],
}

AGENTS: Final = {"agents": [{"agent_id": "adder", "model": "demo", "updated_at": _MOMENT}]}

AGENT_SHOWN: Final = {"agent_id": "adder", **AGENT}

UPLOAD: Final = {"filename": "a.png", "content_type": "image/png", "size_bytes": 68_000}

TICKET: Final = {
    "upload_id": UPLOAD_ID,
    "url": "https://bucket.example.com/main/uploads/file?X-Amz-Signature=0",
    "headers": {"content-type": "image/png", "content-length": "68000", "if-none-match": "*"},
    "expires_at": _LATER,
    "file_url": _FILE_URL,
}

UPLOADED: Final = {
    "upload_id": UPLOAD_ID,
    **UPLOAD,
    "file_url": _FILE_URL,
    "url": "https://bucket.example.com/main/uploads/file?X-Amz-Signature=1",
    "expires_at": _LATER,
}

DECISION_REQUEST: Final[dict[str, Any]] = {
    "session_id": "sum",
    "decision_id": "019b796d-d600-7b70-81f8-b40325c5e95d",
    "agent_id": "adder",
    "identity": {"id": "default"},
    "trigger": {
        "type": "tool.execute",
        "id": "call_8d63",
        "name": "add",
        "arguments": '{"numbers":[1,2,3]}',
        "input": {"status": "valid", "value": {"numbers": [1, 2, 3]}},
        "attempt": 1,
    },
    "proposed": {},
    "state": None,
    "agent": {"model": "demo"},
    "calls": [{"id": "call_8d63", "kind": "tool_call", "status": "pending", "attempt": 1}],
    "pending_calls": 1,
    "messages": [{"id": "u1", "role": "user", "content": "add them"}],
    "message_tree": {
        "nodes": [{"message": {"id": "u1", "role": "user", "content": "add them"}}],
        "head_id": "u1",
    },
    "ancestry": [],
    "attempts": 1,
    "deadline": _MOMENT,
    "turn_id": "t1",
}

DECISION_RESPONSE: Final = {"actions": [{"type": "tool.result", "result": {"total": 6}}]}

SETTLEMENT: Final = {
    "type": "tool.result",
    "id": "call_1",
    "attempt": 1,
    "result": {"sky": "clear"},
}
INTERRUPT: Final = {"interrupt_id": "may-i", "reason": "confirm", "payload": {"amount": 120}}
INTERRUPTED: Final = {"ok": True, "interrupt_id": "may-i"}
RESUME: Final = {"interrupt_id": "may-i", "payload": {"confirmed": True}}
RESOLUTION: Final = {"answer": "yes"}
DECLINE: Final = {"outcome": "rejected", "message": "Not today."}
RESUMED: Final = {"ok": True, "session_id": "first", "resumed": True}
CANCELLED: Final = {"ok": True, "session_id": "first", "cancelled": True}
CANCELLED_TURN: Final = {**CANCELLED, "turn_id": "t1"}
LATE_ANSWER: Final = {
    "session_id": "first",
    "decision_id": UPLOAD_ID,
    "actions": [{"type": "tool.result", "id": "call_1", "result": "sent"}],
}

MODELS: Final = {
    "models": [
        {
            "id": "openai:gpt-5-mini",
            "provider": "openai",
            "model": "gpt-5-mini",
            "name": "GPT-5 mini",
            "context_window_tokens": 400_000,
            "max_output_tokens": 128_000,
            "inputs": ["text", "image", "file"],
            "reasoning": {
                "efforts": [{"id": "low", "name": "Low"}, {"id": "high", "name": "High"}]
            },
            "pricing": {"input_usd": "0.25", "output_usd": "2", "cache_read_usd": "0.025"},
        }
    ],
    "providers": [{"id": "openai", "name": "OpenAI", "kind": "openai", "configured": True}],
    "aliases": {"fast": "openai:gpt-5-mini"},
    "default_provider": "openai",
}
