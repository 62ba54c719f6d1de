"""Whether a part of a run's log is enough to go on telling it from a cursor; it tells nothing.

So reading on costs as much as one step of the run, however long the run is, and however old its
session.
"""

from __future__ import annotations

from collections.abc import Sequence

from everturn.ports.sessions import Logged
from everturn.runs.cursor import Reached
from everturn.runs.tool_frames import calls_in
from everturn.session.events.children import (
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentRequested,
    SubAgentTurnCompleted,
)
from everturn.session.events.model_calls import ModelCallCompleted, ModelCallDispatched
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import (
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
)


def is_enough(run_id: str, commits: Sequence[Logged], at: Reached) -> bool:
    """Return whether what is behind the cursor is told from `commits` as it is from all of them.

    A commit that dispatches a model call of the run is where telling can begin: what was held
    before is told there. That is behind a cursor among that call's deltas; any other cursor may be
    in the middle of what a commit tells, and needs one before it. And what is told of a call needs
    the event that asked for it.
    """
    known = _Known(run_id)
    begun = _begin(run_id, commits, at)
    if begun is None:
        return False
    for position, commit in enumerate(commits):
        for event in commit.events:
            if event.turn_id == run_id:
                if position > begun and not known.has_what_it_needs(event):
                    return False
                known.take(event)
    return True


def _begin(run_id: str, commits: Sequence[Logged], at: Reached) -> int | None:
    """Return the last commit where telling may begin."""
    found = None
    for position, commit in enumerate(commits):
        is_told = commit.last_seq < at.seq or (at.is_amid_deltas and commit.first_seq <= at.seq)
        if is_told and any(_dispatches(run_id, event) for event in commit.events):
            found = position
    return found


def _dispatches(run_id: str, event: Event) -> bool:
    return isinstance(event, ModelCallDispatched) and event.turn_id == run_id


class _Known:
    """What was heard of calls."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._asked: set[str] = set()
        self._made: set[str] = set()
        self._dispatched: set[tuple[str, int]] = set()

    def take(self, event: Event) -> None:
        """Remember an event that later ones need."""
        match event:
            case ToolCallRequested() | SubAgentRequested():
                self._asked.add(event.id)
            case ModelCallDispatched():
                self._dispatched.add((event.id, event.attempt))
            case ModelCallCompleted(message=message):
                self._made |= {call["id"] for call in calls_in(message)}
            case _:
                pass

    def has_what_it_needs(self, event: Event) -> bool:
        """Return whether all that a frame of the event says is known."""
        match event:
            case ModelCallCompleted():
                return (event.id, event.attempt) in self._dispatched
            case SubAgentRequested(private=private):
                return private.llm_call_id is None or event.id in self._made
            case (
                ToolCallDispatched()
                | ToolCallCompleted()
                | ToolCallErrored()
                | SubAgentDispatched()
                | SubAgentErrored()
                | SubAgentTurnCompleted()
            ):
                return event.id in self._asked
            case _:
                return True
