"""One `Decider` in front of several: the target says which; delivers nothing itself."""

from __future__ import annotations

from collections.abc import Callable

from everturn.ports.decider import Decider, WorkerAnswer, WorkerTarget
from everturn.ports.directory import ARN_PREFIX


class DeciderByTarget:
    """Gives webhooks to one decider and functions to another."""

    def __init__(self, webhooks: Decider, functions: Decider) -> None:
        self._webhooks = webhooks
        self._functions = functions

    def deliver(
        self,
        target: WorkerTarget,
        body: bytes,
        *,
        decision_id: str,
        attempt: int,
        timeout_s: float,
        idempotency_key: str | None,
        cancelled: Callable[[], bool],
        on_delta: Callable[[str], None] | None = None,
    ) -> WorkerAnswer:
        """Have the decider of the target deliver."""
        is_function = target.url.startswith(ARN_PREFIX)
        return (self._functions if is_function else self._webhooks).deliver(
            target,
            body,
            decision_id=decision_id,
            attempt=attempt,
            timeout_s=timeout_s,
            idempotency_key=idempotency_key,
            cancelled=cancelled,
            on_delta=on_delta,
        )
