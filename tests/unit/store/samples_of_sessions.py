"""Strategies: sessions and events of every kind that has a body."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from everturn.session.events.shape import Retry, Usage
from everturn.session.events.stored import BODY_FIELDS, EVENT, Event
from everturn.session.state import (
    Call,
    CallStatus,
    Decision,
    Head,
    Mark,
    Session,
    Turn,
    Wait,
    Window,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
ID = st.from_regex(r"[A-Za-z0-9._:@-]{1,20}", fullmatch=True)
COUNT = st.integers(0, 2**53)
MAYBE_MS = st.none() | COUNT
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
RETRIES = st.builds(
    Retry, timeout_secs=st.none() | st.floats(0, 1e6), max_retries=st.integers(1, 100)
)
USAGES = st.builds(Usage, input_tokens=COUNT, output_tokens=COUNT, cache_read_tokens=COUNT)
CALLS = st.builds(
    Call,
    id=ID,
    kind=st.sampled_from(["llm_call", "tool_call"]),
    seq=COUNT,
    retry=RETRIES,
    status=st.sampled_from(CallStatus),
    attempt=COUNT,
    name=TEXT,
    handler=st.sampled_from(["server", "worker", "client"]),
    depth=COUNT,
    effect=st.sampled_from(["read", "unclassified"]),
    stream=st.booleans(),
    deadline_ms=MAYBE_MS,
    next_attempt_at_ms=MAYBE_MS,
    turn_id=ID,
    questions=st.integers(0, 9),
)
WAITS = st.builds(
    Wait,
    id=ID,
    kind=st.sampled_from(["question", "task"]),
    call_id=ID,
    seq=COUNT,
    deadline_ms=MAYBE_MS,
    interval_s=st.floats(1, 1e6),
    next_poll_ms=MAYBE_MS,
)
DECISIONS = st.builds(
    Decision,
    id=ID,
    trigger=TEXT,
    seq=COUNT,
    status=st.sampled_from(["queued", "live", "retry_scheduled"]),
    deadline_ms=MAYBE_MS,
)
TURNS = st.builds(
    Turn, id=ID, number=COUNT, first_seq=COUNT, stream=st.booleans(), usage=USAGES, cost=TEXT
)
WINDOWS = st.builds(
    Window,
    from_seq=COUNT,
    total_bytes=COUNT,
    marks=st.lists(st.builds(Mark, COUNT, COUNT), max_size=16).map(tuple),
)
SESSIONS = st.builds(
    Session,
    session_id=ID,
    agent_id=ID,
    owner_id=ID,
    decides=st.sampled_from(["engine", "worker"]),
    seq=COUNT,
    head=st.none() | st.builds(Head, id=ID, seq=COUNT, branch=COUNT, depth=COUNT),
    window=WINDOWS,
    turns=COUNT,
    turn=st.none() | TURNS,
    agent_sha=TEXT,
    route=TEXT,
    calls=st.lists(CALLS, max_size=60).map(tuple),
    decisions=st.lists(DECISIONS, max_size=60).map(tuple),
    waits=st.lists(WAITS, max_size=60).map(tuple),
)

_REST: dict[str, dict[str, Any]] = {
    "message.new": {
        "id": "m",
        "private": {"source": {"kind": "user"}, "depth": 1, "size_bytes": 9},
    },
    "agent.updated": {"private": {"sha256": "f0"}},
    "worker.state.updated": {"anchor": {"branch": 0, "depth": 1}},
    "decision.queued": {"id": "d", "trigger_type": "client.input"},
    "request.header": {"reason": "initial", "sha256": "f0"},
    "llm.call.requested": {
        "id": "c",
        "model": "m",
        "retry": {},
        "private": {"header_seq": 1, "derivation": 1, "request_sha256": "f0"},
    },
    "session.interrupted": {"interrupt_id": "i", "origin": "frontend", "reason": "r"},
    "session.interrupt_resumed": {"interrupt_id": "i"},
    "llm.call.completed": {"id": "c", "attempt": 1},
    "llm.call.errored": {"id": "c", "attempt": 1, "retryable": False},
    "llm.call.aborted": {"id": "c", "attempt": 1},
    "tool.call.requested": {"id": "c", "name": "t", "retry": {}},
    "tool.call.completed": {"id": "c", "name": "t", "attempt": 1},
    "tool.call.errored": {"id": "c", "name": "t", "attempt": 1, "retryable": False},
    "sub_agent.turn_completed": {"id": "c", "session_id": "s", "agent_id": "a"},
    "sub_agent.errored": {
        "id": "c",
        "session_id": "s",
        "agent_id": "a",
        "attempt": 1,
        "retryable": False,
    },
    "session.message_requested": {"target": "s", "message_id": "m"},
    "inbox.enqueued": {"item_id": "i"},
    "inbox.updated": {"item_id": "i"},
    "session.described": {},
    "run.requested": {},
    "output.rejected": {"id": "c", "attempt": 1},
    "turn.completed": {"outcome": "failed"},
    "call.wait.opened": {"id": "w", "kind": "question", "call_id": "c", "name": "t"},
    "call.wait.extended": {
        "id": "w",
        "kind": "task",
        "call_id": "c",
        "poll_interval_seconds": 5,
        "next_poll_at_ms": 9,
    },
    "call.wait.closed": {"id": "w", "kind": "question", "call_id": "c", "outcome": "answered"},
}
_TEXTS = {"error", "partial_text", "arguments", "result", "question", "answer", "problem"}


def with_body(kind: str, field: str, text: str) -> Event:
    """Return an event of that kind whose `field` holds `text`, as the kind demands."""
    bodies = {one: _body(kind, one, "short") for one in BODY_FIELDS[kind]}
    bodies[field] = _body(kind, field, text)
    return EVENT.validate_python({"type": kind, **_REST[kind], **bodies})


def _body(kind: str, field: str, text: str) -> Any:
    if kind == "turn.completed" and field == "error":
        return {"message": text}
    if field == "news":
        return [{"content": text}]
    if field == "choices":
        return [text]
    if kind.startswith("call.wait.") and field == "private":
        return {"continuation": text}
    return text if field in _TEXTS else {"text": text}


def _with_json(kind: str, field: str, value: Any) -> Event:
    if field in _TEXTS:
        return with_body(kind, field, str(value))
    if kind.startswith("call.wait."):
        value = {"private": {"continuation": value}, "choices": [str(value)]}[field]
    body = {"news": [value], "error": {"message": "m", "detail": value}}.get(field, value)
    return EVENT.validate_python({"type": kind, **_REST[kind], **_texts(kind), field: body})


def _texts(kind: str) -> dict[str, Any]:
    return {field: "short" for field in BODY_FIELDS[kind] if field in _TEXTS and kind[0] != "t"}


FIELDS = [(kind, field) for kind, fields in BODY_FIELDS.items() for field in fields]
EVENTS = st.builds(
    lambda place, text: with_body(place[0], place[1], text), st.sampled_from(FIELDS), TEXT
) | st.builds(
    lambda place, value: _with_json(place[0], place[1], value),
    st.sampled_from([place for place in FIELDS if place[0] != "turn.completed"]),
    JSON,
)
