"""What the notes of policies do to a session; how they come about is tested elsewhere."""

from __future__ import annotations

import pytest

from everturn.session.events.guards import (
    GuardNoted,
    LoopDetected,
    ModelFellBack,
    NotedPrivate,
    OutputRejected,
    ToolBudgetExceeded,
)
from everturn.session.events.runs import RunRequested, SessionDescribed
from everturn.session.events.stored import Event
from everturn.session.evolve import evolve
from everturn.session.formats import format_of
from everturn.session.guard_counts import Guard
from everturn.session.state import Session, Turn

FELL_BACK = ModelFellBack(id="c1", from_model="demo:a", to_model="demo:b")


def noted(*, is_final: bool = False) -> GuardNoted:
    """Return what is noted of a reply that asks for tools."""
    private = NotedPrivate(
        signature="abc",
        streak=2,
        tool_turns=3,
        calls={"web": 2, "mail": 1},
        is_final=is_final,
    )
    return GuardNoted(id="c1", private=private)


def in_a_turn(**more: object) -> Session:
    """Return a session with an open turn."""
    return Session(seq=5, turn=Turn("t1", 1, 2, **more))  # type: ignore[arg-type]  # Turn's fields


def test_what_the_guards_counted_is_the_turns() -> None:
    turn = evolve(in_a_turn(), noted()).turn

    assert turn is not None
    assert turn.guard == Guard("abc", 2, 3, (("mail", 1), ("web", 2)))
    assert not turn.is_final


def test_a_turn_that_is_final_stays_so() -> None:
    final = evolve(in_a_turn(), noted(is_final=True))

    after = evolve(final, noted())

    assert after.turn is not None
    assert after.turn.is_final


def test_replies_that_were_rejected_and_models_that_failed_are_counted() -> None:
    session = evolve(in_a_turn(), OutputRejected(id="c1", problem="no JSON", attempt=2))

    after = evolve(evolve(session, FELL_BACK), FELL_BACK)

    assert after.turn is not None
    assert (after.turn.rejected, after.turn.fallbacks) == (2, 2)


@pytest.mark.parametrize(
    "event", [noted(), OutputRejected(id="c1", attempt=1), FELL_BACK], ids=lambda one: one.type
)
def test_a_turn_that_such_a_note_changes_is_of_the_third_format(event: Event) -> None:
    assert format_of(in_a_turn()) == 1
    assert format_of(evolve(in_a_turn(), event)) == 3


@pytest.mark.parametrize(
    "event", [noted(), OutputRejected(id="c1", attempt=1), FELL_BACK], ids=lambda one: one.type
)
def test_without_a_turn_such_a_note_changes_nothing(event: Event) -> None:
    assert evolve(Session(seq=5), event) == Session(seq=6)


@pytest.mark.parametrize(
    "event",
    [
        LoopDetected(consecutive_count=3, hard_cutoff=False, tools=("web",)),
        ToolBudgetExceeded(tool="web", call_id="c1", max_calls=1, call_index=2),
        RunRequested(turn_id="t2", run={}),
        SessionDescribed(description={}),
    ],
    ids=lambda one: one.type,
)
def test_what_is_only_told_changes_no_session_but_is_of_the_third_format(event: Event) -> None:
    before = in_a_turn()

    after = evolve(before, event)

    assert after == Session(seq=6, turn=before.turn)
    assert format_of(after, [event]) == 3
