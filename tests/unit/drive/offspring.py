"""Parents and their children in a family, for tests. No test lives here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everturn.session.events.sessions import TurnCompleted
from unit.drive.family import echo, events, response
from unit.drive.world import World
from unit.session.building import only

ASKS = '[[call:poet {"message": "rain"}]][[turn]][[say:It says {{result}}]]'
WORKER = {"worker": "https://worker.example/hook", "decides": "worker"}
NO_ANSWER = {"type": "interrupt", "interrupt_id": "int-1", "reason": "which_rhyme"}


def spawn(session: str, call: str, agent: str = "poet", **more: Any) -> dict[str, Any]:
    """Return the action that starts a child."""
    child = {"session_id": session, "agent_id": agent, "tool_call_id": call}
    return {"type": "sub_agent.spawn", **child, **more}


def send(session: str, text: str, **more: Any) -> dict[str, Any]:
    """Return the action that sends a message."""
    message = {"role": "user", "content": text, **more}
    return {"type": "message.send", "session_id": session, "message": message}


def at_first(*actions: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    """Return a worker that answers the first input with these actions, and echoes the rest."""
    left = [list(actions)]

    def answer(request: dict[str, Any]) -> Any:
        is_first = request["trigger"]["type"] == "client.messages" and request["ancestry"] == []
        if is_first and left:
            return response({**request["proposed"], "actions": left.pop()})
        return echo(request)

    return answer


def ended(world: World, session: str = "s1") -> TurnCompleted:
    """Return how a session's last turn ended."""
    found: list[TurnCompleted] = only(TurnCompleted, events(world, session))
    return found[-1]


def results(world: World, session: str = "s1") -> list[Any]:
    """Return the contents of a session's tool messages."""
    return [content for role, content in world.texts(session) if role == "tool"]
