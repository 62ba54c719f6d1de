"""A client is never sent arguments that do not fit its tool. Source: agent-runs 3.1."""

from __future__ import annotations

import pytest

from everturn.session.events.tool_calls import ToolCallDispatched, ToolCallErrored
from unit.session.building import Story, made, only


@pytest.mark.parametrize(("name", "is_refused"), [("look_around", True), ("get_weather", False)])
def test_arguments_that_do_not_fit_are_the_models_to_read(name: str, is_refused: bool) -> None:
    """A worker gets them with what is wrong; it may still make something of them."""
    story = Story()
    story.submit()

    events = story.answer("", made("c1", name), unfit={0: "/at: is missing"})

    errored = only(ToolCallErrored, events)
    assert [(one.error, one.detail) for one in errored] == [
        ("/at: is missing", {"reason": "tool_input_invalid"})
    ] * is_refused
    assert len(story.requests()) == (2 if is_refused else 1)


def test_of_several_calls_those_that_fit_are_sent() -> None:
    story = Story()
    story.submit()

    calls = [made("c1", "look_around"), made("c2", "look_around")]
    events = story.answer("", *calls, unfit={1: "no"})

    assert [one.id for one in only(ToolCallErrored, events)] == ["c2"]
    assert [one.id for one in only(ToolCallDispatched, events)] == ["c1"]
