"""Hands a slow delivery to the step machine, or says why it stays the driver's; runs no tool."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from everturn.delivery.function_answer import refused
from everturn.delivery.function_guard import check_function
from everturn.drive.decision import DELIVERY_LIMIT_S
from everturn.drive.holding import MakeCommand
from everturn.errors import TransientError
from everturn.ports.decider import DeliveryCode, DeliveryFailed
from everturn.ports.directory import AgentRecord
from everturn.protocol.json_text import compact
from everturn.protocol.limits import MAX_STEP_REQUEST_BYTES
from everturn.session.commands import DeliverDirectly, Deliveries
from everturn.session.state import Call, Decision

PATIENCE_S: Final = 20.0
"""How long a step machine that does not answer is asked again, before the wake-up goes back."""

FIRST_WAIT_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class SlowDelivery:
    """One delivery that the log says is the machine's to make."""

    decision: Decision
    call: Call
    request: Mapping[str, Any]
    record: AgentRecord | None
    """The agent at this moment."""

    is_fresh: bool
    """This driver has recorded it, so that nobody can have begun it."""


def obstacle(
    slow: SlowDelivery, allowed: str, deliveries: Deliveries
) -> MakeCommand | DeliveryFailed | None:
    """Say what keeps a delivery from the machine: a command for the driver, or a failure.

    `None` where nothing does. Source: architecture, section 5; storage-and-commits, "Streams".
    """
    size_bytes = len(compact(dict(slow.request)).encode())
    if size_bytes > MAX_STEP_REQUEST_BYTES:
        timeout_s = slow.call.retry.timeout_secs or 0
        if timeout_s > DELIVERY_LIMIT_S:
            return _too_large(size_bytes, timeout_s)
        return _directly(slow, deliveries)
    if not is_function(slow.record):
        return _directly(slow, deliveries) if slow.is_fresh else None
    refusal = check_function(slow.record.worker if slow.record else "", allowed)
    return refused(refusal.reason) if refusal else None


def is_function(record: AgentRecord | None) -> bool:
    """Return whether the agent's worker is still one that the machine can invoke."""
    return record is not None and record.worker_is_function


def patiently(
    start: Callable[[], None],
    revoked: Callable[[], bool],
    patience_s: float = PATIENCE_S,
    *,
    now_s: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Start an execution, again and again while that may help: siblings are under way meanwhile.

    Raises the last `TransientError`.
    """
    until, pause_s = now_s() + patience_s, FIRST_WAIT_S
    while True:
        try:
            start()
        except TransientError:
            if revoked() or now_s() + pause_s > until:
                raise
            wait(pause_s)
            pause_s *= 2
        else:
            return


def _directly(slow: SlowDelivery, deliveries: Deliveries) -> MakeCommand:
    decision = slow.decision
    return lambda stamp, facts: DeliverDirectly(
        stamp, facts, decision.id, decision.attempt, deliveries
    )


def _too_large(size_bytes: int, timeout_s: float) -> DeliveryFailed:
    told = (
        f"the request has {size_bytes} bytes: a tool with timeout_secs {timeout_s:g} takes up to "
        f"{MAX_STEP_REQUEST_BYTES}, one with {DELIVERY_LIMIT_S} or less takes more"
    )
    return DeliveryFailed(told, DeliveryCode.TOO_LARGE, retryable=False, started="no")
