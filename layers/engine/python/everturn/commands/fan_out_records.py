"""A batch of the table's stream: what may work later comes again, what never will is skipped.

It must not judge a session that it cannot read: the driver is woken all the same, and will find
out; dead letters and quarantine are recovery's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic as real_monotonic
from typing import Any, Final

from everturn.commands.fan_out import FanOut
from everturn.errors import ConflictError, NewerFormat, TransientError
from everturn.observability import logger
from everturn.ports.budgets import Spending
from everturn.ports.clock import Clock
from everturn.ports.sessions import Logged, SessionKey
from everturn.store.stream import Announced, announced, is_commit, number_of

BATCH_S: Final = 30.0
"""A batch that takes longer ends there and the rest comes again: half of the timeout."""

DEPLOY_MS: Final = 600_000
"""A commit of later code is waited for so long: then the deploy that made it was taken back."""

REMEMBERED: Final = 2_000
"""Records that a process knows to be done, when a batch comes again because of another one."""

StreamRecord = Mapping[str, Any]
"""As Lambda delivers it."""


@dataclass(frozen=True, slots=True)
class Fanned:
    """What became of a batch."""

    again: str | None = None
    """The number of the first record that has to come again, with all after it."""

    skipped: int = 0
    """Records of which somebody will not be told."""


class FanOutRecords:
    """The use case of the function `fanout`; a session's order is kept."""

    def __init__(
        self,
        fan_out: FanOut,
        read: Callable[[Announced], Logged],
        clock: Clock,
        monotonic: Callable[[], float] = real_monotonic,
        count: Callable[[Spending], None] = lambda _spending: None,
    ) -> None:
        self._fan_out = fan_out
        self._count = count
        self._read = read
        self._clock = clock
        self._monotonic = monotonic
        self._done: OrderedDict[str, None] = OrderedDict()

    def __call__(self, records: Iterable[StreamRecord]) -> Fanned:
        """Fan out the commits among `records`, and see their frames out.

        A session waits for its commit that has to come again; the others do not.
        """
        try:
            return self._all(records)
        finally:
            self._fan_out.flush()

    def _all(self, records: Iterable[StreamRecord]) -> Fanned:
        until = self._monotonic() + BATCH_S
        again: str | None = None
        held_up: set[SessionKey] = set()
        skipped = 0
        for record in records:
            number = number_of(record)
            if self._monotonic() > until:
                again = again or number
                break
            if number in self._done or not is_commit(record):
                continue
            try:
                said = announced(record)
                if said.key in held_up:
                    continue
                if said.spending is not None:
                    self._count(said.spending)
                self._fan_out.told(said.key, said, partial(self._read, said))
            except Exception as error:  # noqa: BLE001  # the family table of errors.py, on a stream
                if self._may_work_later(error, record):
                    logger.warning("fan-out will be repeated", reason=type(error).__name__)
                    again = again or number
                    held_up.add(said.key)
                    continue
                logger.exception("a stream record was skipped", sequence_number=number)
                skipped += 1
            self._remember(number)
        return Fanned(again, skipped)

    def _may_work_later(self, error: Exception, record: StreamRecord) -> bool:
        match error:
            case NewerFormat():
                at_ms = record["dynamodb"].get("ApproximateCreationDateTime", 0) * 1000
                return bool(self._clock.now_ms() - at_ms < DEPLOY_MS)
            case ConflictError() | TransientError():
                return True
            case _:
                return False

    def _remember(self, number: str) -> None:
        self._done[number] = None
        if len(self._done) > REMEMBERED:
            self._done.popitem(last=False)
