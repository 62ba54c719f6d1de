"""Files that come with the result of a client's tool: the model sees them with the text."""

from __future__ import annotations

from typing import Any

from everturn.session.commands import SettleCall
from everturn.session.events.messages import MessageNew
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import ToolCallCompleted
from everturn.session.refs import same_as
from unit.session.building import Story, made, only, said
from unit.session.deciding import Deciding

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
NOTE = {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}}


def settle(story: Story, *files: dict[str, Any], result: str = "A cat.") -> tuple[Event, ...]:
    """Have the client answer its call."""
    action = {"type": "tool.result", "id": "c1", "result": result, "files": list(files)}
    return story.do(lambda at, facts: SettleCall(at, facts, action, ("client",)))


def asked() -> Story:
    """Return a session that waits for a tool of the client."""
    story = Story()
    story.submit()
    story.answer("", made("c1", "look_around"))
    return story


def test_files_stand_behind_the_text_in_the_tool_message() -> None:
    story = asked()

    events = settle(story, IMAGE, NOTE)

    assert story.messages()[-1]["content"] == [{"type": "text", "text": "A cat."}, IMAGE, NOTE]
    (ended,) = only(ToolCallCompleted, events)
    assert ended.result == "A cat."
    (written,) = only(MessageNew, events)
    assert written.refs == {}
    assert len(story.requests()) == 2


def test_without_files_the_text_is_stored_once() -> None:
    story = asked()

    events = settle(story)

    assert story.messages()[-1]["content"] == "A cat."
    (ended,), (written,) = only(ToolCallCompleted, events), only(MessageNew, events)
    assert written.refs == {"message.content": same_as(story.log.index(ended) + 1, "result")}


def test_files_of_an_empty_result_come_alone() -> None:
    """A provider refuses an empty text."""
    story = asked()

    settle(story, IMAGE, result="")

    assert story.messages()[-1]["content"] == [IMAGE]


def test_a_worker_that_decides_is_told_the_text() -> None:
    story = Deciding(replies=[said("", made("c1", "look_around"))])
    story.submit()

    events = settle(story, IMAGE)
    story.run()

    assert only(ToolCallCompleted, events)[0].result == "A cat."
    tool = [one for one in story.messages() if one["role"] == "tool"]
    assert [one["content"] for one in tool] == ["A cat."]
