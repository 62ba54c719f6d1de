"""Being a child in the core: how it begins and what it says to its parent. Source: section 15."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.errors import SessionConflict
from everturn.rejections import SessionCancelled
from everturn.session.budget import Budget
from everturn.session.events.interrupts import SessionInterrupted
from everturn.session.events.sessions import (
    Owner,
    Parent,
    SessionCreated,
    SessionDone,
    TurnCompleted,
    TurnFailure,
)
from everturn.session.events.sessions import SessionCancelled as Cancelled
from everturn.session.events.shape import Usage
from everturn.session.evolve import fold
from everturn.session.formats import format_of
from everturn.session.mail_commands import (
    ChildDone,
    ChildFailed,
    ChildPaused,
)
from everturn.session.mailbox import Outgoing
from everturn.session.reports import CUT_OFF, report_of
from everturn.session.state import Spent
from unit.session.building import Story, made, only, types
from unit.session.children import beginning, child_session, take

# ---- being a child


def test_a_child_begins_without_a_turn() -> None:
    """S-5, B-5."""
    story = child_session(depth=2)

    assert types(story.log) == [
        "session.created",
        "decision.queued",
        "decision.completed",
        "agent.updated",
    ]
    first = only(SessionCreated, story.log)[0]
    assert (first.ancestry, first.parent) == (
        ("s0", "s1"),
        Parent(session_id="s1", tool_call_id="c1"),
    )
    assert first.private.delegation_depth == 2
    assert story.session.owner_id == "u1"


def test_a_child_that_is_there_has_begun() -> None:
    """B-3."""
    story = child_session()

    assert story.do(beginning()) == ()
    with pytest.raises(SessionConflict):
        story.do(beginning(call_id="c2"))


def test_a_session_of_its_own_is_nobodys_child() -> None:
    """B-3."""
    story = Story()
    story.submit("Hello.")

    with pytest.raises(SessionConflict):
        story.do(beginning())


def test_a_child_that_was_given_up_begins_cancelled() -> None:
    story = child_session(is_given_up=True)

    assert types(story.log) == ["session.created", "session.cancelled"]
    assert story.do(beginning()) == ()
    with pytest.raises(SessionCancelled):
        take(story, "rain")


def test_the_first_turn_of_a_child_is_reported_and_no_later_one() -> None:
    """B-7, B-13."""
    story = child_session()
    take(story, "rain")
    story.proceed()
    story.answer("Soft rain")

    (out,) = story.session.outbox
    assert (out.kind, out.target, out.call_id) == ("report", "s0", "c1")
    story.submit("And snow?", agent_id="poet")
    story.answer("Soft snow")
    assert story.session.outbox == (out,)


def test_a_child_that_ends_before_it_had_a_turn_says_so() -> None:
    story = child_session()

    story.cancel_session()

    assert [one.kind for one in story.session.outbox] == ["report"]


def test_a_child_that_its_parent_cancels_says_nothing() -> None:
    """B-10."""
    story = child_session()
    take(story, "rain")
    story.proceed()

    story.cancel_session(cause="parent")

    assert story.session.outbox == ()


def test_every_end_of_a_first_turn_says_something() -> None:
    """B-7, B-9, session-log SA-2."""
    spent: dict[str, Any] = {"cost": "1", "usage": Usage(input_tokens=2)}
    failure = TurnFailure(message="no", code="refused", detail={"a": 1})

    def of(outcome: Any, **more: Any) -> Any:
        return report_of(TurnCompleted(outcome=outcome, **spent, **more))

    assert of("done", data="text") == ChildDone("text", **spent)
    assert of("done") == ChildDone("", **spent)
    assert of("done", data={"a": [1]}) == ChildDone('{"a":[1]}', **spent)
    assert of("done", data="half", truncated=True) == ChildFailed(CUT_OFF, **spent)
    assert of("failed", error=failure) == ChildFailed("no", "refused", {"a": 1}, **spent)
    assert of("cancelled").error.endswith("cancelled")
    assert report_of(Cancelled()) == ChildFailed("the session was cancelled")
    paused = SessionInterrupted(interrupt_id="i1", origin="frontend", reason="why")
    assert report_of(paused) == ChildPaused("i1", "why")
    assert report_of(SessionDone()) is None


def test_a_pause_of_a_child_is_reported_while_it_is_waited_for() -> None:
    created = SessionCreated(
        session_id="child",
        agent_id="poet",
        owner=Owner(id="u1"),
        ancestry=("s0",),
        parent=Parent(session_id="s0", tool_call_id="c1"),
    )
    paused = SessionInterrupted(interrupt_id="i1", origin="frontend", reason="why")
    ended = TurnCompleted(outcome="done")

    before, after = fold([created, paused]), fold([created, ended, paused])

    assert before.outbox == (Outgoing(2, "report", "s0", "c1"),)
    assert after.outbox == (Outgoing(2, "report", "s0", "c1"),)
    assert format_of(before) == 2


def test_ancestors_pay_for_the_turn_that_they_wait_for_and_for_no_later_one() -> None:
    """B-8, B-13, Y-4: what the open turn used counts with what they had spent."""
    above = Budget("session", "fail", None, 10, Spent("0", 4), of="s0")
    story = child_session()
    charged = [story.session.charged]
    story.budgets = (above,)
    take(story, "rain")
    story.proceed()

    story.answer("", made("c1"), usage=Usage(input_tokens=6))
    story.worker("c1", "sunny")

    (ended,) = only(TurnCompleted, story.log)
    assert ended.error is not None
    assert ended.error.detail == {
        "scope": "session",
        "session_id": "s0",
        "limit": {"tokens": 10},
        "spent": {"cost": "0", "tokens": 10},
    }
    charged.append(story.session.charged)
    assert charged == [("s0",), ()]
