"""A run's commits and deltas as the frames of its stream; pure, and the same whoever reads when.

Source: agent-runs.md, "The stream"; storage-and-commits, "Streams".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from everturn.ports.sessions import Logged
from everturn.ports.streams import Delta
from everturn.runs.cursor import DELTAS_UPTO, delta_cursor, deltas_seen, frame_cursor
from everturn.runs.flight import Flight
from everturn.runs.frames import RunFrame, Tell, Told
from everturn.runs.model_frames import assistant_message, delta_frame, last_words
from everturn.runs.outcome import RunOutcome
from everturn.runs.tool_frames import Echo, ToolTeller
from everturn.session.events.guards import LoopDetected, ToolBudgetExceeded
from everturn.session.events.mail import InboxDiscarded
from everturn.session.events.model_calls import ModelCallAborted, ModelCallCompleted
from everturn.session.events.sessions import StepStarted, TurnCompleted, TurnStarted
from everturn.session.events.stored import Event

DeltasOf = Callable[[int, int], Iterable[Delta]]
"""The number of an `llm.call.dispatched` and of a delta to the deltas of that call behind it."""


@dataclass(frozen=True, slots=True)
class Telling:
    """A run, and whom to ask for what its commits do not say; nobody is asked without need."""

    run_id: str
    session_id: str
    echo: Echo
    outcome: Callable[[], RunOutcome]
    deltas: DeltasOf


def frames_of(telling: Telling, commits: Iterable[Logged], after: int = 0) -> Iterator[RunFrame]:
    """Yield the frames behind the cursor `after`, in order.

    The commits have their bodies in their places and begin with the run, or early enough
    (`reach`). What was committed while the run's model call was under way comes with the commit
    that ends the call, behind all that the call streamed.
    """
    teller, flight = _Teller(telling), Flight(telling.run_id)
    held: list[Tell] = []
    for commit in commits:
        before = flight.call
        for seq, event in commit.numbered():
            flight.take(seq, event)
            held += teller.told(event)
        if flight.call is not None and flight.call == before:
            continue
        for position, tell in enumerate(held):
            cursor = frame_cursor(commit.last_seq, position, len(held))
            if cursor > after:
                yield RunFrame(cursor, *tell())
        held = []
        if teller.is_over:
            return
        if flight.call is not None:
            yield from _streamed(telling, flight.call.dispatch_seq, commit.last_seq, after)


def _streamed(telling: Telling, dispatch_seq: int, last_seq: int, after: int) -> Iterator[RunFrame]:
    seen = deltas_seen(last_seq, after)
    if seen == DELTAS_UPTO:
        return
    for delta in telling.deltas(dispatch_seq, seen):
        cursor = delta_cursor(last_seq, delta.n)
        told = delta_frame(delta)
        if cursor is None:
            return
        if told is not None and cursor > after and delta.turn_id == telling.run_id:
            yield RunFrame(cursor, *told)


class _Teller:
    """Tells one event after the other; it remembers what later ones refer to."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._tools = ToolTeller(telling.echo)
        self._steps: dict[tuple[str, int], int] = {}
        self.is_over = False

    def told(self, event: Event) -> Iterator[Tell]:
        """Yield the frames of an event; none after the one that ends the run."""
        if event.turn_id != self._telling.run_id or self.is_over:
            return
        match event:
            case TurnStarted():
                yield self._started
            case StepStarted(step=step):
                self._steps[event.call_id, event.attempt] = step
            case ModelCallCompleted():
                yield partial(assistant_message, event, self._turn(event))
            case ModelCallAborted(partial_text=text) if text:
                yield partial(last_words, text, self._turn(event))
            case LoopDetected():
                yield partial(_loop_detected, event)
            case ToolBudgetExceeded():
                yield partial(_tool_budget_exceeded, event)
            case TurnCompleted() | InboxDiscarded():
                self.is_over = True
                yield lambda: self._telling.outcome().told()
            case _:
                pass
        yield from self._tools.told(event)

    def _started(self) -> Told:
        about = {"runId": self._telling.run_id, "sessionId": self._telling.session_id}
        return "started", about

    def _turn(self, event: ModelCallCompleted | ModelCallAborted) -> int:
        return max(self._steps.get((event.id, event.attempt), 0) - 1, 0)


def _loop_detected(event: LoopDetected) -> Told:
    return "loop_detected", {
        "consecutiveCount": event.consecutive_count,
        "hardCutoff": event.hard_cutoff,
        "tools": list(event.tools),
    }


def _tool_budget_exceeded(event: ToolBudgetExceeded) -> Told:
    return "tool_budget_exceeded", {
        "tool": event.tool,
        "maxCalls": event.max_calls,
        "callIndex": event.call_index,
    }
