"""What the session store in memory keeps of one session; how it changes stands elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from everturn.ports.sessions import Head, Logged, NodePlace, TurnRecord, VersionKind
from everturn.ports.streams import Delta, Watch


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stands in the place of a deleted session's head."""

    created: str
    mark: str
    due_epoch_s: int


@dataclass(slots=True)
class Kept:
    """All that is kept of one session."""

    head: Head | None = None
    log: list[Logged] = field(default_factory=list)
    nodes: dict[str, NodePlace] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    branches: dict[int, int] = field(default_factory=dict)
    versions: dict[tuple[VersionKind, int, int], int] = field(default_factory=dict)
    turns: dict[str, TurnRecord] = field(default_factory=dict)
    watch: Watch = field(default_factory=Watch)
    deltas: dict[tuple[int, int], Delta] = field(default_factory=dict)
    last_turn_ms: int = 0
    tombstone: Tombstone | None = None
