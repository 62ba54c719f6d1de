"""A driver's threads, one at a time and always in the same order; nothing waits for real time.

It must not know what the threads do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty
from threading import Lock, Thread, local
from typing import Final

from everturn.drive.effects import Body, Effects, Mail
from everturn.drive.watch import INTERVAL_S, Saw
from everturn.errors import EverturnError
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from faults.process import Killed, Process
from unit.drive.doubles import FrozenClock

_CURRENT: Final = local()


class _Strand:
    """A thread that runs from one turnstile to the next, when it is told to; used again and again.

    Each lock is held by whoever waits for the other side.
    """

    def __init__(self) -> None:
        self.done = True
        self._run: Callable[[], None] = lambda: None
        self._go, self._stopped = Lock(), Lock()
        self._go.acquire()
        self._stopped.acquire()
        Thread(target=self._main, name="strand", daemon=True).start()

    def _main(self) -> None:
        _CURRENT.strand = self
        while True:
            self._go.acquire()
            self._run()
            self.done = True
            self._stopped.release()

    def take(self, run: Callable[[], None]) -> None:
        """Be given something to run at the next step."""
        self.done, self._run = False, run

    def step(self) -> None:
        """Let it run to its next turnstile, or to its end."""
        self._go.release()
        self._stopped.acquire()

    def pause(self) -> None:
        """Stop here until the next step; called by the thread itself."""
        self._stopped.release()
        self._go.acquire()


_IDLE: Final[list[_Strand]] = []


class Stepwise:
    """The concurrency of one driver: `Tools.new_effects` and `Tools.watching`."""

    def __init__(self, process: Process, clock: FrozenClock, meanwhile: Callable[[], None]) -> None:
        self._process = process
        self._clock = clock
        self._meanwhile = meanwhile
        self._strands: deque[_Strand] = deque()
        self._look: Callable[[], None] | None = None
        self._looked_ms = 0

    def effects(self, body: Body) -> Effects:
        """Return effects that run when the driver's loop waits."""
        return _Effects(body, self)

    @contextmanager
    def watching(self, store: SessionStore, key: SessionKey, saw: Saw) -> Iterator[None]:
        """Look once a second of simulated time, when the driver's loop waits."""

        def look() -> None:
            try:
                head, watch = store.head_and_watch(key)
            except EverturnError:
                return
            saw(head, watch)

        self._look, self._looked_ms = look, self._clock.now
        yield
        self._look = None

    def turnstile(self) -> None:
        """Let the others go on; an effect passes here where it holds no lock. Raises `Killed`."""
        strand: _Strand = _CURRENT.strand
        strand.pause()
        if self._process.dead:
            raise Killed

    def spawn(self, run: Callable[[], None]) -> None:
        """Add a thread; it does not begin yet."""
        strand = _IDLE.pop() if _IDLE else _Strand()
        strand.take(run)
        self._strands.append(strand)

    def wait(self, timeout_s: float) -> None:
        """Do what happens while the loop waits: a look, a step of a thread, others' work."""
        if self._look is not None and self._clock.now - self._looked_ms >= INTERVAL_S * 1000:
            self._looked_ms = self._clock.now
            self._look()
        if not self._step():
            self._clock.sleep(max(0.0, timeout_s))
        self._meanwhile()

    def _step(self) -> bool:
        if not self._strands:
            return False
        strand = self._strands.popleft()
        strand.step()
        (_IDLE if strand.done else self._strands).append(strand)
        return True

    def bury(self) -> None:
        """End every thread: the process is gone, or will never run again."""
        self._process.dead = True
        while self._step():
            pass


class _Effects(Effects):
    """`Effects` whose threads are stepped."""

    def __init__(self, body: Body, stepwise: Stepwise) -> None:
        super().__init__(body)
        self._stepwise = stepwise

    def spawn(self, run: Callable[[], None], name: str) -> None:
        """Add a thread that waits for its turn."""
        del name
        self._stepwise.spawn(run)

    def next(self, timeout_s: float) -> Mail | None:
        """Return the next mail, `None` where one round of the others brings none."""
        if self.mailbox.empty():
            self._stepwise.wait(timeout_s)
        try:
            return self.mailbox.get_nowait()
        except Empty:
            return None
