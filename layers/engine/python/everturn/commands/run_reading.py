"""What one answer needs of a run's log: as far back as it must be, as far on as it holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from everturn.commands.find_run import FoundRun, outcome_in, requested, run_vanishing
from everturn.commands.read_events import COMMITS_PER_READ, PAGE_BYTES, PAGE_EVENTS
from everturn.ports.runs import RunPlace
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.streams import Delta
from everturn.runs.bodies import told_of
from everturn.runs.cursor import reached
from everturn.runs.frames import RunFrame
from everturn.runs.outcome import RunOutcome
from everturn.runs.reach import is_enough
from everturn.runs.telling import Telling, frames_of
from everturn.runs.tools import echo_of

LOOK_BACK: Final = 32
"""Events before a cursor that are read at once: mostly all that a step has."""

WIDER: Final = 4
"""How many times as far the next look goes."""


class RunReading:
    """A run from one cursor on; asked again, it reads what is new."""

    def __init__(self, store: SessionStore, key: SessionKey, place: RunPlace, after: int) -> None:
        self._store = store
        self._key = key
        self._place = place
        self._after = after
        self._at = reached(after)
        self._commits: tuple[Logged, ...] = ()
        self._look_back = LOOK_BACK
        self._first_seq = 0

    def frames(self, found: FoundRun) -> tuple[RunFrame, ...]:
        """Return what is behind the cursor, at most an answer full; none where nothing is there.

        Raises `UnknownRun` where the session is deleted meanwhile.
        """
        if not found.first_seq:
            return ()
        self._first_seq = found.first_seq
        with run_vanishing(self._store, self._key):
            while True:
                is_all = self._read_on(found)
                frames = tuple(self._told())
                if frames or is_all:
                    return frames

    def _read_on(self, found: FoundRun) -> bool:
        """Read one page more, and as far back as that needs; return whether that was the end."""
        end = found.last_seq or found.head.session.seq
        known = self._commits[-1].last_seq if self._commits else self._begin(end) - 1
        page = self._store.page(self._key, known, COMMITS_PER_READ) if known < end else ()
        self._commits += self._with_bodies(page)
        while not self._is_enough() and self._look_further():
            pass
        return not page or page[-1].last_seq >= end

    def _begin(self, end: int) -> int:
        return max(self._first_seq, min(self._at.seq, end) - self._look_back)

    def _is_enough(self) -> bool:
        if not self._commits or self._commits[0].first_seq <= self._first_seq:
            return True
        return is_enough(self._place.run_id, self._commits, self._at)

    def _look_further(self) -> bool:
        self._look_back *= WIDER
        begin = self._commits[0].first_seq
        low = max(self._first_seq, begin - self._look_back)
        earlier = self._store.log(self._key, low, begin - 1)
        self._commits = self._with_bodies(earlier) + self._commits
        return bool(earlier)

    def _with_bodies(self, commits: tuple[Logged, ...]) -> tuple[Logged, ...]:
        return self._store.materialise(self._key, told_of(self._place.run_id, commits))

    def _told(self) -> Iterator[RunFrame]:
        """Yield frames up to what an answer may hold; a single larger one still goes."""
        deltas = _Deltas(self._store, self._key)
        run_id = self._place.run_id
        telling = Telling(run_id, self._key.session, self._echo, self._outcome, deltas.of)
        size_bytes = 0
        for frame in frames_of(telling, self._commits, self._after):
            before, size_bytes = size_bytes, size_bytes + len(frame.text().encode())
            if before and size_bytes > PAGE_BYTES:
                return
            yield frame

    def _echo(self, name: str) -> Mapping[str, Any] | None:
        return echo_of(self._requested.get("spec", {}).get("tools") or (), name)

    @cached_property
    def _requested(self) -> Mapping[str, Any]:
        return requested(self._store, self._key, self._place)

    def _outcome(self) -> RunOutcome:
        run_id, upto_seq = self._place.run_id, self._commits[-1].last_seq
        return outcome_in(self._store, self._key, run_id, self._first_seq, upto_seq)


class _Deltas:
    """What the model calls of a session streamed, read in order and once."""

    def __init__(self, store: SessionStore, key: SessionKey) -> None:
        self._store = store
        self._key = key
        self._read: deque[Delta] = deque()
        self._place = (0, 0)
        self._is_all = False

    def of(self, dispatch_seq: int, after_n: int) -> Iterator[Delta]:
        """Yield what a call streamed behind a delta; calls are asked for in their order."""
        while self._read or self._read_on((dispatch_seq, after_n)):
            place = (self._read[0].dispatch_seq, self._read[0].n)
            if place <= (dispatch_seq, after_n):
                self._read.popleft()
            elif place[0] == dispatch_seq:
                yield self._read.popleft()
            else:
                return

    def _read_on(self, behind: tuple[int, int]) -> bool:
        if self._is_all:
            return False
        page = self._store.deltas(self._key, *max(self._place, behind), PAGE_EVENTS)
        self._is_all = len(page) < PAGE_EVENTS
        self._read.extend(page)
        if page:
            self._place = (page[-1].dispatch_seq, page[-1].n)
        return bool(page)
