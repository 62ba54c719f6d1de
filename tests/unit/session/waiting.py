"""Sessions with a tool that waits, for tests: what its worker says, what its user says. No test."""

from __future__ import annotations

from typing import Any

from everturn.session.commands import ResolveWait
from everturn.session.dialogue import Dialogue, dialogue_of
from everturn.session.events.stored import Event, from_json
from everturn.session.state import CallStatus, Session
from everturn.session.waiting import TaskBegun, TaskPending, UserAsked
from unit.session.building import CONFIG, Story, made

SURE = UserAsked("Sure?", ("yes", "no"), allows_free_text=False, continuation={"step": 2})
JOB = TaskBegun("job-7", 60, continuation={"page": 1})
PENDING = TaskPending()
DAY_S = 86_400

TIMED: dict[str, Any] = {
    **CONFIG,
    "tools": [
        *CONFIG["tools"],
        {"name": "dig", "effect": "read", "timeout_secs": 20, "overlap": False},
        {"name": "ship", "effect": "non_idempotent_write", "timeout_secs": 20},
        {
            "name": "try",
            "effect": "read",
            "overlap": False,
            "retry": {
                "timeout_secs": None,
                "max_retries": 2,
                "backoff_base_secs": 1,
                "backoff_max_secs": 1,
            },
        },
    ],
}
"""The config of the other tests, and tools that have 20 s, or two attempts."""


def calling(*names: str, **more: Any) -> Story:
    """Return a session whose model called these tools as c1, c2, …; deliveries have begun."""
    story = Story(**{"config": TIMED, **more})
    story.submit()
    story.answer("", *(made(f"c{n}", name) for n, name in enumerate(names, start=1)))
    story.proceed()
    return story


def answering(story: Story, wait_id: str, text: str = "yes") -> tuple[Event, ...]:
    """Have the user answer a question."""
    return story.do(lambda at, facts: ResolveWait(at, facts, wait_id, "answered", text))


def declining(story: Story, wait_id: str, text: str = "") -> tuple[Event, ...]:
    """Have the user decline a question."""
    return story.do(lambda at, facts: ResolveWait(at, facts, wait_id, "declined", text))


def check_waits(session: Session) -> None:
    """Assert what always holds of waits: each is an open call's, and nobody is asked about it."""
    open_calls = {call.id for call in session.calls if call.status is CallStatus.PENDING}
    asked = {one.call_id for one in session.decisions}
    questions = [wait.call_id for wait in session.waits if wait.kind == "question"]
    assert {wait.call_id for wait in session.waits} <= open_calls
    assert len({(wait.call_id, wait.kind) for wait in session.waits}) == len(session.waits)
    assert not asked & set(questions)


def told(story: Story, call_id: str) -> Dialogue:
    """Return what a call was told so far, read from the log."""
    return dialogue_of((from_json(value) for value in story.values), call_id)


def resolved(n: int, answer: str, resolution: str = "answered") -> dict[str, Any]:
    """Return how the n-th question of call c1 was resolved, as the worker is told."""
    return {
        "interrupt_id": f"c1-input-{n}",
        "question": "Sure?",
        "answer": answer,
        "resolution": resolution,
    }
