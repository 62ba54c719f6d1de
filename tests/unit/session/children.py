"""Children of sessions in the core, for tests. No test lives here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everturn.session.events.sessions import (
    Owner,
)
from everturn.session.events.shape import Usage
from everturn.session.mail_commands import (
    ChildDone,
    HearChild,
    NoteStart,
    Report,
    StartChild,
    StartFailed,
    TakeMessage,
)
from unit.session.building import CONFIG, Story, made
from unit.session.deciding import echo

WITH_POET: dict[str, Any] = {**CONFIG, "sub_agents": [{"id": "poet"}]}
RAIN = made("c1", "poet", '{"message": "rain"}')
SPAWN = {
    "type": "sub_agent.spawn",
    "session_id": "child",
    "agent_id": "poet",
    "tool_call_id": "c1",
}


def calling(*calls: dict[str, Any], config: dict[str, Any] = WITH_POET) -> Story:
    """Return an engine-decided session whose model has called a sub-agent."""
    story = Story(config=config)
    story.submit("Write.")
    story.answer("", *(calls or (RAIN,)))
    return story


def start(story: Story, failure: StartFailed | None = None, **more: Any) -> Any:
    """Have an attempt to start the first child end."""
    call = next(one for one in story.session.calls if one.kind == "sub_agent")
    return story.do(lambda at, facts: NoteStart(at, facts, call.id, call.attempt, failure, **more))


def hear(story: Story, report: Report, call_id: str = "c1", child: str = "") -> Any:
    """Have a child report."""
    named = child or next(one.session_id for one in story.session.calls if one.id == call_id)
    return story.do(lambda at, facts: HearChild(at, facts, call_id, named, report))


def hears_late(story: Story, report: Report, child: str) -> Any:
    """Have a child report that may not be waited for any more."""
    return story.do(lambda at, facts: HearChild(at, facts, "c1", child, report))


DONE = ChildDone("Soft rain", "0.5", Usage(input_tokens=3, output_tokens=4))


def first_then_echo(actions: list[dict[str, Any]]) -> Callable[[dict[str, Any]], Any]:
    """Return a worker that answers the first input with `actions` and echoes the rest."""
    left = [actions]

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "client.messages" and left:
            return {**request["proposed"], "actions": left.pop()}
        return echo(request)

    return answer


def child_session(depth: int = 1, config: dict[str, Any] = CONFIG, **more: Any) -> Story:
    """Return a session that another one started."""
    story = Story(config=config)
    story.do(beginning(depth, **more))
    return story


def beginning(depth: int = 1, call_id: str = "c1", **more: Any) -> Any:
    """Return the command that begins a child."""
    ancestry = tuple(f"s{n}" for n in range(depth))
    return lambda at, facts: StartChild(
        at, facts, "child", "poet", Owner(id="u1"), ancestry, call_id, **more
    )


def take(story: Story, text: str, turn_id: str = "m-turn", message_id: str = "m1") -> Any:
    """Have a message come."""
    message = {"id": message_id, "role": "user", "content": text}
    return story.do(lambda at, facts: TakeMessage(at, facts, message, turn_id))
