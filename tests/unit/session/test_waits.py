"""Tools that ask their user, where the engine decides."""

from __future__ import annotations

import pytest

from everturn.session.commands import ToolRefused
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.decide.waits import DECLINED, UNANSWERED
from everturn.session.dialogue import Dialogue
from everturn.session.events.decisions import DecisionDispatched, DecisionQueued
from everturn.session.events.tool_calls import ToolCallDispatched, ToolCallErrored
from everturn.session.events.waits import WaitClosed, WaitOpened, WaitPrivate
from everturn.session.formats import format_of
from everturn.session.propose import due_epoch_s, propose
from everturn.session.state import Wait, status_of
from everturn.session.waiting import UserAsked
from unit.session.building import NOON_MS, only, types
from unit.session.steps import interrupted, resumed
from unit.session.waiting import (
    DAY_S,
    SURE,
    TIMED,
    answering,
    calling,
    declining,
    resolved,
    told,
)

LIMITED = {**TIMED, "question_deadline_secs": 7 * DAY_S}


def test_a_question_leaves_its_call_open_and_says_what_is_asked() -> None:
    """O-12, agent-session.md 11: the id is that of the call and a number."""
    story = calling("send_email")

    events = story.worker("c1", SURE)

    assert events[1:] == (
        WaitOpened(
            turn_id="t1",
            id="c1-input-1",
            kind="question",
            call_id="c1",
            name="send_email",
            question="Sure?",
            choices=("yes", "no"),
            allows_free_text=False,
            private=WaitPrivate(continuation={"step": 2}),
        ),
    )
    assert story.session.waits == (Wait("c1-input-1", "question", "c1", len(story.log)),)
    assert [call.status for call in story.session.calls] == ["pending"]


def test_a_session_that_waits_for_people_alone_is_idle_and_left_alone() -> None:
    """Vocabulary, "Session and turn"; field case F9: the sweeper does not look after it."""
    story = calling("send_email")
    story.worker("c1", SURE)

    session = story.session

    assert status_of(session) == "idle"
    assert propose(session) == propose(session).__class__((), None)
    assert due_epoch_s(session, story.now_ms, 1200, None) is None
    assert story.proceed(after_s=300 * DAY_S) == ()


def test_siblings_go_on_while_one_call_asks() -> None:
    """Vocabulary: waits never hold up siblings; field case F5: what is settled runs no more."""
    story = calling("ship", "send_email")

    story.worker("c1", SURE)
    story.worker("c2", "sent")
    assert status_of(story.session) == "idle"
    answering(story, "c1-input-1")
    story.proceed()
    events = story.worker("c1", "shipped")

    sent = [one for one in only(DecisionQueued, story.log) if one.call_id == "c2"]
    assert [one.trigger_type for one in sent] == ["tool.execute", "tool.finished"]
    assert types(events)[-2:] == ["llm.call.dispatched", "step.started"]
    assert [m["content"] for m in story.messages() if m["role"] == "tool"] == ["sent", "shipped"]


def test_an_answer_has_the_tool_run_again_with_all_that_was_said() -> None:
    """Agent-session.md 11: several rounds."""
    story = calling("send_email")
    story.worker("c1", SURE)

    answered = answering(story, "c1-input-1", "yes")
    run = story.proceed()
    story.worker("c1", UserAsked("Sure?"))
    answering(story, "c1-input-2", "indeed")

    assert answered[0] == WaitClosed(
        turn_id="t1",
        id="c1-input-1",
        kind="question",
        call_id="c1",
        outcome="answered",
        answer="yes",
    )
    assert types(answered) == ["call.wait.closed", "decision.queued"]
    assert types(run) == ["decision.dispatched"]
    assert told(story, "c1") == Dialogue(
        (resolved(1, "yes"), resolved(2, "indeed")), continuation={"step": 2}
    )


def test_a_call_that_goes_on_has_its_whole_time_again() -> None:
    """Waiting for a person is no work; the clock starts with the delivery, not the answer."""
    story = calling("dig", "try")
    assert story.session.calls[0].deadline_ms == NOON_MS + 20_000
    story.worker("c1", SURE)
    assert story.session.calls[0].deadline_ms is None
    story.proceed(after_s=DAY_S)
    answering(story, "c1-input-1")

    assert only(ToolCallDispatched, story.proceed(after_s=30)) == []
    events = story.worker("c2", "done")

    until = story.now_ms + 20_000
    assert only(ToolCallDispatched, events) == [
        ToolCallDispatched(turn_id="t1", id="c1", attempt=1, deadline_ms=until)
    ]
    (dispatched,) = only(DecisionDispatched, events)
    assert dispatched.deadline_ms == until


def test_a_tool_without_a_limit_has_none_afterwards() -> None:
    story = calling("send_email")
    story.worker("c1", SURE)

    answering(story, "c1-input-1")

    assert types(story.proceed()) == ["decision.dispatched"]


def test_a_declined_question_ends_its_call_as_rejected() -> None:
    """Agent-session reference, `QuestionResolution`."""
    story = calling("send_email")
    story.worker("c1", SURE)

    events = declining(story, "c1-input-1", "Not today.")

    assert only(ToolCallErrored, events) == [
        ToolCallErrored(
            turn_id="t1",
            id="c1",
            name="send_email",
            attempt=1,
            error="Not today.",
            detail={"reason": "rejected", "resolution": "declined"},
            retryable=False,
        )
    ]
    assert types(events)[0] == "call.wait.closed"
    assert story.messages()[-1]["content"] == "Not today."
    assert story.session.waits == ()
    assert propose(story.session).effects != ()


def test_a_decline_without_a_word_gets_ours() -> None:
    story = calling("send_email")
    story.worker("c1", SURE)

    declining(story, "c1-input-1")

    assert story.messages()[-1]["content"] == DECLINED


def test_a_question_that_nobody_answers_in_time_is_rejected_by_itself() -> None:
    """F9: until then nobody disturbs it; the deadline is the agent's to set."""
    story = calling("send_email", config=LIMITED)
    story.worker("c1", SURE)
    due_ms = story.now_ms + 7 * DAY_S * 1000

    assert propose(story.session).next_due_ms == due_ms
    assert story.proceed(after_s=7 * DAY_S - 0.001) == ()
    events = story.proceed(after_s=0.001)

    assert only(WaitClosed, events)[0].outcome == "deadline_passed"
    assert only(ToolCallErrored, events)[0].detail == {
        "reason": "rejected",
        "resolution": "deadline_passed",
    }
    assert story.messages()[-1]["content"] == UNANSWERED


def test_an_answer_after_the_deadline_finds_the_question_withdrawn() -> None:
    """Also where the timer has not fired yet."""
    story = calling("send_email", config=LIMITED)
    story.worker("c1", SURE)
    story.now_ms += 7 * DAY_S * 1000

    events = answering(story, "c1-input-1")

    assert only(WaitClosed, events)[0].outcome == "deadline_passed"
    assert story.messages()[-1]["content"] == UNANSWERED


@pytest.mark.parametrize("wait_id", ["c1-input-1", "c1-input-2", "never"])
def test_an_answer_to_what_nobody_asks_changes_nothing(wait_id: str) -> None:
    """Invariant 5: the first answer counts."""
    story = calling("send_email")
    story.worker("c1", SURE)
    answering(story, "c1-input-1", "yes")

    assert answering(story, wait_id, "no") == ()
    assert declining(story, wait_id) == ()


def test_a_new_attempt_asks_nobody_again() -> None:
    """What a person said holds for the call, whichever attempt hears it."""
    story = calling("try")
    story.worker("c1", SURE)
    answering(story, "c1-input-1")
    story.proceed()

    story.worker("c1", ToolRefused("busy", retryable=True))
    story.proceed(after_s=1)

    assert story.session.calls[0].attempt == 2
    assert told(story, "c1") == Dialogue((resolved(1, "yes"),), {"step": 2})
    story.worker("c1", SURE)
    assert story.session.waits[0].id == "c1-input-2"


def test_a_turn_that_fails_closes_what_its_calls_wait_for() -> None:
    story = calling("send_email", "ship")
    story.worker("c1", SURE)

    events = story.fail_turn()

    closed = only(WaitClosed, events)
    assert [(one.id, one.outcome) for one in closed] == [("c1-input-1", "withdrawn")]
    assert (story.session.waits, story.session.calls) == ((), ())
    assert answering(story, "c1-input-1") == ()


def test_a_tool_that_asked_is_never_said_not_to_have_started() -> None:
    """Agent-session 6: it ran before it asked."""
    story = calling("send_email")
    story.worker("c1", SURE)
    answering(story, "c1-input-1")
    story.proceed()

    story.lose("c1", started="no", retryable=False)

    assert story.messages()[-1]["content"] == "connection refused"


def test_a_driver_that_vanishes_leaves_a_question_as_it_is() -> None:
    """Field case F3: what waits has no owner that could be lost."""
    story = calling("send_email")
    story.worker("c1", SURE)

    assert story.take_over() == ()
    answering(story, "c1-input-1")
    story.proceed()
    story.take_over()

    assert story.messages()[-1]["content"] == OUTCOME_UNKNOWN


def test_an_answer_while_the_path_is_paused_waits_for_the_resume() -> None:
    """P-6: a wait pauses nothing and is held by a pause."""
    story = calling("send_email")
    story.worker("c1", SURE)
    interrupted(story)

    answering(story, "c1-input-1")
    assert story.proceed() == ()
    resumed(story)

    assert types(story.proceed()) == ["decision.dispatched"]


def test_older_code_leaves_a_session_alone_that_has_asked() -> None:
    """Docs/storage.md: format 2."""
    story = calling("send_email")
    assert format_of(story.session) == 1
    story.worker("c1", SURE)

    assert format_of(story.session) == 2
    answering(story, "c1-input-1")
    assert (story.session.waits, format_of(story.session)) == ((), 2)
