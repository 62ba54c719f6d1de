"""Runs and items of the inbox for tests: how a story asks for them, changes and removes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from everturn.session.events.sessions import Owner
from everturn.session.events.stored import Event
from everturn.session.inbox_commands import (
    BeginSession,
    DropItem,
    EditItem,
    EnqueueItem,
    RunOrder,
)
from unit.session.building import CONFIG, Story
from unit.session.deciding import Deciding

WITH_TOOLS: dict[str, Any] = {**CONFIG, "system": "You are a pirate."}
WITHOUT_TOOLS: dict[str, Any] = {"model": "demo:echo", "system": "You are a poet."}
SPEC: dict[str, Any] = {"spec": {"prompt": "Hello."}, "metadata": {"team": "blue"}}
WAVE: dict[str, Any] = {"tools": [{"name": "wave", "input": {"type": "object"}}]}


def ask(
    story: Story,
    turn_id: str = "run-1",
    content: str = "Hello.",
    config: Mapping[str, Any] | None = WITHOUT_TOOLS,
    *,
    view: Sequence[Mapping[str, Any]] = (),
    client: Mapping[str, Any] | None = None,
) -> tuple[Event, ...]:
    """Have somebody start a run; in a session whose worker decides it has no config."""
    decides = "worker" if isinstance(story, Deciding) else "engine"
    if story.session.seq == 0 and config is not None:
        story.config = config  # as who reads the facts for a new session has it
    order = RunOrder(SPEC, None if decides == "worker" else config, client)
    messages = tuple(view) or ({"role": "user", "content": content},)
    return story.do(
        story.submitting(
            turn_id=turn_id,
            run=order,
            stream=True,
            decides=decides,
            view=messages,
            input_type="client.message",
        )
    )


def enqueue(
    story: Story, turn_id: str = "t-item", content: str = "Later.", **more: Any
) -> tuple[Event, ...]:
    """Have a user's message wait; `wakes` and `id` may be given."""
    wakes = more.pop("wakes", True)
    message = {"role": "user", "content": content, **more}
    return story.do(lambda at, facts: EnqueueItem(at, facts, message, turn_id, wakes))


def edit(story: Story, item_id: str, content: Any) -> tuple[Event, ...]:
    """Replace the content of a message that waits."""
    return story.do(lambda at, facts: EditItem(at, facts, item_id, content))


def drop(story: Story, item_id: str) -> tuple[Event, ...]:
    """Remove a message that waits."""
    return story.do(lambda at, facts: DropItem(at, facts, item_id))


def begin(story: Story) -> tuple[Event, ...]:
    """Make a session without a turn."""
    owner = Owner(id="default")
    return story.do(lambda at, facts: BeginSession(at, facts, "s1", "helper", owner, SPEC))


def finish(story: Story, content: str = "Done.") -> None:
    """Have the open turn of an engine-decided session answered, and the next one open."""
    story.answer(content)
    story.proceed()


def users(story: Story) -> list[Any]:
    """Return what users said, in order."""
    return [one["content"] for one in story.messages() if one["role"] == "user"]


def turns_of(story: Story) -> list[str]:
    """Return the turns that opened, in order."""
    return [value["turn_id"] for value in story.values if value["type"] == "turn.started"]
