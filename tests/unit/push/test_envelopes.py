"""E-1, E-4, E-7 and "Streams": what of a stored event is shown, and the cursors of a stream."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from everturn.ports.sessions import Logged
from everturn.ports.streams import Delta, Watcher
from everturn.push.envelopes import Cursor, delta_payload, envelopes, payload, read_cursor
from everturn.push.frames import event_frame
from everturn.push.subscriptions import event_pushes
from everturn.rejections import InvalidId
from everturn.session.events.decisions import DecisionCompleted
from everturn.session.events.messages import AgentPrivate, AgentUpdated, StateUpdated
from everturn.session.events.sessions import SessionDone, TurnStalled
from everturn.session.events.stored import Event
from sample_events import AGENT, NOON_MS, id_of, plain_turn, what_a_plain_turn_lacks

NOON = "2026-01-01T12:00:00.000Z"
LATER = "2026-01-01T12:05:00.000Z"
T = id_of("turn")
LLM, TOOL = id_of("call"), id_of("tool")
FIRST, SECOND, THIRD, FOURTH = (id_of(f"d{n}") for n in range(1, 5))
PLACE = {"branch": 0, "depth": 2}
STEP = {"turn_id": T, "step": 1, "call_id": LLM, "attempt": 1}
USED = {"input_tokens": 42, "output_tokens": 9}
TOOL_ENDED = {"id": TOOL, "name": "get_weather", "attempt": 1}
ANSWER = {"id": id_of("a"), "role": "assistant", "content": "The capital of France is Paris."}
HEADER = {"config": {"provider": "demo", "model": "echo"}, "system": AGENT["system"]}
FREE = {"cost": "0", "sub_agent_cost": "0"}

SHOWN_OF_A_PLAIN_TURN: list[dict[str, Any]] = [
    {"session_id": "s1", "agent_id": "helper", "owner": {"id": "default"}, "ancestry": []},
    {"turn_id": T, "reason": "submit", "input_type": "message"},
    {"id": FIRST, "trigger_type": "session.start"},
    {"id": FIRST, "attempt": 1},
    {"agent": AGENT},
    {"id": SECOND, "trigger_type": "input.message"},
    {"id": SECOND, "attempt": 1},
    {"turn_id": T, "turn": 1, "trigger": "user"},
    {},
    {"header": HEADER, "reason": "initial"},
    {"provider": "demo", "model": "echo", "context_window": 32_000},
    {
        "id": LLM,
        "model": "demo:echo",
        "handler": "server",
        "stream": True,
        "retry": {
            "timeout_secs": 300,
            "max_retries": 3,
            "backoff_base_secs": 1,
            "backoff_max_secs": 30,
        },
        "anchor": {"branch": 0, "depth": 1},
    },
    {"id": LLM, "attempt": 1, "deadline": LATER},
    STEP,
    {"id": LLM, "attempt": 1, "message": ANSWER, "finish_reason": "stop", "usage": USED},
    {"id": THIRD, "trigger_type": "llm.finished", "call_id": LLM},
    {"id": THIRD, "attempt": 1},
    {"parent_id": id_of("q")},
    STEP,
    {"turn_id": T, "outcome": "done", "usage": USED, **FREE},
    {},
]
"""Of events whose bodies are not in their places."""

CHILD = {"id": "c9", "session_id": id_of("child"), "agent_id": "poet"}

SHOWN_OF_THE_OTHERS: list[dict[str, Any]] = [
    {"turn_id": T, "reason": "submit", "input_type": "client.message"},
    {"turn_id": T},
    {
        "turn_id": T,
        "outcome": "failed",
        "error": {"message": "no", "code": "refused"},
        "cost": "1.5",
        "sub_agent_cost": "0",
        "usage": {"input_tokens": 0, "output_tokens": 0},
    },
    {"state": {"a": 1}, "anchor": PLACE},
    {"id": LLM, "attempt": 2, "cost": "0.1"},
    {
        "id": LLM,
        "attempt": 1,
        "error": "busy",
        "code": "provider_error",
        "detail": {"reason": "overloaded"},
        "retryable": True,
        "next_attempt_at": NOON,
    },
    {"id": LLM, "attempt": 1, "partial_text": "Hel"},
    {
        "id": TOOL,
        "name": "get_weather",
        "arguments": "{}",
        "handler": "worker",
        "retry": {
            "timeout_secs": 60,
            "max_retries": 1,
            "backoff_base_secs": 0,
            "backoff_max_secs": 0,
        },
        "anchor": PLACE,
        "llm_call_id": LLM,
    },
    {"id": TOOL, "attempt": 1},
    {**TOOL_ENDED, "result": "42"},
    {**TOOL_ENDED, "error": "no", "retryable": False},
    {"id": TOOL, "kind": "tool_call", "reason": "turn_failed"},
    {"id": TOOL, "attempt": 1, "reason": "late"},
    {"id": FOURTH, "attempt": 1, "deadline": NOON},
    {"id": FOURTH, "attempt": 2},
    {
        "id": FOURTH,
        "attempt": 1,
        "error": "cut",
        "code": "stream_ended",
        "retryable": True,
        "next_attempt_at": NOON,
    },
    {"id": FOURTH, "reason": "attempt_lapsed"},
    {"id": FOURTH, "attempt": 1},
    {"alias": "t1b"},
    {
        "interrupt_id": "int-1",
        "origin": "frontend",
        "reason": "confirm",
        "payload": {"amount": 120},
        "anchor": {"branch": 0, "depth": 2},
        "subject_call": TOOL,
    },
    {"interrupt_id": "int-1", "payload": {"confirmed": True}},
    {"cause": "user"},
    {"cause": "parent"},
    {"from": SECOND, "to": FIRST},
    {
        **CHILD,
        "retry": {
            "timeout_secs": 60,
            "max_retries": 3,
            "backoff_base_secs": 0,
            "backoff_max_secs": 0,
        },
        "anchor": PLACE,
    },
    {**CHILD, "attempt": 1, "deadline": NOON},
    {
        **CHILD,
        "attempt": 1,
        "error": "no",
        "code": "provider_error",
        "detail": {"reason": "busy"},
        "retryable": True,
        "next_attempt_at": NOON,
    },
    {**CHILD, "attempt": 2},
    {"id": "c9", "session_id": id_of("child"), "interrupt_id": "int-2", "reason": "confirm"},
    {
        **CHILD,
        "result": "Soft rain",
        "cost": "0.5",
        "usage": {"input_tokens": 3, "output_tokens": 0},
    },
    {"target": "s9", "message_id": "m9"},
    {"entry": 7, "outcome": "refused", "code": "unknown_session"},
    {
        "item_id": "i9",
        "message": {"id": "m8", "role": "user", "content": "sun"},
        "placement": "queued",
        "wakeup": True,
    },
    {"item_id": "i9"},
    {"item_id": "i8", "reason": "turn_cancelled"},
    {"item_id": "i9", "message": {"id": "m8", "role": "user", "content": "fog"}},
    {"description": {"spec": {"systemPrompt": "Be kind."}, "name": "desk"}},
    {"run": {"spec": {"prompt": "rain?"}, "metadata": {"customer": "acme"}}},
    {"id": LLM},
    {"consecutive_count": 3, "hard_cutoff": False, "tools": ["recall"]},
    {"tool": "recall", "call_id": "c1", "max_calls": 4, "call_index": 5},
    {"id": LLM, "problem": "/: is no JSON", "attempt": 1},
    {"id": LLM, "from_model": "demo:demo", "to_model": "demo:other"},
    {},
    {},
    {
        "id": "c1-input-1",
        "kind": "question",
        "call_id": "c1",
        "name": "book",
        "question": "Which day?",
        "choices": ["today", "tomorrow"],
        "allows_free_text": False,
        "deadline": NOON,
    },
    {
        "id": "c1-task-1",
        "kind": "task",
        "call_id": "c1",
        "name": "book",
        "task_id": "job-7",
        "poll_interval_seconds": 5,
        "next_poll_at": NOON,
    },
    {
        "id": "c1-task-1",
        "kind": "task",
        "call_id": "c1",
        "poll_interval_seconds": 60,
        "next_poll_at": NOON,
    },
    {
        "id": "c1-input-1",
        "kind": "question",
        "call_id": "c1",
        "outcome": "answered",
        "answer": "today",
    },
]

ASKED, ANSWERED = plain_turn("s1")
CASES: list[tuple[Event, dict[str, Any]]] = [
    *zip([*ASKED, *ANSWERED], SHOWN_OF_A_PLAIN_TURN, strict=True),
    *zip(what_a_plain_turn_lacks(), SHOWN_OF_THE_OTHERS, strict=True),
]


@pytest.mark.parametrize(("event", "shown"), CASES, ids=lambda one: getattr(one, "type", ""))
def test_a_payload_has_what_is_public_and_nothing_else(event: Event, shown: dict[str, Any]) -> None:
    assert payload(event) == {"type": event.type, **shown}


def test_every_kind_of_event_is_shown_here() -> None:
    assert {type(event) for event, _ in CASES} == set(get_args(Event))


def logged(*events: Event, first_seq: int) -> Logged:
    last_seq = first_seq + len(events) - 1
    return Logged(first_seq, last_seq, "id", NOON_MS, "http_api", 1, "created", events)


def test_an_envelope_names_session_place_time_and_turn() -> None:
    found = envelopes("s1", logged(TurnStalled(turn_id=T), DecisionCompleted(id="d"), first_seq=7))

    assert found == [
        {
            "session_id": "s1",
            "seq": 7,
            "occurred_at": NOON,
            "turn_id": T,
            "payload": {"type": "turn.stalled", "turn_id": T},
        },
        {
            "session_id": "s1",
            "seq": 8,
            "occurred_at": NOON,
            "payload": {"type": "decision.completed", "id": "d", "attempt": 1},
        },
    ]


@pytest.mark.parametrize("turn_id", ["t1", ""])
def test_a_piece_of_an_answer_is_a_frame_of_its_own(turn_id: str) -> None:
    delta = Delta(13, 2, "l1", 1, turn_id, {"text": "Hi"})

    shown = delta_payload("s1", "helper", delta)

    named = {"turn_id": turn_id} if turn_id else {}
    assert shown == {
        "type": "llm.token.delta",
        "session_id": "s1",
        "agent_id": "helper",
        **named,
        "call_id": "l1",
        "attempt": 1,
        "seq": 2,
        "text": "Hi",
    }


@pytest.mark.parametrize(
    ("text", "cursor"),
    [("5.3-2", Cursor(5, 3, 2)), ("0.0-0", Cursor()), ("5", Cursor(5, 5, 0))],
)
def test_a_cursor_is_read_and_a_bare_number_is_an_event_without_older_pieces(
    text: str, cursor: Cursor
) -> None:
    assert read_cursor(text) == cursor


@pytest.mark.parametrize("text", ["", "x", "5.", "5.3", "5.3-", "-1", "5.3-2.1", "1" * 16, "5\n"])
def test_a_cursor_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidId):
        read_cursor(text)


def test_a_subscription_to_a_turn_is_pushed_a_chain_of_its_own() -> None:
    commit = logged(
        TurnStalled(turn_id=T), DecisionCompleted(id="d"), SessionDone(turn_id=T), first_seq=7
    )

    whole = event_pushes("s1", commit, Watcher("c1", "a"), Cursor(0, 3, 2))
    scoped = event_pushes("s1", commit, Watcher("c1", "b", T), Cursor(0, 3, 2))
    other = event_pushes("s1", commit, Watcher("c1", "c", "t2"), Cursor(0, 3, 2))

    assert [(push.prev_seq, push.seq) for push in whole] == [(6, 7), (7, 8), (8, 9)]
    assert [(push.prev_seq, push.seq) for push in scoped] == [(6, 7), (7, 9)]
    assert [push.cursor for push in scoped] == ["7.3-2", "9.3-2"]
    assert [(push.prev_seq, push.seq, push.envelope) for push in other] == [(6, 9, None)]


def test_a_token_is_pushed_a_chain_without_what_is_for_keys() -> None:
    """E-8: each place that is left out is accounted for, so that nothing looks missing."""
    commit = logged(
        DecisionCompleted(id="d"),
        TurnStalled(turn_id=T),
        StateUpdated(state={"secret": 1}),
        AgentUpdated(agent={"system": "secret"}, private=AgentPrivate(sha256="0")),
        first_seq=7,
    )

    pushes = event_pushes("s1", commit, Watcher("c1", "a", frontend=True), Cursor(0, 3, 2))

    assert [(push.prev_seq, push.seq) for push in pushes] == [(6, 8), (8, 10)]
    assert [push.envelope is None for push in pushes] == [False, True]
    frame = json.loads(event_frame(pushes[1]))
    assert frame == {
        "type": "skipped",
        "id": "a",
        "session_id": "s1",
        "seq": 10,
        "prev_seq": 8,
        "cursor": "10.3-2",
    }
