"""What a turn may cost, and whether it does; it measures and prints nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.model_imports import DRIVER, Imports
from bench.models import Compared
from bench.turns import KINDS, Kind, Measured

REQUESTS: Final[dict[Kind, int]] = {"plain": 12, "one-tool": 20}
WRITE_UNITS: Final[dict[Kind, int]] = {"plain": 20, "one-tool": 40}
"""The turn itself, the queue's receive and delete included."""

GROWTH: Final = 0.10
"""How much more the oldest measured turn may take than one of middle age."""

TOKEN_SHARE: Final = 0.5
"""Of a provider's client's processor time, how much our adapter may take for a token."""

IMPORT_SHARE: Final = 0.33
"""Of a provider's client's import, what our adapter may add to a driver's cold start."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One limit and what was measured against it."""

    name: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the measured value is within the limit."""
        return self.value <= self.limit


def bars(measured: Sequence[Measured]) -> list[Bar]:
    """Return every bar: the dearest turn of each kind, and the growth of each session."""
    return [bar for kind in KINDS for bar in _of_kind(kind, measured)]


def token_bars(compared: Iterable[Compared]) -> list[Bar]:
    """Return a bar for each stream that came as fast as it was read."""
    return [
        Bar(
            f"{one.wire}: processor time of a token beside {one.client}",
            round(one.share(lambda reading: reading.cpu_us), 2),
            TOKEN_SHARE,
        )
        for one in compared
        if not one.paced
    ]


def import_bars(imports: Iterable[Imports]) -> list[Bar]:
    """Return a bar for each adapter that a driver imports beside what it has."""
    return [
        Bar(
            f"{ours.name}: import after the driver's beside {theirs.name}",
            round(share, 2),
            IMPORT_SHARE,
        )
        for one in imports
        if one.after == DRIVER
        for ours, theirs, share in one.shares()
    ]


def _of_kind(kind: Kind, measured: Iterable[Measured]) -> list[Bar]:
    turns = [one for one in measured if one.kind == kind]
    requests = max(one.itself.requests for one in turns)
    units = max(one.itself.write_units for one in turns)
    found = [
        Bar(f"{kind}: requests of the dearest turn", requests, REQUESTS[kind]),
        Bar(f"{kind}: write units of the dearest turn", units, WRITE_UNITS[kind]),
    ]
    for watched in (False, True):
        found += _growth(kind, watched, [one for one in turns if one.watched is watched])
    return found


def _growth(kind: Kind, watched: bool, turns: list[Measured]) -> list[Bar]:
    """Compare the last turn with the one before it; the first turn creates the session."""
    if len(turns) < len(("first", "middle", "last")):
        return []
    *_, middle, last = sorted(turns, key=lambda one: one.number)
    name = (
        f"{kind}{', watched' if watched else ''}: {{}}, turn {last.number} beside {middle.number}"
    )
    return [
        Bar(
            name.format("requests"),
            last.itself.requests,
            middle.itself.requests * (1 + GROWTH),
        ),
        Bar(
            name.format("write units"),
            last.itself.write_units,
            middle.itself.write_units * (1 + GROWTH),
        ),
    ]
