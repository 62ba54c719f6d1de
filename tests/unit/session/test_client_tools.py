"""Tools that the client runs: how they come into the config, how they are answered."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import TurnAlreadyActive
from everturn.session.events.messages import AgentUpdated
from everturn.session.events.tool_calls import ToolCallCompleted, ToolCallErrored
from everturn.session.state import status_of
from unit.session.building import HELLO, Story, made, only, said, types
from unit.session.deciding import Deciding, echo

PICK = {"name": "pick", "handler": "worker", "input": {"type": "object"}}
TAKEN = {"name": "send_email"}


def names(story: Story) -> list[str]:
    """Return the names of the tools in the newest config."""
    newest = [v for v in story.values if v["type"] == "agent.updated"][-1]["agent"]
    return [tool["name"] for tool in newest["tools"]]


def view(story: Story, *more: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the whole conversation, and what comes after it."""
    return (*story.messages(), *more)


def answer(call_id: str, content: str = "ok") -> dict[str, Any]:
    """Return a client's answer to one of its tools."""
    return {"role": "tool", "tool_call_id": call_id, "name": "pick", "content": content}


def asking(*calls: str) -> Deciding:
    """Return a session whose model called the client's tool so often."""
    story = Deciding()
    story.replies = [said("", *(made(one, "pick") for one in calls)), said("thanks")]
    story.submit(view=(HELLO,), client={"tools": [PICK, TAKEN]})
    return story


def test_client_tools_are_in_the_config_for_one_turn() -> None:
    """Conformance 32: K-4, K-5, K-6; a worker's name wins."""
    story = asking("c1")
    with_it = names(story)
    story.submit(view=view(story, answer("c1")), turn_id="t1b")
    story.submit(view=view(story, {"role": "user", "content": "More."}))

    assert with_it == ["get_weather", "set_alarm", "send_email", "look_around", "pick"]
    assert names(story) == ["get_weather", "set_alarm", "send_email", "look_around"]
    layered = [event.private.layered for event in only(AgentUpdated, story.log)]
    assert layered == [(), ("pick",), ()]


def test_the_worker_overrules_the_clients_tools() -> None:
    """K-4: by returning its own agent."""

    def own(request: dict[str, Any]) -> dict[str, Any]:
        proposed = echo(request)
        if request["trigger"]["type"] == "client.messages":
            return {**proposed, "agent": {**request["agent"], "tools": []}}
        return proposed

    story = Deciding(worker_=own)

    story.submit(view=(HELLO,), client={"tools": [PICK]})

    assert names(story) == []


def test_a_session_that_waits_for_its_client_is_idle() -> None:
    """S-6."""
    story = asking("c1")

    assert status_of(story.session) == "idle"
    with pytest.raises(TurnAlreadyActive):
        story.submit("And now?", "t2")


def test_one_answer_alone_is_a_result() -> None:
    """Conformance 33: U-7 a."""
    story = asking("c1")

    events = story.submit(view=view(story, answer("c1", "blue")), turn_id="t1b")

    assert types(events)[0] == "turn.continued"
    assert [one.result for one in only(ToolCallCompleted, events)] == ["blue"]
    assert "tool.finished" in story.triggers()
    assert [m.get("content") for m in story.messages()[2:]] == ["blue", "thanks"]


def test_a_view_that_answers_several_is_taken_as_it_is() -> None:
    """Conformance 33: U-7 b; the answers are settled silently."""
    story = asking("c1", "c2")
    before = len(story.asked)

    story.submit(view=view(story, answer("c1", "a"), answer("c2", "b")), turn_id="t1b")

    assert story.triggers()[before:] == ["client.messages", "llm.finished"]
    assert [m.get("content") for m in story.messages()[2:]] == ["a", "b", "thanks"]
    assert story.session.last_outcome == "done"


def test_only_some_answered_and_then_a_message() -> None:
    """Field case F10, O-18: the answered one is kept, the others are closed, it goes on."""
    story = asking("c1", "c2", "c3")
    more = (answer("c1", "a"), {"role": "user", "content": "Never mind."})

    events = story.submit(view=view(story, *more), turn_id="t1b")

    assert types(events).count("call.voided") == 2
    told = [(m["role"], m.get("content")) for m in story.messages()[2:]]
    cancelled = '{"error":"cancelled before a result was recorded"}'
    assert told == [
        ("tool", "a"),
        ("tool", cancelled),
        ("tool", cancelled),
        ("user", "Never mind."),
        ("assistant", "thanks"),
    ]


def test_an_answer_that_breaks_the_schema_reaches_nobody() -> None:
    """U-8."""
    story = asking("c1", "c2")
    more = (answer("c1", "secret"), answer("c2", "b"))

    events = story.submit(
        view=view(story, *more), turn_id="t1b", readings={"c1": "Result of pick does not fit"}
    )

    assert [one.error for one in only(ToolCallErrored, events)] == ["Result of pick does not fit"]
    assert [m.get("content") for m in story.messages()[2:4]] == [
        "Result of pick does not fit",
        "b",
    ]


def test_arguments_that_do_not_fit_are_never_sent_to_a_client() -> None:
    """U-5."""
    story = Deciding()
    story.replies = [said("", made("c1", "pick", "[]")), said("sorry")]

    events = story.submit(view=(HELLO,), client={"tools": [PICK]})

    assert "tool.call.dispatched" not in types(events)
    error = only(ToolCallErrored, events)[0].error
    assert error.startswith("Arguments for pick are not a JSON object")
    assert story.messages()[-1]["content"] == "sorry"


def test_the_engine_decides_alike() -> None:
    """K-4, U-7 b, O-18 where nobody is asked."""
    story = Story()
    story.submit(view=(HELLO,), client={"tools": [PICK]})
    story.answer("", made("c1", "pick"), made("c2", "pick"))
    more = (answer("c1", "a"), {"role": "user", "content": "Never mind."})

    story.submit(view=view(story, *more), turn_id="t1b")
    story.answer("thanks")

    assert [m["role"] for m in story.messages()] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert story.session.last_outcome == "done"
