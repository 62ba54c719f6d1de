"""Architecture, section 2: slow tools of Lambda workers, which the step machine runs."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.session.commands import AnswerDelivery, DeliverDirectly, LeftOpen, ToolAnswered
from everturn.session.decide.questions import SLOW_S
from everturn.session.decide.tool_result import NOT_STARTED, OUTCOME_UNKNOWN
from everturn.session.events.decisions import DecisionDispatched, DecisionErrored
from everturn.session.events.stored import from_json, to_json
from everturn.session.events.tool_calls import ToolCallErrored
from everturn.session.propose import DeliverToWorker, HandToMachine, due_epoch_s, propose
from everturn.session.state import SESSION
from unit.session.building import CONFIG, NOON_MS, WITH_SLOW, Story, made, only, types


def asked(*calls: dict[str, Any]) -> Story:
    """Return a session of a Lambda worker whose model asked for tools."""
    story = Story(config=WITH_SLOW, is_function=True)
    story.submit()
    story.answer("", *calls)
    return story


def with_timeout(timeout_s: float | None) -> dict[str, Any]:
    """Return a config with one tool that has so much time."""
    tool = {"name": "dig", "effect": "read"}
    return {**CONFIG, "tools": [tool if timeout_s is None else {**tool, "timeout_secs": timeout_s}]}


@pytest.mark.parametrize(
    ("timeout_s", "is_function", "is_slow"),
    [
        (SLOW_S, True, False),
        (SLOW_S + 0.1, True, True),
        (86_400, True, True),
        (None, True, False),
        (600, False, False),
    ],
)
def test_a_tool_that_may_take_longer_than_twenty_seconds_is_the_machines(
    timeout_s: float | None, is_function: bool, is_slow: bool
) -> None:
    story = Story(config=with_timeout(timeout_s), is_function=is_function)
    story.submit()
    events = story.answer("", made("a", "dig"))
    one = story.delivery("a")

    effects = propose(story.session).effects

    kind = HandToMachine if is_slow else DeliverToWorker
    assert effects == (kind(one.id, 1, "a"),)
    assert only(DecisionDispatched, events)[0].private.by_machine is is_slow


def test_the_machine_has_the_time_of_the_call_and_not_of_a_delivery() -> None:
    """D-5: the policy's 300 s are for what a driver sends."""
    story = asked(made("a", "dig"), made("b"))

    deadlines = {one.call_id: one.deadline_ms for one in story.session.decisions}

    assert deadlines == {"a": NOON_MS + 600_000, "b": NOON_MS + 300_000}


def test_what_says_so_is_private_and_survives_the_store() -> None:
    story = asked(made("a", "dig"))
    event = only(DecisionDispatched, story.log)[0]

    stored = to_json(event)

    assert stored["private"]["by_machine"] is True
    assert from_json(stored) == event
    assert SESSION.dump_python(story.session, exclude_defaults=True)["decisions"][0]["by_machine"]


def test_a_log_of_before_says_that_a_driver_made_the_delivery() -> None:
    event = from_json(
        {"type": "decision.dispatched", "id": "d", "attempt": 1, "deadline_ms": 1, "private": {}}
    )

    assert isinstance(event, DecisionDispatched)
    assert event.private.by_machine is False


@pytest.mark.parametrize("tool", ["dig", "ship"])
def test_no_driver_can_leave_it_orphaned(tool: str) -> None:
    """O-8 is for what ran in the driver that vanished."""
    story = asked(made("a", tool))
    before = story.session

    events = story.take_over()

    assert events == ()
    assert story.session == before


def test_its_siblings_are_taken_over_as_ever() -> None:
    story = asked(made("a", "dig"), made("b", "send_email"))

    events = story.take_over()

    assert [one.id for one in only(ToolCallErrored, events)] == ["b"]
    assert [one.call_id for one in story.session.decisions] == ["a"]


def test_its_answer_is_applied_as_a_direct_one() -> None:
    slow, quick = asked(made("a", "dig")), Story(config=with_timeout(10), is_function=True)
    quick.submit()
    quick.answer("", made("a", "dig"))

    told = [types(story.worker("a", "gold")) for story in (slow, quick)]

    assert told[0] == told[1]
    assert slow.messages()[-1]["content"] == "gold"


def test_an_answer_of_another_attempt_changes_nothing() -> None:
    story = asked(made("a", "dig"))
    one = story.delivery("a")

    stale = story.decide(lambda at, facts: AnswerDelivery(at, facts, one.id, 2, ToolAnswered("x")))

    assert stale.events == ()


def test_the_same_answer_again_changes_nothing() -> None:
    story = asked(made("a", "dig"))
    story.worker("a", "gold")
    assert story.last is not None

    again = story.decide(story.last)

    assert again.events == ()


def test_an_answer_after_the_deadline_changes_nothing() -> None:
    story = asked(made("a", "ship"))
    one = story.delivery("a")
    story.proceed(600)

    late = story.decide(lambda at, facts: AnswerDelivery(at, facts, one.id, 1, ToolAnswered("x")))

    assert late.events == ()
    assert story.messages()[-1]["content"] == OUTCOME_UNKNOWN


def test_a_machine_that_vanishes_does_not_keep_a_read_from_its_next_attempt() -> None:
    """R-5, R-7: its deadline ends the attempt."""
    story = asked(made("a", "dig"))

    story.proceed(600)
    story.proceed(2)

    one = story.delivery("a")
    assert propose(story.session).effects == (HandToMachine(one.id, 1, "a"),)
    assert story.session.calls[0].attempt == 2


def test_a_throttled_function_is_delivered_again_by_the_machine() -> None:
    """O-11: nothing was started."""
    story = asked(made("a", "ship"))

    events = story.lose("a", code="rate_limited", started="no")
    waiting = propose(story.session).effects
    story.proceed(2)

    one = story.delivery("a")
    assert only(DecisionErrored, events)[0].retryable is True
    assert waiting == ()
    assert propose(story.session).effects == (HandToMachine(one.id, 2, "a"),)


@pytest.mark.parametrize(("tool", "again"), [("dig", True), ("ship", False)])
def test_a_function_that_failed_runs_again_only_where_it_may(tool: str, again: bool) -> None:
    story = asked(made("a", tool))

    events = story.lose("a", code="function_error")

    assert only(DecisionErrored, events)[0].retryable is again
    assert again or story.messages()[-1]["content"] == OUTCOME_UNKNOWN


def test_a_function_that_answers_later_leaves_its_call_open() -> None:
    story = asked(made("a", "ship"))

    story.worker("a", LeftOpen())

    assert story.session.decisions == ()
    assert [call.id for call in story.session.calls] == ["a"]


# ---- what the machine cannot take


def test_a_delivery_that_is_taken_back_is_the_same_attempt_and_the_drivers() -> None:
    story = asked(made("a", "ship"))
    before = story.delivery("a")

    (event,) = story.deliver_directly("a")

    assert isinstance(event, DecisionDispatched)
    assert (event.attempt, event.deadline_ms) == (1, NOON_MS + 300_000)
    assert propose(story.session).effects == (DeliverToWorker(before.id, 1, "a"),)
    assert story.delivery("a").dispatched_seq == before.dispatched_seq


def test_taking_it_back_twice_is_once() -> None:
    story = asked(made("a", "ship"))
    story.deliver_directly("a")
    assert story.last is not None

    assert story.decide(story.last).events == ()


def test_what_was_taken_back_can_be_orphaned() -> None:
    """It is recorded before it is sent: a driver that vanishes then may have sent it."""
    story = asked(made("a", "ship"))
    story.deliver_directly("a")

    story.take_over()

    assert story.messages()[-1]["content"] == OUTCOME_UNKNOWN


def test_a_stale_wish_to_take_a_delivery_back_changes_nothing() -> None:
    story = asked(made("a", "dig"))
    one = story.delivery("a")

    stale = [
        story.decide(lambda at, facts: DeliverDirectly(at, facts, one.id, 2)),
        story.decide(lambda at, facts: DeliverDirectly(at, facts, "nobody", 1)),
    ]

    assert [decided.events for decided in stale] == [(), ()]


def test_a_request_too_large_for_both_ends_the_call_before_it_began() -> None:
    story = asked(made("a", "ship"))

    story.lose("a", "the request is large", code="too_large", started="no", retryable=False)

    errored = only(ToolCallErrored, story.log)[-1]
    assert (errored.error, errored.detail) == (
        f"{NOT_STARTED}the request is large",
        {"reason": "too_large"},
    )


# ---- who looks after it


def test_recovery_looks_after_its_deadline_like_after_a_timer() -> None:
    """Storage and commits, "Commits" 6: no driver is needed meanwhile."""
    story = asked(made("a", "dig"))

    due = due_epoch_s(story.session, NOON_MS, 1200, None)

    proposals = propose(story.session)
    assert due == NOON_MS // 1000 + 600 + 300
    assert (proposals.next_due_ms, proposals.runs_here) == (NOON_MS + 600_000, False)


def test_with_a_sibling_under_way_a_driver_is_needed() -> None:
    story = asked(made("a", "dig"), made("b"))

    assert propose(story.session).runs_here
    assert due_epoch_s(story.session, NOON_MS, 1200, None) == NOON_MS // 1000 + 1200
