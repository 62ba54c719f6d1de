"""Runs where the engine decides: what is recorded of one, and how one waits for another."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import InboxFull, SessionCancelled
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.mail import InboxDequeued, InboxDiscarded, InboxEnqueued
from everturn.session.events.messages import AgentUpdated, MessageNew
from everturn.session.events.runs import RunRequested
from everturn.session.events.sessions import TurnAdmitted, TurnCompleted, TurnStarted
from everturn.session.formats import format_of
from everturn.session.propose import propose
from everturn.session.refs import same_as
from everturn.session.state import has_next
from unit.session.asking_runs import (
    SPEC,
    WITH_TOOLS,
    WITHOUT_TOOLS,
    ask,
    begin,
    edit,
    enqueue,
    finish,
    turns_of,
    users,
)
from unit.session.building import Story, only, types

MOST = 50


def systems(story: Story) -> list[Any]:
    """Return the system prompt of every model request so far."""
    return [request["messages"][0]["content"] for request in story.requests()]


# ---- a run at once


def test_a_run_in_a_new_session_is_recorded_before_its_turn_begins() -> None:
    story = Story()

    events = ask(story)

    assert types(events)[:4] == [
        "session.created",
        "run.requested",
        "turn.started",
        "decision.queued",
    ]
    (asked,), (started,) = only(RunRequested, events), only(TurnStarted, events)
    assert (asked.turn_id, asked.run, asked.config) == ("run-1", SPEC, WITHOUT_TOOLS)
    assert (asked.client, asked.messages) == (None, None)
    assert (started.private.run_seq, started.stream) == (2, True)
    assert story.session.turn is not None
    assert story.session.turn.run_seq == 2


def test_the_config_of_a_run_is_stored_once() -> None:
    story = Story()

    ask(story)

    (version,) = only(AgentUpdated, story.log)
    assert version.agent is None
    assert version.refs == {"agent": same_as(2, "config")}
    assert story.session.agent_seq == story.log.index(version) + 1
    assert systems(story) == ["You are a poet."]


def test_a_run_in_a_session_that_is_at_rest_opens_at_once_with_its_own_config() -> None:
    story = Story()
    story.submit()
    story.answer("Hi.")

    events = ask(story)

    assert types(events)[:2] == ["run.requested", "turn.started"]
    (asked,), (version,) = only(RunRequested, events), only(AgentUpdated, events)
    assert version.refs == {"agent": same_as(story.log.index(asked) + 1, "config")}
    assert systems(story) == ["You answer briefly.", "You are a poet."]


def test_a_run_with_the_config_that_holds_records_no_other_version() -> None:
    story = Story()
    ask(story)
    story.answer("Hi.")

    events = ask(story, "run-2")

    assert only(AgentUpdated, events) == []
    assert systems(story) == ["You are a poet."] * 2


@pytest.mark.parametrize("before", [{"turn": {"tokens": 9_000}}, None])
def test_a_run_does_not_change_what_its_session_may_spend(before: Any) -> None:
    own = {} if before is None else {"budgets": before}
    story = Story(config={**WITH_TOOLS, **own})
    story.submit()
    story.answer("Hi.")

    ask(story, config={**WITHOUT_TOOLS, "budgets": {"turn": {"tokens": 1_000_000}}})

    version = only(AgentUpdated, story.log)[-1]
    assert version.agent == {**WITHOUT_TOOLS, **own}


def test_a_run_that_brings_no_config_goes_by_what_holds() -> None:
    """Its agent became one whose worker decides, after the session had begun."""
    story = Story()
    ask(story)
    ask(story, "run-2", config=None)
    finish(story)
    story.answer("Two.")

    ask(story, "run-3", config=None)

    assert turns_of(story) == ["run-1", "run-2", "run-3"]
    assert systems(story) == ["You are a poet."] * 3


def test_a_run_with_several_messages_writes_them_in_order() -> None:
    story = Story()
    view = [
        {"role": "user", "content": "What is two and two?"},
        {"role": "assistant", "content": "Four."},
        {"role": "user", "content": "And three?"},
    ]

    ask(story, view=view)

    said = [(one["role"], one["content"]) for one in story.messages()]
    assert said == [(one["role"], one["content"]) for one in view]
    queued = only(DecisionQueued, story.log)[-1]
    assert [one["content"] for one in queued.news] == [one["content"] for one in view]
    written = only(MessageNew, story.log)
    assert [one.message for one in written] == [None] * 3


def test_a_run_in_a_session_that_was_ended_is_refused() -> None:
    story = Story()
    ask(story)
    story.cancel_session()

    with pytest.raises(SessionCancelled):
        ask(story, "run-2")


def test_a_session_with_an_open_run_is_of_the_third_format() -> None:
    story = Story()
    events = ask(story)

    assert format_of(story.session) == 3
    story.answer("Hi.")
    assert format_of(story.session) == 1
    assert format_of(story.session, events) == 3


# ---- a run that waits


def test_a_run_waits_while_another_one_is_open_and_opens_when_that_ends() -> None:
    story = Story()
    ask(story)

    events = ask(story, "run-2", "And then?", WITH_TOOLS)

    assert types(events) == ["run.requested", "inbox.enqueued"]
    (asked,), (waits,) = only(RunRequested, events), only(InboxEnqueued, events)
    asked_seq = story.log.index(asked) + 1
    assert [one["content"] for one in asked.messages] == ["And then?"]
    assert waits.refs == {"message": same_as(asked_seq, "messages.0")}
    assert (waits.message, waits.wakeup, waits.private.is_users) == (None, True, True)
    assert waits.private.run_seq == asked_seq
    assert not has_next(story.session)
    story.answer("One.")
    assert propose(story.session).is_ready
    opened = story.proceed()
    (started,), (admitted,) = only(TurnStarted, opened), only(TurnAdmitted, opened)
    assert (started.turn_id, started.reason, started.stream) == ("run-2", "submit", True)
    assert started.private.run_seq == asked_seq
    assert (admitted.turn, admitted.trigger) == (2, "client.message")
    assert users(story) == ["Hello.", "And then?"]
    assert systems(story) == ["You are a poet.", "You are a pirate."]


def test_a_run_that_waited_stores_no_body_again() -> None:
    story = Story()
    ask(story)
    ask(story, "run-2", "And then?", WITH_TOOLS)
    story.answer("One.")

    opened = story.proceed()

    (queued,), (written,) = only(DecisionQueued, opened), only(MessageNew, opened)
    (version,) = only(AgentUpdated, opened)
    assert (queued.news, written.message, version.agent) == (None, None, None)
    assert written.private.source.kind == "user"


def test_a_run_that_waited_begins_with_all_of_its_messages() -> None:
    story = Story()
    ask(story)
    view = [
        {"role": "user", "content": "What is two and two?"},
        {"role": "assistant", "content": "Four."},
        {"role": "user", "content": "And three?"},
    ]
    ask(story, "run-2", view=view)

    finish(story, "One.")

    said = [one["content"] for one in story.messages()]
    assert said == ["Hello.", "One.", "What is two and two?", "Four.", "And three?"]


def test_an_edit_changes_the_last_message_of_a_run_that_waits() -> None:
    story = Story()
    ask(story)
    view = [{"role": "user", "content": one} for one in ("Read this.", "Now sum it up.")]
    ask(story, "run-2", view=view)

    edit(story, story.session.inbox[0].id, "Now translate it.")
    finish(story, "One.")

    assert users(story) == ["Hello.", "Read this.", "Now translate it."]
    assert story.session.turn is not None
    assert story.session.turn.id == "run-2"


def test_runs_open_in_the_order_in_which_they_came_each_with_its_own_config() -> None:
    """IB-4; a run without tools between two that have some has none."""
    story = Story()
    ask(story, "run-1", "a", WITH_TOOLS)
    ask(story, "run-2", "b", WITHOUT_TOOLS)
    ask(story, "run-3", "c", WITH_TOOLS)

    for said in "abc":
        finish(story, said)

    assert turns_of(story) == ["run-1", "run-2", "run-3"]
    assert systems(story) == ["You are a pirate.", "You are a poet.", "You are a pirate."]
    assert [bool(one.get("tools")) for one in story.requests()] == [True, False, True]


def test_an_input_of_another_kind_goes_by_what_holds_between_two_runs() -> None:
    story = Story()
    ask(story, "run-1", "a", WITH_TOOLS)
    enqueue(story, "t-plain", "b")
    ask(story, "run-2", "c", WITHOUT_TOOLS)

    for said in "abc":
        finish(story, said)

    assert turns_of(story) == ["run-1", "t-plain", "run-2"]
    assert systems(story) == ["You are a pirate.", "You are a pirate.", "You are a poet."]
    started = only(TurnStarted, story.log)
    assert [(one.private.run_seq > 0, one.stream) for one in started] == [
        (True, True),
        (False, False),
        (True, True),
    ]


def test_a_run_waits_behind_what_waits_even_where_no_turn_is_open() -> None:
    """IB-4: the driver has not come by yet."""
    story = Story()
    ask(story)
    ask(story, "run-2", "b")
    story.answer("One.")

    ask(story, "run-3", "c")

    assert [one.turn_id for one in story.session.inbox] == ["run-2", "run-3"]
    story.proceed()
    finish(story)
    assert turns_of(story) == ["run-1", "run-2", "run-3"]


def test_a_run_wakes_the_quiet_messages_before_it() -> None:
    """IB-2."""
    story = Story()
    begin(story)
    enqueue(story, "t-quiet", wakes=False)

    ask(story, "run-1")

    assert [one.turn_id for one in story.session.inbox] == ["t-quiet", "run-1"]
    story.proceed()
    finish(story)
    finish(story)
    assert turns_of(story) == ["t-quiet", "run-1"]
    assert story.session.inbox == ()


def test_a_message_of_a_run_whose_id_somebody_took_meanwhile_gets_another_one() -> None:
    story = Story()
    ask(story)
    ask(story, "run-2", view=[{"id": "m1", "role": "user", "content": "mine"}])
    ask(story, "run-3", view=[{"id": "m1", "role": "user", "content": "yours"}])
    finish(story)

    finish(story)

    assert users(story) == ["Hello.", "mine", "yours"]
    assert [one["id"] for one in story.messages()].count("m1") == 1


@pytest.mark.parametrize("many", [MOST - 1, MOST, MOST + 1])
def test_so_many_runs_may_wait_and_no_more(many: int) -> None:
    story = Story()
    ask(story)
    for n in range(min(many, MOST)):
        ask(story, f"w{n}")

    assert len(story.session.inbox) == min(many, MOST)
    if many > MOST:
        with pytest.raises(InboxFull):
            ask(story, "one-more")
        with pytest.raises(InboxFull):
            enqueue(story, "one-more")


# ---- a run that is stopped


def test_a_run_that_waits_can_be_stopped_while_the_others_stay() -> None:
    story = Story()
    ask(story)
    ask(story, "run-2", "b")
    ask(story, "run-3", "c")

    events = story.cancel("run-2", keep_inbox=True)

    (gone,) = only(InboxDiscarded, events)
    assert (gone.turn_id, gone.reason) == ("run-2", "turn_cancelled")
    assert types(events) == ["inbox.discarded"]
    assert [one.turn_id for one in story.session.inbox] == ["run-3"]
    assert story.session.turn is not None
    finish(story)
    assert turns_of(story) == ["run-1", "run-3"]


def test_the_open_run_is_stopped_and_the_next_one_opens() -> None:
    story = Story()
    ask(story)
    ask(story, "run-2", "b")

    story.cancel("run-1", keep_inbox=True)
    story.note_aborted(story.session.aborting[0].id)
    story.proceed()

    assert turns_of(story) == ["run-1", "run-2"]
    assert [one.outcome for one in only(TurnCompleted, story.log)] == ["cancelled"]


def test_the_end_of_a_session_discards_all_that_waits() -> None:
    story = Story()
    ask(story)
    ask(story, "run-2", "b")
    enqueue(story)

    story.cancel_session()

    gone = only(InboxDiscarded, story.log)
    assert [(one.turn_id, one.reason) for one in gone] == [
        ("run-2", "session_cancelled"),
        ("t-item", "session_cancelled"),
    ]
    assert only(InboxDequeued, story.log) == []
    assert story.session.inbox == ()
    assert not has_next(story.session)
