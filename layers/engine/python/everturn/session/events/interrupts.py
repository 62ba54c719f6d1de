"""Events of interrupts: somebody pauses the path, somebody lets it go on."""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Anchor, Json, Stored

Origin = Literal["frontend", "machine", "system"]
"""Who raised it, by privilege; who is below may not resume it. Source: I-10, I-11."""


class SessionInterrupted(Stored):
    """The path is paused. Source: decision-protocol I-1."""

    type: Literal["session.interrupted"] = "session.interrupted"
    interrupt_id: str
    origin: Origin
    reason: str
    payload: Json = None
    anchor: Anchor | None = None
    """Where it stands; without one it pauses every branch."""

    subject_call: str | None = None
    """The call whose execution raised it, which stays open. Source: I-13."""


class InterruptResumed(Stored):
    """One interrupt is cleared. Source: decision-protocol I-8."""

    type: Literal["session.interrupt_resumed"] = "session.interrupt_resumed"
    interrupt_id: str
    payload: Json = None
