"""Which model call of a run is under way, from one event to the next; it tells nothing."""

from __future__ import annotations

from dataclasses import dataclass

from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallDispatched,
    ModelCallErrored,
)
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import CallVoided


@dataclass(frozen=True, slots=True)
class InFlight:
    """An attempt of a model call, and the event that dispatched it."""

    call_id: str
    attempt: int
    dispatch_seq: int


class Flight:
    """Follows a run's newest attempt: nothing is streamed of an earlier one once it begins.

    Source: storage-and-commits, "Streams".
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self.call: InFlight | None = None

    def take(self, seq: int, event: Event) -> None:
        """Take an event in."""
        match event:
            case ModelCallDispatched() if event.turn_id == self._run_id:
                self.call = InFlight(event.id, event.attempt, seq)
            case ModelCallCompleted() | ModelCallErrored():
                self._end(event.id, event.attempt)
            case CallVoided(id=call_id):
                self._end(call_id)
            case TurnCompleted() if event.turn_id == self._run_id:
                self.call = None
            case _:
                pass

    def _end(self, call_id: str, attempt: int | None = None) -> None:
        call = self.call
        if call is not None and call.call_id == call_id and attempt in {None, call.attempt}:
            self.call = None
