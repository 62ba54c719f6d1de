"""Steps of sessions whose worker decides, for tests that look at one moment."""

from __future__ import annotations

from typing import Any

from everturn.session.commands import (
    RaiseInterrupt,
    ResumeInterrupt,
)
from everturn.session.propose import propose
from everturn.session.question import Readers
from everturn.session.state import Decision
from unit.session.building import CONFIG, Story, types
from unit.session.deciding import Deciding, Worker, echo

READERS = Readers(lambda _schema, _text: {"status": "valid", "value": {}}, lambda _n, b, _f: b)
TWICE = {
    "timeout_secs": 60,
    "max_retries": 2,
    "backoff_base_secs": 0,
    "backoff_max_secs": 0,
}
AFAR = {**CONFIG, "handler": "worker", "retry": TWICE}


def acting(trigger: str, *actions: dict[str, Any], also: Worker = echo, **more: Any) -> Worker:
    """Return a worker that answers one kind of question so, the rest as proposed."""
    left = [actions]

    def act(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] != trigger or not left:
            return also(request)
        return {**request["proposed"], "actions": list(left.pop()), **more}

    return act


def silent(trigger: str) -> Worker:
    """Return a worker that takes one kind of question on and says nothing more."""
    return lambda request: None if request["trigger"]["type"] == trigger else echo(request)


def until(story: Deciding, trigger: str) -> Decision:
    """Let a session go on until a question of a kind is live, and return it."""
    while True:
        for decision in story.session.decisions:
            if decision.status == "live" and decision.trigger == trigger:
                return decision
        proposals = propose(story.session)
        if proposals.is_ready:
            story.proceed()
        else:
            story.act(proposals.effects[0])


def begun(**more: Any) -> Deciding:
    """Return a session that has an input and has asked nothing yet."""
    story = Deciding(**more)
    story.do(story.submitting(decides="worker"))
    return story


def until_input(story: Deciding, text: str) -> Decision:
    """Send one more input, and return the question about it."""
    story.do(story.submitting(text, decides="worker"))
    return until(story, "client.messages")


def interrupted(story: Story, interrupt_id: str = "int-1") -> None:
    """Have somebody outside pause a session."""
    story.do(lambda at, facts: RaiseInterrupt(at, facts, interrupt_id, "machine", "stop"))


def resumed(story: Story, interrupt_id: str = "int-1") -> list[str]:
    """Have somebody outside let it go on."""
    return types(story.do(lambda at, facts: ResumeInterrupt(at, facts, interrupt_id, "machine")))
