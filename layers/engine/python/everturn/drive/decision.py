"""Delivers a decision to the worker of an agent: where, how signed, how long, and if it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from everturn.drive.holding import MakeCommand
from everturn.errors import TransientError
from everturn.ports.decider import Decider, DeliveryFailed, WorkerAnswer, WorkerTarget
from everturn.ports.directory import AgentRecord
from everturn.protocol.json_text import compact
from everturn.session.commands import Deliveries, FailDelivery
from everturn.session.state import Decision

DELIVERY_LIMIT_S: Final = 300
"""Longest that one delivery may take. Source: architecture, section 4."""


def deliver(
    decider: Decider,
    record: AgentRecord | None,
    secrets: Callable[[Mapping[str, Any]], str],
    request: dict[str, Any],
    *,
    timeout_s: float,
    cancelled: Callable[[], bool],
    on_delta: Callable[[str], None] | None = None,
) -> WorkerAnswer:
    """Send `request` to the worker that the agent has at this moment. Source: O-19, O-2."""
    if record is None or not record.worker:
        return DeliveryFailed("the agent has no worker any more", "no_worker", False, "no")
    is_signed = record.worker_secret and not record.worker_is_function
    try:
        secret = secrets(record.worker_secret or {}) if is_signed else ""
    except TransientError as error:  # nothing was sent: the delivery is made again
        return DeliveryFailed(error.message, error.code, True, "no")
    return decider.deliver(
        WorkerTarget(record.worker, secret),
        compact(request).encode(),
        decision_id=request["decision_id"],
        attempt=request["attempts"],
        timeout_s=max(0.001, min(timeout_s, DELIVERY_LIMIT_S)),
        idempotency_key=request["trigger"].get("idempotency_key"),
        cancelled=cancelled,
        on_delta=on_delta,
    )


def failed_delivery(
    failure: DeliveryFailed, decision: Decision, deliveries: Deliveries
) -> MakeCommand:
    """Return the command that a failed delivery means. Source: decision protocol D-8 to D-10."""
    return lambda stamp, facts: FailDelivery(
        stamp,
        facts,
        decision.id,
        decision.attempt,
        error=failure.error,
        code=failure.code,
        retryable=failure.retryable,
        started=failure.started,
        invalid=failure.invalid,
        retry_after_s=failure.retry_after_s,
        deliveries=deliveries,
    )
