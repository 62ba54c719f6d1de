"""Has the step machine wake the session later; what is due then is decided when it fires."""

from __future__ import annotations

from typing import Final

from everturn.drive.holding import Holding
from everturn.ports.wake import Wake
from everturn.session.propose import Proposals

SLEPT_MS: Final = 10_000
"""Waits up to this are slept in the driver. Source: architecture, section 4."""


def schedule(wake: Wake, holding: Holding, proposals: Proposals) -> None:
    """Ask for a wake-up at the next due moment; asking twice is one. Raises `TransientError`."""
    if proposals.next_due_ms is None:
        return
    head = holding.head
    wake.at(
        holding.key,
        head.created,
        "timer",
        head.version,
        proposals.next_due_ms,
        proposals.due_subject,
    )
