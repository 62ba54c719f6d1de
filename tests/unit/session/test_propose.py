"""What the world should be doing for a session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everturn.session.commands import LeftOpen
from everturn.session.events.shape import Retry
from everturn.session.propose import (
    CallModel,
    DeliverToWorker,
    Proposals,
    due_epoch_s,
    propose,
)
from everturn.session.state import Call, CallStatus, Decision, Session
from unit.session.building import NOON_MS, Story, made

NOON_S = NOON_MS // 1000


def test_an_empty_session_wants_nothing() -> None:
    assert propose(Session()) == Proposals((), None)


def test_model_calls_run_one_at_a_time() -> None:
    """L-8."""
    one = Call("m1", "llm_call", 1, Retry(), CallStatus.PENDING, 2)
    queued = replace(one, id="m0", status=CallStatus.QUEUED)
    workers = replace(one, id="m3", handler="worker")
    session = Session(calls=(queued, one, workers, replace(one, id="m2")))

    assert propose(session).effects == (CallModel("m1", 2),)


def test_a_running_model_call_is_due_at_its_deadline() -> None:
    story = Story()
    story.submit()
    call = story.model_call

    proposals = propose(story.session)

    assert proposals == Proposals((CallModel(call.id, 1),), NOON_MS + 180_000, f"{call.id}/1")
    assert propose(story.session).effects


def test_a_live_delivery_runs_and_a_waiting_one_is_due() -> None:
    story = Story()
    story.submit()
    story.answer("", made("a"), made("b"))
    story.lose("b")
    first, second = story.session.decisions

    proposals = propose(story.session)

    assert proposals.effects == (DeliverToWorker(first.id, 1, "a"),)
    assert (proposals.next_due_ms, proposals.due_subject) == (NOON_MS + 2000, f"{second.id}/1")


def test_the_earliest_moment_counts() -> None:
    story = Story()
    story.submit()
    story.fail_model()
    call = story.model_call

    proposals = propose(story.session)

    assert proposals == Proposals((), NOON_MS + 2000, f"{call.id}/1")


@pytest.mark.parametrize(
    ("before", "due"),
    [(None, 1200), (1200, 1200), (600, 600), (1800, 1800), (599, 1200), (1801, 1200)],
)
def test_a_runnable_session_is_looked_after_in_twenty_minutes(before: int | None, due: int) -> None:
    """Storage and commits, "Commits" 6: rewritten only if it moves by more than ten minutes."""
    story = Story()
    story.submit()
    stored = None if before is None else NOON_S + before

    assert due_epoch_s(story.session, NOON_MS, 1200, stored) == NOON_S + due


def test_a_timer_is_looked_after_five_minutes_late() -> None:
    story = Story()
    story.submit()
    story.fail_model()

    assert due_epoch_s(story.session, NOON_MS, 1200, None) == NOON_S + 2 + 300


def test_nobody_looks_after_a_session_that_waits_for_people_alone() -> None:
    """F9."""
    story = Story()
    story.submit()
    story.answer("", made("a", "look_around"), made("b", "send_email"))
    story.worker("b", LeftOpen())

    assert due_epoch_s(story.session, NOON_MS, 1200, NOON_S) is None


def test_a_retry_that_waits_for_the_slot_is_not_due_by_itself() -> None:
    """U-13: its turn comes with the end of the delivery that holds the slot."""
    holder = Call("c1", "tool_call", 1, Retry(), CallStatus.PENDING, 1)
    waiting = replace(holder, id="c2", status=CallStatus.RETRY_SCHEDULED, next_attempt_at_ms=5)
    delivery = Decision("d1", "tool.execute", 2, "c1", "retry_scheduled", next_attempt_at_ms=9)
    session = Session(calls=(holder, waiting), decisions=(delivery,))

    proposals = propose(session)

    assert (proposals.next_due_ms, proposals.due_subject) == (9, "d1/0")
