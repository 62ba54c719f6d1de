"""What a model call's failed attempt leads to: another one, or what the call's end means.

It must not start an attempt; that is `model_call`'s.
"""

from __future__ import annotations

from everturn.session.commands import ModelFailure
from everturn.session.decide.questions import drop_questions_about, queue_finished
from everturn.session.decide.turn_end import end_step, fail_turn
from everturn.session.events.model_calls import ModelCallErrored
from everturn.session.journal import Journal
from everturn.session.retries import max_attempts, wait_ms
from everturn.session.state import Call


def fail_attempt(
    journal: Journal, call: Call, failure: ModelFailure, *, attempt: int | None = None
) -> None:
    """Schedule the next attempt, or end the turn where none is left.

    `attempt` is the one that failed where it is not the running one: it was not allowed to start.
    Source: decision-protocol R-3, O-4 (`on_failure: fail`).
    """
    policy = call.retry
    again = failure.retryable and call.attempt < max_attempts(policy)
    wait = wait_ms(
        policy.backoff_base_secs, policy.backoff_max_secs, call.attempt, failure.retry_after_s
    )
    seq = journal.add(
        ModelCallErrored(
            turn_id=call.turn_id or None,
            id=call.id,
            attempt=call.attempt if attempt is None else attempt,
            error=failure.error,
            code=failure.code,
            detail=failure.detail,
            retryable=again,
            next_attempt_at_ms=journal.now_ms + wait if again else None,
            usage=failure.usage,
            cost=failure.cost,
        )
    )
    end_step(journal)
    if again:
        return
    if _is_recovered_by_worker(journal):
        drop_questions_about(journal, call.id, "call_settled")
        queue_finished(journal, "llm.finished", call, seq)
        return
    fail_turn(journal, failure.error, failure.code, failure.detail)


def _is_recovered_by_worker(journal: Journal) -> bool:
    """Return whether the worker decides what a failed model call means. Source: O-4."""
    fails = journal.facts.agent.config.get("on_failure") == "fail"
    return journal.session.decides == "worker" and not fails
