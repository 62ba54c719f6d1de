"""Sessions that start one another and write to one another, in a world in memory, until all rest.

No test lives here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.ports.decider import Answered
from everturn.ports.sessions import SessionKey
from everturn.protocol.decision import DECISION_RESPONSE
from everturn.protocol.wake import WAKE
from everturn.protocol.wire import parse
from everturn.session.events.children import SubAgentRequested
from everturn.session.events.stored import Event
from unit.drive.world import AGENT, TENANT, World

MOST_WAKES = 200


def echo(request: Mapping[str, Any]) -> Any:
    """Answer what is proposed."""
    return response(request["proposed"])


def response(said: Mapping[str, Any]) -> Any:
    """Return what a worker's 200 means."""
    return Answered(parse(DECISION_RESPONSE, said))


def family(**agents: Mapping[str, Any]) -> World:
    """Return a world with agents; `helper` may start `poet` where nothing else is said."""
    world = World()
    world.decider.answer = echo
    kinds = {"helper": {"sub_agents": [{"id": "poet", "description": "Writes."}]}, "poet": {}}
    for name, changed in {**kinds, **agents}.items():
        agent: dict[str, Any] = {**AGENT, "tools": None, "worker": None, **changed}
        world.agent(name.replace("_", "-"), **agent)
    return world


def settle(world: World, **tools: Any) -> None:
    """Have drivers take every wake-up in the order of their sending, until none is left."""
    taken = getattr(world, "taken", 0)
    for _ in range(MOST_WAKES):
        if taken >= len(world.wake.sent):
            break
        sent = world.wake.sent[taken]
        taken += 1
        world.taken = taken  # type: ignore[attr-defined]  # how far this world's queue was read
        if sent.due_ms:
            world.clock.now = max(world.clock.now, sent.due_ms)
        world.advance(WAKE.validate_python(dict(sent.message)), request_id=f"r{taken}", **tools)
    else:
        raise AssertionError("the sessions never come to rest")


def events(world: World, session: str = "s1") -> list[Event]:
    """Return a session's log, bodies in their places."""
    return [event for commit in world.log(session) for event in commit.events]


def children(world: World, session: str = "s1") -> list[str]:
    """Return the ids of the sessions that a session asked for."""
    return [one.session_id for one in events(world, session) if isinstance(one, SubAgentRequested)]


def exists(world: World, session: str) -> bool:
    """Return whether there is such a session."""
    return world.store.head(SessionKey(TENANT, session)) is not None
