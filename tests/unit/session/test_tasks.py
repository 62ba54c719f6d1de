"""Tools whose work goes on elsewhere, where the engine decides: polls until a task ends."""

from __future__ import annotations

from everturn.session.commands import LeftOpen, ToolRefused
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.decide.waits import DECLINED
from everturn.session.dialogue import Dialogue
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.waits import WaitClosed, WaitExtended, WaitOpened, WaitPrivate
from everturn.session.propose import DeliverToWorker, due_epoch_s, propose
from everturn.session.state import Wait, status_of
from everturn.session.waiting import TaskBegun, TaskPending
from unit.session.building import NOON_MS, Story, only, types
from unit.session.steps import interrupted, resumed
from unit.session.waiting import (
    DAY_S,
    JOB,
    PENDING,
    SURE,
    answering,
    calling,
    declining,
    resolved,
    told,
)


def started(*names: str) -> Story:
    """Return a session whose first call has started a task."""
    story = calling(*(names or ("send_email",)))
    story.worker("c1", JOB)
    return story


def test_a_task_waits_for_its_poll() -> None:
    """O-12, agent-session.md 12."""
    story = calling("ship")

    events = story.worker("c1", JOB)

    assert events[1:] == (
        WaitOpened(
            turn_id="t1",
            id="c1-task-1",
            kind="task",
            call_id="c1",
            name="ship",
            task_id="job-7",
            poll_interval_seconds=60,
            next_poll_at_ms=NOON_MS + 60_000,
            private=WaitPrivate(continuation={"page": 1}),
        ),
    )
    due_ms = NOON_MS + 60_000
    assert story.session.waits == (
        Wait("c1-task-1", "task", "c1", len(story.log), interval_s=60, next_poll_ms=due_ms),
    )
    assert (status_of(story.session), story.session.calls[0].deadline_ms) == ("active", None)
    assert propose(story.session).next_due_ms == due_ms
    assert due_epoch_s(story.session, story.now_ms, 1200, None) == due_ms // 1000 + 300


def test_a_task_is_polled_when_its_time_has_come_and_not_before() -> None:
    story = started()

    assert story.proceed(after_s=59.999) == ()
    events = story.proceed(after_s=0.001)

    assert [one.trigger_type for one in only(DecisionQueued, events)] == ["tool.poll"]
    assert types(events) == ["decision.queued", "decision.dispatched"]
    assert propose(story.session).effects == (DeliverToWorker(story.delivery("c1").id, 1, "c1"),)
    assert propose(story.session).next_due_ms is None
    assert story.proceed(after_s=60) == ()


def test_a_task_that_is_pending_is_polled_again_as_it_says() -> None:
    story = started()
    story.proceed(after_s=60)

    kept = story.worker("c1", PENDING)
    story.proceed(after_s=60)
    changed = story.worker("c1", TaskPending(3 * DAY_S, {"page": 2}))

    (first,), (second,) = only(WaitExtended, kept), only(WaitExtended, changed)
    assert first.next_poll_at_ms == NOON_MS + 120_000
    assert (first.poll_interval_seconds, first.private.continuation) == (60, None)
    assert second.next_poll_at_ms == NOON_MS + 120_000 + 3 * DAY_S * 1000
    assert told(story, "c1") == Dialogue((), {"page": 2}, "job-7")


def test_a_poll_that_says_nothing_finds_its_task_pending() -> None:
    """Otherwise nobody would ever look after the task again."""
    story = started()
    story.proceed(after_s=60)

    events = story.worker("c1", LeftOpen())

    assert types(events) == ["decision.completed", "call.wait.extended"]


def test_a_task_that_is_done_is_the_calls_result() -> None:
    story = started()
    story.proceed(after_s=60)

    events = story.worker("c1", "rendered")

    assert only(WaitClosed, events)[0].outcome == "finished"
    assert types(events)[1:3] == ["call.wait.closed", "tool.call.completed"]
    assert story.messages()[-1]["content"] == "rendered"
    assert story.session.waits == ()


def test_a_task_that_failed_is_the_calls_error() -> None:
    story = started()
    story.proceed(after_s=60)

    story.worker("c1", ToolRefused("out of paper"))

    assert story.messages()[-1]["content"] == "out of paper"


def test_a_new_attempt_begins_without_the_task() -> None:
    story = started("try")
    story.proceed(after_s=60)

    story.worker("c1", ToolRefused("lost", retryable=True))
    story.proceed(after_s=1)

    assert story.session.calls[0].attempt == 2
    assert (story.session.waits, told(story, "c1")) == ((), Dialogue())
    story.worker("c1", TaskBegun("job-8", 60))
    assert story.session.waits[0].id == "c1-task-2"
    assert told(story, "c1") == Dialogue(task_id="job-8")


def test_a_task_takes_no_place_from_others() -> None:
    """D-1: only the poll itself takes the slot."""
    story = started("send_email", "ship")

    assert types(story.worker("c2", "shipped"))[:1] == ["decision.completed"]


def test_a_poll_waits_for_the_slot_and_siblings_for_a_poll() -> None:
    """D-1: a poll is delivered as any other question about a tool."""
    story = started("send_email", "set_alarm")

    queued = story.proceed(after_s=60)
    assert types(queued) == ["decision.queued"]
    assert story.proceed() == ()
    events = story.worker("c2", "set")

    assert types(events)[-1] == "decision.dispatched"
    assert story.delivery("c1").status == "live"


def test_a_poll_overlaps_where_its_tool_does() -> None:
    """O-5."""
    story = started("get_weather", "set_alarm")

    assert types(story.proceed(after_s=60)) == ["decision.queued", "decision.dispatched"]


def test_a_question_of_a_task_goes_back_to_the_task() -> None:
    """Agent-session.md 12: at once, and until a poll was answered."""
    story = started()
    story.proceed(after_s=60)

    story.worker("c1", SURE)
    assert (status_of(story.session), propose(story.session).next_due_ms) == ("idle", None)
    assert story.proceed(after_s=DAY_S) == ()
    answering(story, "c1-input-1")

    assert told(story, "c1") == Dialogue((), {"step": 2}, "job-7", resolved(1, "yes"))
    assert types(story.proceed()) == ["decision.dispatched"]
    assert story.delivery("c1").trigger == "tool.poll"
    story.worker("c1", PENDING)
    assert told(story, "c1") == Dialogue((), {"step": 2}, "job-7")


def test_a_task_is_told_of_a_decline_too() -> None:
    """Agent-session reference, `QuestionResolution`: the task decides what that means."""
    story = started()
    story.proceed(after_s=60)
    story.worker("c1", SURE)

    events = declining(story, "c1-input-1")

    assert types(events) == ["call.wait.closed", "decision.queued"]
    assert told(story, "c1").pending_answer == resolved(1, DECLINED, "declined")


def test_a_task_may_ask_again_at_once() -> None:
    story = started()
    story.proceed(after_s=60)
    story.worker("c1", SURE)
    declining(story, "c1-input-1")
    story.proceed()

    story.worker("c1", SURE)

    assert told(story, "c1").pending_answer is None
    assert [wait.id for wait in story.session.waits] == ["c1-task-1", "c1-input-2"]


def test_answers_from_before_a_task_are_not_the_tasks() -> None:
    """A new attempt hears what the tool itself was told, and what it said then."""
    story = calling("try")
    story.worker("c1", SURE)
    answering(story, "c1-input-1")
    story.proceed()
    story.worker("c1", JOB)
    story.proceed(after_s=60)
    story.worker("c1", SURE)
    answering(story, "c1-input-2", "no")
    story.proceed()

    assert told(story, "c1").answers == (resolved(1, "yes"),)
    story.worker("c1", ToolRefused("lost", retryable=True))

    assert told(story, "c1") == Dialogue((resolved(1, "yes"),), {"step": 2})


def test_a_poll_that_fails_is_made_again_whatever_its_tool_does() -> None:
    """D-8: a poll is a read."""
    story = started()
    story.proceed(after_s=60)

    lost = story.lose("c1")
    again = story.proceed(after_s=2)

    assert types(lost) == ["decision.errored"]
    assert types(again) == ["decision.dispatched"]
    assert story.delivery("c1").attempt == 2


def test_a_task_that_cannot_be_polled_any_more_may_still_take_effect() -> None:
    """D-14, agent-session 6."""
    story = started()
    story.proceed(after_s=60)

    story.lose("c1", retryable=False)

    assert story.messages()[-1]["content"] == OUTCOME_UNKNOWN


def test_a_task_without_effect_that_cannot_be_polled_fails_its_call() -> None:
    """D-14."""
    story = started("dig")
    story.proceed(after_s=60)

    story.lose("c1", error="no such host", started="no", retryable=False)

    assert story.messages()[-1]["content"] == "no such host"


def test_a_driver_that_vanishes_in_a_poll_is_replaced_by_another_poll() -> None:
    """N-2, O-8: the task goes on without either."""
    story = started()
    assert story.take_over() == ()
    story.proceed(after_s=60)

    story.take_over()

    assert (story.delivery("c1").trigger, story.delivery("c1").attempt) == ("tool.poll", 2)
    assert story.session.waits[0].id == "c1-task-1"


def test_a_task_lives_for_days_and_through_many_polls() -> None:
    story = started("ship")

    for _ in range(100):
        story.proceed(after_s=DAY_S)
        story.worker("c1", PENDING)

    assert [wait.id for wait in story.session.waits] == ["c1-task-1"]
    assert story.session.calls[0].attempt == 1


def test_a_turn_that_fails_gives_its_task_up() -> None:
    story = started()

    events = story.fail_turn()

    assert [one.outcome for one in only(WaitClosed, events)] == ["withdrawn"]
    assert story.session.waits == ()


def test_a_poll_that_is_due_while_the_path_is_paused_waits_for_the_resume() -> None:
    story = started()
    interrupted(story)

    assert types(story.proceed(after_s=60)) == ["decision.queued"]
    assert story.proceed(after_s=60) == ()
    resumed(story)

    assert types(story.proceed()) == ["decision.dispatched"]
