"""Counts coverage in tests of the engine's parts only; it knows no test.

Tests of the whole pass through most of it: they prove little of a line, and take twice as long
while lines are counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coverage import Coverage

OF_THE_WHOLE: Final = frozenset({"e2e", "faults"})
"""Folders whose tests play whole sessions."""

HERE: Final = Path(__file__).parent


@dataclass(slots=True)
class Counting:
    """Stops and goes on with whatever measures this process, if anything does."""

    _stopped: list[Coverage] = field(default_factory=list)

    def in_test_of(self, file: Path) -> None:
        """Count, or do not, in the tests of a file."""
        if OF_THE_WHOLE.isdisjoint(file.relative_to(HERE).parts):
            self._go_on()
        else:
            self._stop()

    def _stop(self) -> None:
        while measuring := Coverage.current():  # in a worker of xdist there are two of them
            measuring.stop()
            self._stopped.append(measuring)

    def _go_on(self) -> None:
        while self._stopped:
            self._stopped.pop().start()


COUNTING: Final = Counting()
"""Of this process."""
