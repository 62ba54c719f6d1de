"""Asks for a model call: header, window, request by reference, dispatch to whoever runs it.

It must not know what a model answers.
"""

from __future__ import annotations

from typing import Literal

from everturn.protocol.json_text import canonical
from everturn.protocol.limits import MAX_LLM_CALLS_PER_TURN
from everturn.session.decide.budgets import may_start
from everturn.session.decide.notes import tell_final
from everturn.session.decide.questions import queue
from everturn.session.decide.turn_end import end_step, fail_turn
from everturn.session.events.model_calls import (
    Boundary,
    ModelCallDispatched,
    ModelCallRequested,
    RequestContext,
    RequestHeader,
    RequestPrivate,
)
from everturn.session.events.sessions import StepStarted
from everturn.session.evolve_calls import route_of
from everturn.session.facts import Route
from everturn.session.journal import Journal
from everturn.session.request import DERIVATION, build_request, digest
from everturn.session.retries import model_retry
from everturn.session.state import Call
from everturn.session.turn_model import (
    header_of_calls,
    is_run_by_worker,
    model_of_calls,
    route_of_calls,
)
from everturn.session.window import BYTES_PER_TOKEN, start_for


def open_model_call(journal: Journal) -> None:
    """Add a model call at the head and dispatch it; over a turn's limit of calls the turn fails.

    A turn that a guard took the tools from tells the model so before its last call.
    """
    turn, head = journal.session.turn, journal.session.head
    if turn is None or head is None:
        return
    if turn.model_calls >= MAX_LLM_CALLS_PER_TURN:
        limit = f"a turn may make {MAX_LLM_CALLS_PER_TURN} model calls"
        fail_turn(journal, limit, "budget_exceeded")
        return
    if turn.is_final:
        tell_final(journal, turn)
    session = journal.session
    head = session.head or head
    agent, route = journal.facts.agent, route_of_calls(journal.facts, turn)
    is_workers = is_run_by_worker(agent.config)
    header = header_of_calls(journal.facts, session)
    record_header(journal, header, route)
    answer_tokens = agent.config.get("max_completion_tokens") or route.default_max_tokens or 0
    reserved = len(canonical(header)) + answer_tokens * BYTES_PER_TOKEN
    from_seq = start_for(session.window, route.context_window, reserved)
    request = build_request(header, [node for node in journal.path if node.seq >= from_seq])
    retry = model_retry(agent.config)
    journal.add(
        ModelCallRequested(
            turn_id=turn.id,
            id=journal.mint(),
            model=model_of_calls(journal.facts, turn),
            handler="worker" if is_workers else "server",
            format=agent.config.get("format") if is_workers else None,
            stream=turn.stream or bool(agent.config.get("stream")),
            retry=retry,
            anchor=journal.anchor,
            private=RequestPrivate(
                header_seq=journal.session.header_seq,
                boundary=Boundary(head_id=head.id, head_seq=head.seq, from_seq=from_seq),
                derivation=DERIVATION,
                request_sha256=request.sha256,
                repairs=request.repairs,
            ),
        )
    )
    dispatch_model_call(journal, journal.session.calls[-1])


def dispatch_model_call(journal: Journal, call: Call) -> bool:
    """Start the next attempt of `call`, and the step that it is; ask the worker that runs it.

    Returns whether it may start. Source: session-log TS-3; decision-protocol W-1, Y-4.
    """
    if not may_start(journal, call):
        return False
    end_step(journal)
    timeout_s = call.retry.timeout_secs
    deadline_ms = journal.now_ms + round(timeout_s * 1000) if timeout_s is not None else None
    attempt = call.attempt + 1
    journal.add(
        ModelCallDispatched(
            turn_id=journal.turn_id, id=call.id, attempt=attempt, deadline_ms=deadline_ms
        )
    )
    turn = journal.session.turn
    if turn is not None:
        step = turn.step + 1
        journal.add(StepStarted(turn_id=turn.id, step=step, call_id=call.id, attempt=attempt))
    if call.handler == "worker":
        queue(journal, "llm.execute", turn_id=call.turn_id or None, call_id=call.id)
    return True


def record_header(journal: Journal, header: dict[str, object], route: Route) -> None:
    """Record what of a request is not history, and its route, where they differ from the last."""
    sha256 = digest(header)
    if sha256 != journal.session.header_sha:
        reason: Literal["initial", "change"] = "change" if journal.session.header_seq else "initial"
        journal.add(
            RequestHeader(turn_id=journal.turn_id, header=header, reason=reason, sha256=sha256)
        )
    context = RequestContext(
        turn_id=journal.turn_id,
        provider=route.provider,
        model=route.model,
        context_window=route.context_window,
    )
    if route_of(context) != journal.session.route:
        journal.add(context)
