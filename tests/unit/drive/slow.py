"""Sessions of a Lambda worker that was asked to run slow tools. No test lives here."""

from __future__ import annotations

from typing import Any

from everturn.session.commands import Deliveries
from everturn.session.events.stored import Event
from everturn.session.evolve import fold
from unit.drive.doubles import FrozenClock, result
from unit.drive.world import AGENT, World

ALLOWED = "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-"
ARN = f"{ALLOWED}tools"
URL = AGENT["worker"]
FAR = Deliveries(backoff_base_s=30, backoff_max_s=60)
"""Waits that no driver sleeps through: time stands still here."""

PATIENT = {"max_retries": 3, "backoff_base_secs": 30, "backoff_max_secs": 60}
GOLD = {"actions": [{"type": "tool.result", "result": "gold"}]}


def world_of(text: str, *, timeout_s: float = 600) -> World:
    """Return a session of a Lambda worker that was asked to run tools."""
    world = World(clock=FrozenClock(), deliveries=FAR)
    tools = [
        {"name": "dig", "effect": "read", "retry": {**PATIENT, "timeout_secs": timeout_s}},
        {"name": "ship", "effect": "non_idempotent_write", "timeout_secs": timeout_s},
        {"name": "send", "effect": "non_idempotent_write"},
    ]
    world.agent("helper", worker=ARN, tools=tools)
    world.decider.answer = lambda _request: result("directly")
    world.submit(text)
    return world


def events(world: World, *kinds: type[Any]) -> list[Any]:
    """Return the session's events of some kinds."""
    found: list[Event] = [event for commit in world.log() for event in commit.events]
    assert fold(found) == world.head().session
    return [event for event in found if isinstance(event, kinds)]


def tool_results(world: World) -> list[Any]:
    """Return what the model reads of the tools."""
    return [content for role, content in world.texts() if role == "tool"]
