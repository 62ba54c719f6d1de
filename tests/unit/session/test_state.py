"""What is asked of a folded session."""

from __future__ import annotations

from typing import Literal

import pytest

from everturn.session.events.shape import Retry
from everturn.session.state import (
    Call,
    CallStatus,
    Decision,
    Session,
    Turn,
    is_quiescent,
    status_of,
)

TURN = Turn("t1", 1, 2)
DECISION = Decision("d1", "tool.execute", 9)


def call(handler: Literal["server", "worker", "client"], status: CallStatus) -> Call:
    """Return an open tool call."""
    return Call("c1", "tool_call", 9, Retry(), status, handler=handler)


@pytest.mark.parametrize(
    ("session", "status"),
    [
        (Session(), "idle"),
        (Session(last_outcome="done"), "done"),
        (Session(last_outcome="failed"), "idle"),
        (Session(turn=TURN), "idle"),
        (Session(turn=TURN, last_outcome="done"), "idle"),
        (Session(turn=TURN, decisions=(DECISION,)), "active"),
        (Session(turn=TURN, calls=(call("client", CallStatus.PENDING),)), "idle"),
        *(
            (Session(turn=TURN, calls=(call(handler, status),)), "active")
            for handler in ("server", "worker")
            for status in CallStatus
        ),
    ],
)
def test_the_status_is_the_first_that_matches(session: Session, status: str) -> None:
    """S-6, S-7."""
    assert status_of(session) == status


@pytest.mark.parametrize(
    ("session", "quiescent"),
    [
        (Session(), False),
        (Session(turn=TURN), True),
        (Session(turn=TURN, decisions=(DECISION,)), False),
        (Session(turn=TURN, calls=(call("client", CallStatus.PENDING),)), False),
    ],
)
def test_a_turn_that_waits_for_nothing_is_quiescent(session: Session, quiescent: bool) -> None:
    """T-9."""
    assert is_quiescent(session) is quiescent


def test_model_calls_are_not_pending_calls() -> None:
    """Q-4."""
    model = Call("m1", "llm_call", 9, Retry())
    session = Session(calls=(model, call("worker", CallStatus.QUEUED)), decisions=(DECISION,))

    assert session.pending_calls == 1
    assert session.call("m1") == model
    assert session.call("d1") is None
    assert session.decision("d1") == DECISION
    assert session.decision("m1") is None
