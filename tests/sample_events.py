"""Events of every kind, and sessions and commits made of them: the samples that tests share.

No test lives here.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from typing import Any

from everturn.ports.sessions import Head, NewCommit, SessionKey
from everturn.session.events.decisions import (
    AsOf,
    DecisionCompleted,
    DecisionDeferred,
    DecisionDispatched,
    DecisionDropped,
    DecisionErrored,
    DecisionPrivate,
    DecisionQueued,
    ErroredPrivate,
)
from everturn.session.events.interrupts import InterruptResumed, SessionInterrupted
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
    SessionCancelled,
    SessionCreated,
    SessionDone,
    StepEnded,
    StepStarted,
    TurnAdmitted,
    TurnCancelRequested,
    TurnCompleted,
    TurnContinued,
    TurnFailure,
    TurnParked,
    TurnStalled,
    TurnStarted,
    TurnUnparked,
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
    VoidedPrivate,
)
from everturn.session.events.tree import Fork, HeadMoved, MovedPrivate
from everturn.session.events.waits import WaitClosed, WaitExtended, WaitOpened, WaitPrivate
from everturn.session.evolve import fold
from everturn.session.refs import same_as
from everturn.session.state import Session
from sample_crossings import of_children, of_runs

NOON_MS = 1_767_268_800_000
"""2026-01-01T12:00:00Z."""

CREATED = "0198f000-0000-7000-8000-00000000c0de"


def id_of(name: str) -> str:
    """Return a uuid for a name, the same every time."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def sha_of(name: str) -> str:
    """Return a hash for a name."""
    return hashlib.sha256(name.encode()).hexdigest()


def commit(
    key: SessionKey, before: Head | None, events: Sequence[Event], name: str = "", **more: Any
) -> NewCommit:
    """Return a commit of `events`; `name` makes its id its own."""
    seq = before.session.seq if before else 0
    values: dict[str, Any] = {
        "commit_id": id_of(f"{key} {seq} {name}"),
        "at_ms": NOON_MS + 1000 * seq,
        "by": "http_api",
        "created": CREATED,
    }
    return NewCommit(
        key=key,
        before=before,
        after=fold(events, before.session if before else Session()),
        events=tuple(events),
        **(values | more),
    )


def created(session_id: str) -> SessionCreated:
    return SessionCreated(session_id=session_id, agent_id="helper", owner=Owner(id="default"))


def message(name: str, depth: int = 1, content: str = "Hello.", **more: Any) -> MessageNew:
    body = {"id": id_of(name), "role": "user", "content": content}
    private = MessagePrivate(source=MessageSource(kind="user"), depth=depth, size_bytes=90)
    return MessageNew(id=id_of(name), message=body, private=private, **more)


def tool_call(name: str, arguments: str = "{}") -> ToolCallRequested:
    return ToolCallRequested(
        id=id_of(name),
        name="get_weather",
        arguments=arguments,
        retry=Retry(timeout_secs=60),
        anchor=Anchor(branch=0, depth=2),
        llm_call_id=id_of("call"),
        turn_id=id_of("turn"),
    )


AGENT = {
    "model": "demo:echo",
    "system": "You are a helpful assistant. Answer in one short paragraph.",
    "stream": True,
}


def plain_turn(session_id: str) -> tuple[list[Event], list[Event]]:
    """Return the two commits of a turn without tools on an engine-decided agent."""
    turn, call = id_of("turn"), id_of("call")
    first, second, third = id_of("d1"), id_of("d2"), id_of("d3")
    question = {"id": id_of("q"), "role": "user", "content": "What is the capital of France?"}
    answer = {"id": id_of("a"), "role": "assistant", "content": "The capital of France is Paris."}
    header = {
        "config": {"provider": "demo", "model": "echo"},
        "system": AGENT["system"],
    }
    of_user = MessagePrivate(source=MessageSource(kind="user"), depth=1, size_bytes=104)
    of_model = MessagePrivate(
        source=MessageSource(kind="model", provider="demo", model="echo"),
        depth=2,
        parent_seq=9,
        size_bytes=110,
    )
    used = Usage(input_tokens=42, output_tokens=9)
    asked: list[Event] = [
        created(session_id),
        TurnStarted(turn_id=turn, input_type="message"),
        DecisionQueued(turn_id=turn, id=first, trigger_type="session.start"),
        DecisionCompleted(turn_id=turn, id=first),
        AgentUpdated(turn_id=turn, agent=AGENT, private=AgentPrivate(sha256=sha_of("agent"))),
        DecisionQueued(turn_id=turn, id=second, trigger_type="input.message", news=[question]),
        DecisionCompleted(turn_id=turn, id=second),
        TurnAdmitted(turn_id=turn, turn=1, trigger="user"),
        MessageNew(
            turn_id=turn,
            id=question["id"],
            private=of_user,
            refs={"message": same_as(6, "news.0")},
        ),
        RequestHeader(turn_id=turn, header=header, reason="initial", sha256=sha_of("header")),
        RequestContext(turn_id=turn, provider="demo", model="echo", context_window=32_000),
        ModelCallRequested(
            turn_id=turn,
            id=call,
            model="demo:echo",
            stream=True,
            retry=Retry(timeout_secs=300, max_retries=3, backoff_base_secs=1, backoff_max_secs=30),
            anchor=Anchor(branch=0, depth=1),
            private=RequestPrivate(
                header_seq=10,
                boundary=Boundary(head_id=question["id"], head_seq=9, from_seq=1),
                derivation=1,
                request_sha256=sha_of("request"),
            ),
        ),
        ModelCallDispatched(turn_id=turn, id=call, attempt=1, deadline_ms=NOON_MS + 300_000),
        StepStarted(turn_id=turn, step=1, call_id=call, attempt=1),
    ]
    answered: list[Event] = [
        ModelCallCompleted(
            turn_id=turn, id=call, attempt=1, message=answer, finish_reason="stop", usage=used
        ),
        DecisionQueued(turn_id=turn, id=third, trigger_type="llm.finished", call_id=call),
        DecisionCompleted(turn_id=turn, id=third),
        MessageNew(
            turn_id=turn,
            id=answer["id"],
            parent_id=question["id"],
            private=of_model,
            refs={"message": same_as(15, "message")},
        ),
        StepEnded(turn_id=turn, step=1, call_id=call, attempt=1),
        TurnCompleted(turn_id=turn, outcome="done", usage=used, cost="0"),
        SessionDone(turn_id=turn),
    ]
    return asked, answered


def what_a_plain_turn_lacks() -> list[Event]:
    """Return one event of each kind that `plain_turn` has none of, and forms that it lacks."""
    turn, call, asked = id_of("turn"), id_of("call"), id_of("d4")
    failure = TurnFailure(message="no", code="refused")
    later: dict[str, Any] = {"retryable": True, "next_attempt_at_ms": NOON_MS}
    return [
        TurnStarted(turn_id=turn, input_type="client.message", stream=True),
        TurnStalled(turn_id=turn),
        TurnCompleted(turn_id=turn, outcome="failed", error=failure, cost="1.5"),
        StateUpdated(turn_id=turn, state={"a": 1}, anchor=Anchor(branch=0, depth=2)),
        ModelCallCompleted(turn_id=turn, id=call, attempt=2, cost="0.1", private={"blocks": []}),
        ModelCallErrored(
            turn_id=turn,
            id=call,
            attempt=1,
            error="busy",
            code="provider_error",
            detail={"reason": "overloaded"},
            **later,
        ),
        ModelCallAborted(turn_id=turn, id=call, attempt=1, partial_text="Hel"),
        tool_call("tool"),
        ToolCallDispatched(turn_id=turn, id=id_of("tool"), attempt=1),
        ToolCallCompleted(
            turn_id=turn, id=id_of("tool"), name="get_weather", attempt=1, result="42"
        ),
        ToolCallErrored(
            turn_id=turn,
            id=id_of("tool"),
            name="get_weather",
            attempt=1,
            error="no",
            retryable=False,
        ),
        CallVoided(
            turn_id=turn,
            id=id_of("tool"),
            kind="tool_call",
            reason="turn_failed",
            private=VoidedPrivate(outcome_unknown=True),
        ),
        SettleIgnored(turn_id=turn, id=id_of("tool"), attempt=1, reason="late"),
        DecisionDispatched(
            turn_id=turn,
            id=asked,
            attempt=1,
            deadline_ms=NOON_MS,
            private=DecisionPrivate(started_ms=1, as_of=AsOf(seq=3)),
        ),
        DecisionCompleted(turn_id=turn, id=asked, attempt=2),
        DecisionErrored(
            turn_id=turn,
            id=asked,
            attempt=1,
            error="cut",
            code="stream_ended",
            private=ErroredPrivate(invalid=True),
            **later,
        ),
        DecisionDropped(turn_id=turn, id=asked, reason="attempt_lapsed"),
        DecisionDeferred(turn_id=turn, id=asked, attempt=1),
        TurnContinued(turn_id=turn, alias="t1b"),
        SessionInterrupted(
            turn_id=turn,
            interrupt_id="int-1",
            origin="frontend",
            reason="confirm",
            payload={"amount": 120},
            anchor=Anchor(branch=0, depth=2),
            subject_call=id_of("tool"),
        ),
        InterruptResumed(turn_id=turn, interrupt_id="int-1", payload={"confirmed": True}),
        TurnCancelRequested(turn_id=turn, cause="user"),
        SessionCancelled(cause="parent"),
        HeadMoved(
            turn_id=turn,
            from_=id_of("d2"),
            to=id_of("d1"),
            private=MovedPrivate(seq=1, depth=1, fork=Fork(branch=1)),
        ),
        *of_children(turn, id_of, NOON_MS),
        *of_runs(turn, call),
        TurnParked(turn_id=turn),
        TurnUnparked(turn_id=turn),
        WaitOpened(
            turn_id=turn,
            id="c1-input-1",
            kind="question",
            call_id="c1",
            name="book",
            question="Which day?",
            choices=("today", "tomorrow"),
            allows_free_text=False,
            deadline_ms=NOON_MS,
            private=WaitPrivate(continuation={"step": 2}),
        ),
        WaitOpened(
            turn_id=turn,
            id="c1-task-1",
            kind="task",
            call_id="c1",
            name="book",
            task_id="job-7",
            poll_interval_seconds=5,
            next_poll_at_ms=NOON_MS,
        ),
        WaitExtended(
            turn_id=turn,
            id="c1-task-1",
            kind="task",
            call_id="c1",
            poll_interval_seconds=60,
            next_poll_at_ms=NOON_MS,
            private=WaitPrivate(continuation="half"),
        ),
        WaitClosed(
            turn_id=turn,
            id="c1-input-1",
            kind="question",
            call_id="c1",
            outcome="answered",
            answer="today",
        ),
    ]
