"""One frame of a run's stream, and how it is written; what frames there are is told elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from everturn.protocol.json_text import compact

TERMINAL: Final = frozenset({"result", "error", "cancelled"})
"""Exactly one of these ends a run. Source: agent-runs 4.8."""

URGENT: Final = TERMINAL | {"local_tool_call"}
"""What a client has to know at once. Source: agent-runs.md, "The stream"."""

NOTHING_NEW: Final = ": nothing new\n\n"

Told = tuple[str, dict[str, Any]]
"""A frame's type and data."""

Tell = Callable[[], Told]
"""A frame that is made once somebody wants it: a number can be given without that."""


@dataclass(frozen=True, slots=True)
class RunFrame:
    """One frame; `seq` is its number and the cursor."""

    seq: int
    type: str
    data: dict[str, Any]

    def text(self) -> str:
        """Return its server-sent event: its data beside the envelope that has them once more.

        Some clients read the one, some the other. Source: agent-runs.md, "The stream".
        """
        envelope = {"seq": self.seq, "type": self.type, "data": self.data}
        body = compact({**self.data, **envelope})
        return f"id: {self.seq}\nevent: {self.type}\ndata: {body}\n\n"
