"""The effects that a driver has under way, each on a thread; their news meet in one mailbox."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread

from everturn.drive.holding import MakeCommand
from everturn.ports.sessions import Head
from everturn.ports.streams import Watch
from everturn.session.propose import Effect


@dataclass(frozen=True, slots=True)
class Ended:
    """An effect is over; `make` settles it, `error` is what it did not foresee."""

    effect: Effect
    make: MakeCommand | None = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What the watch saw."""

    head: Head | None
    watch: Watch


Mail = Ended | Seen


@dataclass(slots=True)
class Running:
    """One effect under way."""

    effect: Effect
    revoked: Event = field(default_factory=Event)


Body = Callable[[Effect, Callable[[], bool]], MakeCommand | None]
"""Runs an effect; the second argument tells that nobody wants its outcome any more."""


class Effects:
    """Starts, revokes and collects."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._running: dict[Effect, Running] = {}
        self.mailbox: SimpleQueue[Mail] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, effect: Effect) -> bool:
        return effect in self._running

    def start(self, effect: Effect) -> None:
        """Run `effect` on a thread of its own."""
        running = Running(effect)
        self._running[effect] = running

        def run() -> None:
            try:
                mail = Ended(effect, self._body(effect, running.revoked.is_set))
            except BaseException as error:  # noqa: BLE001  # handed to the loop, which sorts it
                mail = Ended(effect, error=error)
            self.mailbox.put(mail)

        self.spawn(run, f"effect-{type(effect).__name__}")

    def spawn(self, run: Callable[[], None], name: str) -> None:
        """Have `run`, which raises nothing, done beside the loop."""
        Thread(target=run, name=name, daemon=True).start()

    def keep_only(self, wanted: tuple[Effect, ...]) -> None:
        """Revoke what is not wanted any more."""
        for effect in [one for one in self._running if one not in wanted]:
            self._running.pop(effect).revoked.set()

    def revoke_all(self) -> None:
        """Revoke everything; nobody waits for the threads."""
        self.keep_only(())

    def done(self, effect: Effect) -> bool:
        """Forget an effect that ended; returns whether its outcome is still wanted."""
        return self._running.pop(effect, None) is not None

    def next(self, timeout_s: float) -> Mail | None:
        """Return the next mail, `None` if there is none in time."""
        try:
            return self.mailbox.get(timeout=max(0.0, timeout_s))
        except Empty:
            return None
