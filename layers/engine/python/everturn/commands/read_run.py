"""Reads a run: how it stands, and its stream, which waits for what comes next.

Source: agent-runs.md, "The stream".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from everturn.commands.find_run import (
    FoundRun,
    find_run,
    outcome_in,
    place_of,
    requested,
    run_vanishing,
)
from everturn.commands.read_events import POLL_S, READER_GRACE_MS
from everturn.commands.run_reading import RunReading
from everturn.errors import TransientError
from everturn.observability import logger
from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.ports.runs import RunIndex, RunPlace
from everturn.ports.session_store import SessionStore
from everturn.rejections import SessionQuarantined
from everturn.runs.cursor import end_cursor, reached
from everturn.runs.failures import QUARANTINED
from everturn.runs.frames import URGENT, RunFrame
from everturn.runs.outcome import RunOutcome, shown_model, tokens_of
from everturn.session.events.shape import Usage

WAIT_S: Final = 20.0
"""How long an answer waits for a first frame: 20 to 25 s by the contract.

What is left of the function's 29 s is for a last look at a table that is busy.
"""

GATHER_S: Final = 0.1
"""How long others may join the first frame that was waited for."""

OVER_S: Final = 5.0
"""How long a client waits that comes back to a run whose end it has seen.

Nothing will follow, but an answer at once would have it come back hundreds of times a second.
"""

ASIDE: Final = RunOutcome(
    "failed", failure=QUARANTINED, tokens=tokens_of(Usage()), model=shown_model("", None)
)


@dataclass(frozen=True, slots=True)
class RunStreamed:
    """What a client gets before it comes back; without a frame it gets a comment."""

    frames: tuple[RunFrame, ...] = ()


class ReadRun:
    """The use cases behind `GET /agent-runs/{id}` and its stream."""

    def __init__(
        self,
        store: SessionStore,
        runs: RunIndex,
        clock: Clock,
        sleep: Callable[[float], None],
        wait_s: float = WAIT_S,
    ) -> None:
        self._store = store
        self._runs = runs
        self._clock = clock
        self._sleep = sleep
        self._wait_s = wait_s

    def get(self, caller: Caller, run_id: str) -> dict[str, Any]:
        """Return how a run stands, as its route answers. Raises `UnknownRun`.

        What it cost is known once it is over: the whole turn is read then.
        """
        place = place_of(self._runs, caller, run_id)
        found = find_run(self._store, caller, place)
        with run_vanishing(self._store, found.key):
            run = requested(self._store, found.key, place)
            outcome = self._outcome(found)
        named = {"name": run["name"]} if run.get("name") else {}
        return {
            "runId": run_id,
            "sessionId": place.session,
            **named,
            **outcome.shown(),
            "spec": run.get("spec") or {},
            "metadata": run.get("metadata") or {},
        }

    def _outcome(self, found: FoundRun) -> RunOutcome:
        if found.status == "over":
            run_id = found.place.run_id
            return outcome_in(self._store, found.key, run_id, found.first_seq, found.last_seq)
        return RunOutcome(found.status) if found.head.quarantined is None else ASIDE

    def stream(self, caller: Caller, run_id: str, after: int) -> RunStreamed:
        """Return what lies behind the cursor, or wait for it. Raises `UnknownRun`.

        A store that is busy is waited for as well: any answer but a stream ends a client's run.
        """
        until_ms = self._clock.now_ms() + round(self._wait_s * 1000)
        look = _Look(self._store, self._runs, caller, run_id, after)
        has_waited = is_known = False
        while True:
            seen = look()
            if seen.frames:
                is_late = self._clock.now_ms() >= until_ms
                gathers = has_waited and not is_late
                return RunStreamed(self._gathered(seen, look) if gathers else seen.frames)
            if seen.is_over:
                return self.nothing()
            if self._clock.now_ms() >= until_ms:
                return RunStreamed()
            is_known = is_known or self._announce(seen.found, until_ms)
            self._sleep(POLL_S)
            has_waited = True

    def nothing(self) -> RunStreamed:
        """Return no frame, after a while: for who is told nothing, or nothing yet."""
        self._sleep(min(OVER_S, self._wait_s))
        return RunStreamed()

    def _gathered(self, seen: _Seen, look: _Look) -> tuple[RunFrame, ...]:
        """Let others join what was waited for, unless somebody has to know it at once."""
        if any(frame.type in URGENT for frame in seen.frames):
            return seen.frames
        self._sleep(GATHER_S)
        return look().frames or seen.frames

    def _announce(self, found: FoundRun | None, until_ms: int) -> bool:
        """Have what is streamed kept for a reader; return whether that is done."""
        if found is None:
            return False
        try:
            created = found.head.created
            self._store.reader_until(found.key, until_ms + READER_GRACE_MS, created)
        except TransientError as error:
            logger.warning("a reader was not noted yet", reason=type(error).__name__)
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one look found."""

    frames: tuple[RunFrame, ...] = ()
    found: FoundRun | None = None
    is_over: bool = False
    """Nothing will follow, or not before an operator acts."""


class _Look:
    """Looks for what lies behind a cursor, again and again."""

    def __init__(
        self, store: SessionStore, runs: RunIndex, caller: Caller, run_id: str, after: int
    ) -> None:
        self._store = store
        self._runs = runs
        self._caller = caller
        self._run_id = run_id
        self._after = after
        self._place: RunPlace | None = None
        self._reading: RunReading | None = None

    def __call__(self) -> _Seen:
        """Return what is there now; a store that is busy has nothing. Raises `UnknownRun`."""
        try:
            return self._seen()
        except TransientError as error:
            logger.warning("a run could not be read yet", reason=type(error).__name__)
            return _Seen()

    def _seen(self) -> _Seen:
        if self._place is None:
            self._place = place_of(self._runs, self._caller, self._run_id)
        try:
            found = find_run(self._store, self._caller, self._place)
        except SessionQuarantined:
            return self._aside(self._place.seq)
        if self._reading is None:
            self._reading = RunReading(self._store, found.key, self._place, self._after)
        frames = self._reading.frames(found)
        if not frames and found.status != "over" and found.head.quarantined is not None:
            return self._aside(found.head.session.seq)
        return _Seen(frames, found, is_over=found.status == "over")

    def _aside(self, seq: int) -> _Seen:
        """Tell that nothing happens until an operator acts, behind all there is. Told once."""
        cursor = end_cursor(max(seq, reached(self._after).seq))
        if cursor <= self._after:
            return _Seen(is_over=True)
        return _Seen((RunFrame(cursor, *ASIDE.told()),))
