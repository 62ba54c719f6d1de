"""The message tree beside pauses: turns that wait, work on a left branch, who comes back."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import SessionInterrupted, TurnAlreadyActive
from everturn.session.commands import RaiseInterrupt, ResumeInterrupt
from everturn.session.decide.branches import LEFT
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.tool_calls import CallVoided
from everturn.session.state import status_of
from unit.session.building import Story, made, only, types
from unit.session.deciding import Deciding, echo, running
from unit.session.steps import acting, interrupted, resumed, until
from unit.session.talking import talk, texts, user


def stop(story: Story, interrupt_id: str = "int-1", origin: Any = "machine") -> None:
    """Pause the session."""
    story.do(lambda at, facts: RaiseInterrupt(at, facts, interrupt_id, origin, "stop"))


def test_a_view_that_leaves_a_paused_branch_runs_and_the_pause_waits_for_who_returns() -> None:
    """I-3, I-7, T-3.3, T-13, conformance 26."""
    story = Story()
    talk(story, "u1/a1")
    base = story.messages()
    story.submit("u2")
    paused = story.session.turn
    interrupted(story)
    on_it = story.messages()

    events = story.submit(view=(*base, user("u2, edited")), turn_id="other")
    ended = story.answer("fine")

    assert paused is not None
    assert types(events)[:3] == ["step.ended", "turn.parked", "turn.started"]
    assert [turn.id for turn in story.session.parked] == [paused.id]
    assert only(TurnCompleted, ended)[0].turn_id == "other"
    assert status_of(story.session) == "done"
    with pytest.raises(SessionInterrupted):
        story.submit(view=(*on_it, user("more")))
    with pytest.raises(SessionInterrupted):
        story.submit(view=tuple(on_it))
    assert texts(story)[-1] == "fine"


def test_work_that_hangs_on_a_left_message_is_given_up() -> None:
    """V-1, I-4, conformance 20, 27: a tool that ran on the paused branch is voided with it."""
    story = Story()
    talk(story, "u1/a1")
    base = story.messages()
    story.submit("u2")
    story.answer("", made("c1", "send_email"))
    interrupted(story)

    events = story.submit(view=(*base, user("u2, edited")))

    (voided,) = only(CallVoided, events)
    assert (voided.id, voided.reason, voided.private.outcome_unknown) == ("c1", LEFT, True)
    assert [one.reason for one in only(DecisionDropped, events)] == [LEFT]
    assert story.session.call("c1") is None


def test_an_interrupt_that_is_cleared_on_a_left_branch_ends_its_turn_as_abandoned() -> None:
    """I-8, T-7."""
    story = Story()
    talk(story, "u1/a1")
    base = story.messages()
    story.submit("u2")
    turn = story.session.turn
    assert turn is not None
    interrupted(story)
    story.submit(view=(*base, user("u2, edited")))

    kinds = resumed(story)

    assert kinds == ["session.interrupt_resumed", "turn.completed"]
    assert story.session.parked == ()
    assert story.session.turn is not None
    ends = {one.turn_id: one.outcome for one in only(TurnCompleted, story.log)}
    assert ends[turn.id] == "abandoned"


def test_a_parked_turn_can_be_stopped() -> None:
    """T-12, T-13."""
    story = Story()
    talk(story, "u1/a1")
    base = story.messages()
    story.submit("u2")
    turn = story.session.turn
    assert turn is not None
    interrupted(story)
    story.submit(view=(*base, user("u2, edited")))

    events = story.cancel(turn.id)

    assert types(events) == ["turn.cancel_requested", "turn.completed"]
    assert (story.session.parked, story.session.interrupts) == ((), ())
    assert story.session.turn is not None


def test_a_cancelled_session_abandons_its_parked_turns() -> None:
    """T-7, S-8."""
    story = Story()
    talk(story, "u1/a1")
    base = story.messages()
    story.submit("u2", "parked")
    interrupted(story)
    story.submit(view=(*base, user("u2, edited")), turn_id="open")

    story.cancel_session()

    ends = {one.turn_id: one.outcome for one in only(TurnCompleted, story.log)}
    assert (ends["parked"], ends["open"]) == ("abandoned", "cancelled")
    assert status_of(story.session) == "cancelled"


def test_a_paused_workers_session_takes_a_view_that_leaves() -> None:
    """I-6, I-7, D-16, conformance 26: it is delivered although the path is paused."""
    story = Deciding(worker_=running("sunny"))
    story.submit("u1")
    first = story.messages()[0]
    story.do(story.submitting("u2", decides="worker"))
    until(story, "client.messages")
    interrupted(story)
    with pytest.raises(SessionInterrupted):
        story.submit("more")

    story.submit(view=(first, user("elsewhere")), turn_id="t9")

    assert texts(story) == ["u1", "elsewhere", "All is well."]
    assert [turn.id for turn in story.session.parked] == ["t2"]
    assert status_of(story.session) in {"done", "active"}


def paused_at_a_reply() -> tuple[Deciding, list[dict[str, Any]]]:
    """Return a session whose path ends with a reply and is paused, and that path."""
    story = Deciding()
    story.submit("u1")
    story.worker_ = acting("llm.finished", {"type": "interrupt", "reason": "look at this"})
    story.submit("u2", "parked")
    story.worker_ = echo
    return story, story.messages()


def test_a_look_at_the_paused_branch_pauses_the_session_again() -> None:
    """I-7, T-13, conformance 26: its turn is open again, and resuming goes on with it."""
    story, path = paused_at_a_reply()
    story.submit(view=(path[0], user("elsewhere")), turn_id="away")

    story.submit(view=tuple(path), turn_id="look")

    ends = {one.turn_id: one.outcome for one in only(TurnCompleted, story.log)}
    assert ends == {"t1": "done", "away": "done", "look": "done"}
    assert story.session.turn is not None
    assert (story.session.turn.id, story.session.parked) == ("parked", ())
    assert status_of(story.session) == "interrupted"
    resumed(story, story.session.interrupts[0].id)
    story.run()
    assert [one.turn_id for one in only(TurnCompleted, story.log)][-1] == "parked"


def test_nothing_new_is_said_on_a_paused_branch() -> None:
    """I-6: an input that would come to rest behind the pause is refused from anywhere."""
    story, path = paused_at_a_reply()
    story.submit(view=(path[0], user("elsewhere")), turn_id="away")

    with pytest.raises(SessionInterrupted):
        story.submit(view=(*path, user("more")))


def test_resuming_a_parked_turn_while_another_is_open_is_refused() -> None:
    """T-13."""
    story = Deciding()
    story.submit("u1")
    path = story.messages()
    story.submit("u2", "parked", input_type="client.action", action={"name": "x"}, view=())
    stop(story)
    story.worker_ = lambda _r: {}
    story.do(story.submitting(view=(path[0], user("elsewhere")), turn_id="open", decides="worker"))
    decision = until(story, "client.messages")
    story.respond(decision.id, {"messages": list(path)})

    with pytest.raises(TurnAlreadyActive):
        story.do(lambda at, facts: ResumeInterrupt(at, facts, "int-1", "machine"))


def test_a_parked_turn_waits_for_the_last_of_its_pauses() -> None:
    """I-9, T-7: cleared on a left branch, one after the other."""
    story = Story()
    talk(story, "u1/a1")
    base = story.messages()
    story.submit("u2", "parked")
    interrupted(story, "one")
    interrupted(story, "two")
    story.submit(view=(*base, user("u2, edited")), turn_id="open")

    first, stranger, last = resumed(story, "one"), story.cancel("nobody"), resumed(story, "two")

    assert first == ["session.interrupt_resumed"]
    assert stranger == ()
    assert last == ["session.interrupt_resumed", "turn.completed"]
