"""A world whose worker runs the model calls of an agent that the engine decides.

No test lives here. Every order is held against the wire models and the published descriptions.
"""

from __future__ import annotations

from typing import Any

from everturn.ports.decider import WorkerAnswer
from everturn.protocol.decision import DECISION_REQUEST
from published import check_question
from unit.drive.doubles import answered
from unit.drive.world import World

SCRIPT: dict[str, Any] = {"model": "m-large", "handler": "worker"}


def replied(content: str | None = "From afar.", **more: Any) -> WorkerAnswer:
    """Return what a worker answers that ran a model call."""
    reply = {"model": "m-large", "content": content, **more}
    return answered({"type": "llm.result", "response": reply})


def world_of(*answers: WorkerAnswer | BaseException, **agent: Any) -> World:
    """Return an engine whose worker answers so, one after another."""
    world = World()
    world.agent("helper", **{**SCRIPT, **agent})
    left = list(answers)

    def answer(request: dict[str, Any]) -> WorkerAnswer:
        DECISION_REQUEST.validate_python(request)
        check_question(request)
        given = left.pop(0)
        if isinstance(given, BaseException):
            raise given
        return given

    world.decider.answer = answer
    return world
