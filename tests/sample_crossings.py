"""Sample events of sub-agents, of messages between sessions, and of runs and their guards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everturn.session.events.children import (
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentInterrupted,
    SubAgentPrivate,
    SubAgentRequested,
    SubAgentStarted,
    SubAgentTurnCompleted,
)
from everturn.session.events.guards import (
    GuardNoted,
    LoopDetected,
    ModelFellBack,
    NotedPrivate,
    OutputRejected,
    ToolBudgetExceeded,
)
from everturn.session.events.mail import (
    InboxDequeued,
    InboxDiscarded,
    InboxEnqueued,
    InboxUpdated,
    MessageRequested,
    OutboxDelivered,
)
from everturn.session.events.runs import RunRequested, SessionDescribed
from everturn.session.events.shape import Anchor, Retry, Usage
from everturn.session.events.stored import Event


def of_children(turn: str, id_of: Callable[[str], str], noon_ms: int) -> list[Event]:
    """Return one event of each kind that sub-agents and messages between sessions bring."""
    child: dict[str, Any] = {"id": "c9", "session_id": id_of("child"), "agent_id": "poet"}
    return [
        SubAgentRequested(
            turn_id=turn,
            **child,
            retry=Retry(timeout_secs=60, max_retries=3),
            anchor=Anchor(branch=0, depth=2),
            private=SubAgentPrivate(llm_call_id=id_of("call")),
        ),
        SubAgentDispatched(turn_id=turn, **child, attempt=1, deadline_ms=noon_ms),
        SubAgentErrored(
            turn_id=turn,
            **child,
            attempt=1,
            error="no",
            code="provider_error",
            detail={"reason": "busy"},
            retryable=True,
            next_attempt_at_ms=noon_ms,
        ),
        SubAgentStarted(turn_id=turn, **child, attempt=2),
        SubAgentInterrupted(
            turn_id=turn, id="c9", session_id=id_of("child"), interrupt_id="int-2", reason="confirm"
        ),
        SubAgentTurnCompleted(
            turn_id=turn, **child, result="Soft rain", cost="0.5", usage=Usage(input_tokens=3)
        ),
        MessageRequested(
            turn_id=turn,
            target="s9",
            message_id="m9",
            message={"id": "m9", "role": "user", "content": "rain"},
        ),
        OutboxDelivered(entry=7, outcome="refused", code="unknown_session"),
        InboxEnqueued(
            turn_id="t9", item_id="i9", message={"id": "m8", "role": "user", "content": "sun"}
        ),
        InboxDequeued(turn_id="t9", item_id="i9"),
        InboxDiscarded(turn_id="t9", item_id="i8", reason="turn_cancelled"),
        InboxUpdated(
            turn_id="t9", item_id="i9", message={"id": "m8", "role": "user", "content": "fog"}
        ),
    ]


def of_runs(turn: str, call: str) -> list[Event]:
    """Return one event of each kind that runs and their guards bring."""
    noted = NotedPrivate(
        signature="5f2c", streak=3, tool_turns=4, calls={"recall": 5}, skips=True, exceeded=("c1",)
    )
    return [
        SessionDescribed(description={"spec": {"systemPrompt": "Be kind."}, "name": "desk"}),
        RunRequested(
            turn_id=turn,
            run={"spec": {"prompt": "rain?"}, "metadata": {"customer": "acme"}},
            config={"model": "demo:demo"},
            messages=[{"id": "m1", "role": "user", "content": "rain?"}],
        ),
        GuardNoted(turn_id=turn, id=call, private=noted),
        LoopDetected(turn_id=turn, consecutive_count=3, hard_cutoff=False, tools=("recall",)),
        ToolBudgetExceeded(turn_id=turn, tool="recall", call_id="c1", max_calls=4, call_index=5),
        OutputRejected(turn_id=turn, id=call, problem="/: is no JSON", attempt=1),
        ModelFellBack(turn_id=turn, id=call, from_model="demo:demo", to_model="demo:other"),
    ]
