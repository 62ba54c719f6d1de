"""E-1, E-4, E-7 and "Streams": what of a stored event is shown, and the cursors of a stream."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from everturn.ports.sessions import Logged
from everturn.ports.streams import Delta, Watcher
from everturn.push.envelopes import Cursor, delta_payload, envelopes, payload, read_cursor
from everturn.push.subscriptions import event_pushes
from everturn.rejections import InvalidId
from everturn.session.events.decisions import (
    AsOf,
    DecisionCompleted,
    DecisionDispatched,
    DecisionDropped,
    DecisionErrored,
    DecisionPrivate,
    DecisionQueued,
    ErroredPrivate,
)
from everturn.session.events.messages import (
    AgentPrivate,
    AgentUpdated,
    MessageNew,
    MessagePrivate,
    MessageSource,
    StateUpdated,
)
from everturn.session.events.model_calls import (
    Boundary,
    ModelCallAborted,
    ModelCallCompleted,
    ModelCallDispatched,
    ModelCallErrored,
    ModelCallRequested,
    RequestContext,
    RequestHeader,
    RequestPrivate,
)
from everturn.session.events.sessions import (
    Owner,
    SessionCreated,
    SessionDone,
    StepEnded,
    StepStarted,
    TurnAdmitted,
    TurnCompleted,
    TurnFailure,
    TurnStalled,
    TurnStarted,
)
from everturn.session.events.shape import Anchor, Retry, Usage
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import (
    CallVoided,
    SettleIgnored,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
    ToolPrivate,
    VoidedPrivate,
)

NOON_MS = 1_767_268_800_000
NOON = "2026-01-01T12:00:00.000Z"
T = "t1"
RETRY = Retry(timeout_secs=60, max_retries=3, backoff_base_secs=2, backoff_max_secs=60)
SHOWN_RETRY = {
    "timeout_secs": 60,
    "max_retries": 3,
    "backoff_base_secs": 2,
    "backoff_max_secs": 60,
}
ANCHOR = Anchor(branch=0, depth=2)
SHOWN_ANCHOR = {"branch": 0, "depth": 2}
MESSAGE = {"id": "m1", "role": "user", "content": "Hello"}
USAGE = Usage(input_tokens=3, output_tokens=2)
SHOWN_USAGE = {"input_tokens": 3, "output_tokens": 2}
HEADER = {"config": {"provider": "demo", "model": "demo"}}

CASES: list[tuple[Event, dict[str, Any]]] = [
    (
        SessionCreated(session_id="s1", agent_id="helper", owner=Owner(id="u1")),
        {"session_id": "s1", "agent_id": "helper", "owner": {"id": "u1"}, "ancestry": []},
    ),
    (
        TurnStarted(turn_id=T, input_type="client.message", stream=True),
        {"turn_id": T, "reason": "submit", "input_type": "client.message"},
    ),
    (
        TurnAdmitted(turn_id=T, turn=1, trigger="client.message"),
        {"turn_id": T, "turn": 1, "trigger": "client.message"},
    ),
    (TurnStalled(turn_id=T), {"turn_id": T}),
    (
        TurnCompleted(turn_id=T, outcome="done", data="Hi", usage=USAGE),
        {
            "turn_id": T,
            "outcome": "done",
            "data": "Hi",
            "cost": "0",
            "sub_agent_cost": "0",
            "usage": SHOWN_USAGE,
        },
    ),
    (
        TurnCompleted(
            turn_id=T, outcome="failed", error=TurnFailure(message="no", code="refused"), cost="1.5"
        ),
        {
            "turn_id": T,
            "outcome": "failed",
            "error": {"message": "no", "code": "refused"},
            "cost": "1.5",
            "sub_agent_cost": "0",
            "usage": {"input_tokens": 0, "output_tokens": 0},
        },
    ),
    (SessionDone(turn_id=T), {}),
    (
        StepStarted(turn_id=T, step=1, call_id="l1", attempt=1),
        {"turn_id": T, "step": 1, "call_id": "l1", "attempt": 1},
    ),
    (
        StepEnded(turn_id=T, step=1, call_id="l1", attempt=1),
        {"turn_id": T, "step": 1, "call_id": "l1", "attempt": 1},
    ),
    (
        MessageNew(
            turn_id=T,
            id="m1",
            message=MESSAGE,
            parent_id="m0",
            private=MessagePrivate(source=MessageSource(kind="user"), depth=2, size_bytes=44),
        ),
        {"message": MESSAGE, "parent_id": "m0"},
    ),
    (
        AgentUpdated(agent={"model": "demo:demo"}, private=AgentPrivate(sha256="x")),
        {"agent": {"model": "demo:demo"}},
    ),
    (
        StateUpdated(turn_id=T, state={"a": 1}, anchor=ANCHOR),
        {"state": {"a": 1}, "anchor": SHOWN_ANCHOR},
    ),
    (
        RequestHeader(turn_id=T, header=HEADER, reason="initial", sha256="x"),
        {"header": HEADER, "reason": "initial"},
    ),
    (
        RequestContext(turn_id=T, provider="demo", model="demo", context_window=128_000),
        {"provider": "demo", "model": "demo", "context_window": 128_000},
    ),
    (
        ModelCallRequested(
            turn_id=T,
            id="l1",
            model="demo:demo",
            retry=RETRY,
            anchor=ANCHOR,
            private=RequestPrivate(
                header_seq=1,
                boundary=Boundary(head_id="m1", head_seq=2, from_seq=1),
                derivation=1,
                request_sha256="x",
            ),
        ),
        {
            "id": "l1",
            "model": "demo:demo",
            "handler": "server",
            "stream": False,
            "retry": SHOWN_RETRY,
            "anchor": SHOWN_ANCHOR,
        },
    ),
    (
        ModelCallDispatched(turn_id=T, id="l1", attempt=1, deadline_ms=NOON_MS),
        {"id": "l1", "attempt": 1, "deadline": NOON},
    ),
    (
        ModelCallCompleted(
            turn_id=T,
            id="l1",
            attempt=1,
            message=MESSAGE,
            finish_reason="stop",
            usage=USAGE,
            cost="0.1",
            private={"blocks": []},
        ),
        {
            "id": "l1",
            "attempt": 1,
            "message": MESSAGE,
            "finish_reason": "stop",
            "usage": SHOWN_USAGE,
            "cost": "0.1",
        },
    ),
    (
        ModelCallErrored(
            turn_id=T,
            id="l1",
            attempt=1,
            error="busy",
            code="provider_error",
            detail={"reason": "overloaded"},
            retryable=True,
            next_attempt_at_ms=NOON_MS,
        ),
        {
            "id": "l1",
            "attempt": 1,
            "error": "busy",
            "code": "provider_error",
            "detail": {"reason": "overloaded"},
            "retryable": True,
            "next_attempt_at": NOON,
        },
    ),
    (
        ModelCallAborted(turn_id=T, id="l1", attempt=1, partial_text="Hel"),
        {"id": "l1", "attempt": 1, "partial_text": "Hel"},
    ),
    (
        ToolCallRequested(
            turn_id=T,
            id="c1",
            name="look",
            arguments="{}",
            retry=RETRY,
            anchor=ANCHOR,
            llm_call_id="l1",
            private=ToolPrivate(effect="read", overlap=True),
        ),
        {
            "id": "c1",
            "name": "look",
            "arguments": "{}",
            "handler": "worker",
            "retry": SHOWN_RETRY,
            "anchor": SHOWN_ANCHOR,
            "llm_call_id": "l1",
        },
    ),
    (ToolCallDispatched(turn_id=T, id="c1", attempt=1), {"id": "c1", "attempt": 1}),
    (
        ToolCallCompleted(turn_id=T, id="c1", name="look", attempt=1, result="42"),
        {"id": "c1", "name": "look", "attempt": 1, "result": "42"},
    ),
    (
        ToolCallErrored(turn_id=T, id="c1", name="look", attempt=1, error="no", retryable=False),
        {"id": "c1", "name": "look", "attempt": 1, "error": "no", "retryable": False},
    ),
    (
        CallVoided(
            turn_id=T,
            id="c1",
            kind="tool_call",
            reason="turn_failed",
            private=VoidedPrivate(outcome_unknown=True),
        ),
        {"id": "c1", "kind": "tool_call", "reason": "turn_failed"},
    ),
    (
        SettleIgnored(turn_id=T, id="c1", attempt=1, reason="late"),
        {"id": "c1", "attempt": 1, "reason": "late"},
    ),
    (
        DecisionQueued(
            turn_id=T, id="d1", trigger_type="tool.execute", call_id="c1", news=[MESSAGE]
        ),
        {"id": "d1", "trigger_type": "tool.execute", "call_id": "c1"},
    ),
    (
        DecisionDispatched(
            turn_id=T,
            id="d1",
            attempt=1,
            deadline_ms=NOON_MS,
            private=DecisionPrivate(started_ms=1, as_of=AsOf(seq=3)),
        ),
        {"id": "d1", "attempt": 1, "deadline": NOON},
    ),
    (DecisionCompleted(turn_id=T, id="d1"), {"id": "d1", "attempt": 1}),
    (DecisionCompleted(turn_id=T, id="d1", attempt=2), {"id": "d1", "attempt": 2}),
    (
        DecisionErrored(
            turn_id=T,
            id="d1",
            attempt=1,
            error="cut",
            code="stream_ended",
            retryable=True,
            next_attempt_at_ms=NOON_MS,
            private=ErroredPrivate(invalid=True),
        ),
        {
            "id": "d1",
            "attempt": 1,
            "error": "cut",
            "code": "stream_ended",
            "retryable": True,
            "next_attempt_at": NOON,
        },
    ),
    (
        DecisionDropped(turn_id=T, id="d1", reason="attempt_lapsed"),
        {"id": "d1", "reason": "attempt_lapsed"},
    ),
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
    assert other == []
