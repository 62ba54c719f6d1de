"""Sessions that are made for runs and wait for their first one."""

from __future__ import annotations

from everturn.session.propose import propose
from unit.session.asking_runs import (
    SPEC,
    ask,
    begin,
)
from unit.session.building import Story, types


def test_a_session_begins_without_a_turn() -> None:
    story = Story()

    events = begin(story)

    assert types(events) == [
        "session.created",
        "decision.queued",
        "decision.completed",
        "agent.updated",
        "session.described",
    ]
    assert events[-1].description == SPEC  # type: ignore[union-attr]  # it is the description
    assert story.session.turn is None
    assert not propose(story.session).effects
    assert not propose(story.session).is_ready


def test_a_session_that_is_there_does_not_begin_again() -> None:
    story = Story()
    begin(story)

    assert begin(story) == ()


def test_the_first_run_of_a_session_goes_by_its_own_config() -> None:
    story = Story()
    begin(story)

    events = ask(story)

    assert types(events)[:2] == ["run.requested", "turn.started"]
    prompts = [request["messages"][0]["content"] for request in story.requests()]
    assert prompts == ["You are a poet."]
