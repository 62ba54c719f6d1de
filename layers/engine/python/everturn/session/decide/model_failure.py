"""What a model call's failed attempt leads to: another one, or what the call's end means.

It must not start an attempt; that is `model_call`'s.
"""

from __future__ import annotations

from typing import Final, Literal

from everturn.session.commands import ModelFailure
from everturn.session.decide.pausing import pause
from everturn.session.decide.questions import drop_questions_about, queue_finished
from everturn.session.decide.turn_end import end_step, fail_turn
from everturn.session.events.decisions import DecisionCompleted, DecisionQueued
from everturn.session.events.guards import ModelFellBack
from everturn.session.events.model_calls import ModelCallCompleted, ModelCallErrored
from everturn.session.ground import Ground
from everturn.session.journal import Journal
from everturn.session.proposal import proposal
from everturn.session.refs import Ref
from everturn.session.retries import max_attempts, wait_ms
from everturn.session.state import Call
from everturn.session.trigger import llm_finished
from everturn.session.turn_model import fallback_after, model_of_calls

OVER_BUDGET: Final = "budget_exceeded"
"""Code of a call that no budget has room for. Source: decision-protocol Y-4."""


def fail_attempt(
    journal: Journal, call: Call, failure: ModelFailure, *, attempt: int | None = None
) -> None:
    """Schedule the next attempt; where none is left, end the turn or have somebody decide.

    `attempt` is the one that failed where it is not the running one: it was not allowed to start.
    Source: decision-protocol R-3, O-4 (`on_failure`).
    """
    policy = call.retry
    again = failure.retryable and call.attempt < max_attempts(policy)
    wait = wait_ms(
        policy.backoff_base_secs, policy.backoff_max_secs, call.attempt, failure.retry_after_s
    )
    errored = ModelCallErrored(
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
    seq = journal.add(errored)
    if not again and _falls_back(journal, call, failure):
        return
    end_step(journal)
    if again:
        return
    if not wants_pause(journal, "on_failure"):
        fail_turn(journal, failure.error, failure.code, failure.detail)
        return
    drop_questions_about(journal, call.id, "call_settled")
    if journal.session.decides == "worker":
        queue_finished(journal, "llm.finished", call, seq)
    else:
        pause_at_end(journal, errored, {})


def _falls_back(journal: Journal, call: Call, failure: ModelFailure) -> bool:
    """Have the turn go on with the next model of its config, where one is left.

    The step stays open: whatever the command is, it ends with asking that model. Where the worker
    decides or runs its calls, there is none; a budget that is used up is so for every model.
    """
    session, turn = journal.session, journal.session.turn
    is_ours = session.decides == "engine" and call.handler == "server"
    if turn is None or turn.id != call.turn_id or not is_ours or failure.code == OVER_BUDGET:
        return False
    model = fallback_after(journal.facts, turn)
    if model is None:
        return False
    journal.add(
        ModelFellBack(
            turn_id=turn.id,
            id=call.id,
            from_model=model_of_calls(journal.facts, turn),
            to_model=model,
        )
    )
    return True


def wants_pause(journal: Journal, wish: Literal["on_failure", "on_truncated"]) -> bool:
    """Return whether somebody decides what the end of a model call means. Source: O-4."""
    default = "interrupt" if journal.session.decides == "worker" else "go on"
    return (journal.facts.agent.config.get(wish) or default) == "interrupt"


def pause_at_end(
    journal: Journal, end: ModelCallCompleted | ModelCallErrored, refs: dict[str, Ref]
) -> None:
    """Pause as the engine proposes it where somebody else decides. Source: 8.7, I-11."""
    decision_id = decide_finished(journal, "llm.finished", end.id)
    ground = Ground(journal.session.session_id, decision_id, journal.facts.agent.config)
    (action,) = proposal(llm_finished(end), ground)["actions"]
    stand = {place.removeprefix("payload.") for place in refs}
    told = {name: value for name, value in action["payload"].items() if name not in stand}
    pause(journal, action["interrupt_id"], "frontend", action["reason"], told, refs=refs)


def decide_finished(journal: Journal, trigger: str, call_id: str) -> str:
    """Ask what the end of a call means, and answer; return the question's id. Source: O-6."""
    decision_id = journal.mint()
    journal.add(
        DecisionQueued(
            turn_id=journal.turn_id, id=decision_id, trigger_type=trigger, call_id=call_id
        )
    )
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision_id))
    return decision_id
