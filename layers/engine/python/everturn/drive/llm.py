"""Runs one attempt of a model call and turns what came of it into a command; it commits nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from everturn.drive.holding import MakeCommand
from everturn.drive.last_words import Said
from everturn.errors import DefectError
from everturn.llm.assemble import Answer, Assembler, block_type_of
from everturn.llm.catalogue import Prices, cost_usd
from everturn.llm.chunks import Block, TextBlock, ToolCallBlock
from everturn.llm.deltas import to_stream_delta
from everturn.llm.failure import ModelAborted, ModelFailed, consequence, detail_of
from everturn.llm.registry import ModelRegistry, UnknownProvider
from everturn.ports.sessions import Logged
from everturn.protocol.llm import LlmRequest, StreamDelta
from everturn.protocol.llm import Usage as WireUsage
from everturn.protocol.wire import to_json
from everturn.session.commands import Deliveries, ModelAnswered, ModelFailure, SettleModelCall
from everturn.session.decide.model_call import route_of_calls
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.shape import Usage
from everturn.session.facts import Facts
from everturn.session.propose import CallModel
from everturn.session.request import BuiltRequest, digest, header_for, rebuild
from everturn.session.state import Call, Session

REQUEST_LIMIT_S: Final = 840
"""Longest that one model request may take. Source: architecture, section 4."""


def rebuilt(
    session: Session,
    call: Call,
    logged: tuple[Logged, ...],
    facts: Facts,
    stored_header: Callable[[], dict[str, Any]],
) -> BuiltRequest:
    """Return the request of a model call as the log has it, byte for byte. Source: RH-5.

    Raises `DefectError` where the rebuilt one is not the one that was committed.
    """
    asked = requested_event(call, logged)
    route = route_of_calls(facts) if call.handler == "worker" else facts.route
    header = header_for(facts.agent, route, depth=len(session.ancestry))
    if digest(header) != session.header_sha or asked.private.header_seq != session.header_seq:
        header = stored_header()
    return rebuild(asked, header, facts.path)


def requested_event(call: Call, logged: tuple[Logged, ...]) -> ModelCallRequested:
    """Return what asked for `call`. Raises `DefectError` where the log does not have it."""
    for commit in logged:
        for seq, event in commit.numbered():
            if seq == call.seq and isinstance(event, ModelCallRequested):
                return event
    raise DefectError(f"model call {call.id} is not at event {call.seq}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a model call, and how it hears that it should stop."""

    effect: CallModel
    expired: Callable[[], bool]
    """Its time is up."""

    revoked: Callable[[], bool]
    """Nobody wants its answer any more."""

    on_delta: Callable[[StreamDelta], None]
    said: Said = field(default_factory=Said)


def run_model_call(
    models: ModelRegistry,
    selector: str,
    request: BuiltRequest,
    attempt: Attempt,
    deliveries: Deliveries,
) -> MakeCommand | None:
    """Call the model and stream; return what settles the attempt, `None` if it was revoked."""
    effect = attempt.effect
    assembler = Assembler()
    outcome: ModelAnswered | ModelFailure
    prices: Prices | None = None
    try:
        prepared = models.prepare(selector)
        prices = prepared.facts.prices
        chunks = prepared.model.stream(
            LlmRequest.model_validate(request.body),
            attempt=effect.attempt,
            cancelled=lambda: attempt.revoked() or attempt.expired(),
            failed_tool_calls=request.failed,
        )
        for chunk in chunks:
            if attempt.revoked():
                return None
            assembler.feed(chunk)
            attempt.said.usage = _usage(assembler.usage)
            delta = to_stream_delta(chunk)
            if delta is not None:
                attempt.said.hear(delta)
                attempt.on_delta(delta)
        outcome = _answered(assembler.answer(), prices)
    except ModelAborted:
        outcome = _lapsed(effect.attempt, assembler.usage, prices)
    except UnknownProvider as error:
        outcome = ModelFailure(error.message, "provider_error", retryable=False)
    except ModelFailed as error:
        outcome = _failure(error, assembler.usage, prices)
    if attempt.revoked():
        return None
    if attempt.expired():
        outcome = _lapsed(effect.attempt, assembler.usage, prices)
    return lambda stamp, facts: SettleModelCall(
        stamp, facts, effect.call_id, effect.attempt, outcome, deliveries
    )


def _lapsed(attempt: int, usage: WireUsage | None, prices: Prices | None) -> ModelFailure:
    """Source: decision-protocol R-5."""
    return ModelFailure(
        f"attempt {attempt} passed its deadline",
        "deadline_exceeded",
        retryable=True,
        usage=_usage(usage),
        cost=_cost(usage, prices),
    )


def _cost(usage: WireUsage | None, prices: Prices | None) -> str | None:
    """Source: decision-protocol Y-1."""
    return cost_usd(usage, prices) if usage and prices else None


def _answered(answer: Answer, prices: Prices | None) -> ModelAnswered:
    message: dict[str, Any] = {"role": "assistant"}
    if answer.content is not None:
        message["content"] = answer.content
    if answer.tool_calls:
        message["tool_calls"] = [to_json(call) for call in answer.tool_calls]
    plain = all(isinstance(block, TextBlock | ToolCallBlock) for block in answer.blocks)
    return ModelAnswered(
        message=message,
        finish_reason=answer.finish_reason,
        usage=_usage(answer.usage),
        cost=_cost(answer.usage, prices),
        blocks=None if plain else [_stored(block) for block in answer.blocks],
    )


def _stored(block: Block) -> dict[str, Any]:
    return {"type": str(block_type_of(block)), **asdict(block)}


def _failure(error: ModelFailed, usage: WireUsage | None, prices: Prices | None) -> ModelFailure:
    """Source: vocabulary, "Failures"."""
    means = consequence(error.code)
    return ModelFailure(
        error=error.message,
        code=means.error_code,
        retryable=means.retryable,
        detail=detail_of(error),
        retry_after_s=error.retry_after_s,
        usage=_usage(usage),
        cost=_cost(usage, prices),
    )


def _usage(usage: WireUsage | None) -> Usage | None:
    return Usage.model_validate(usage.model_dump(exclude_none=True)) if usage else None
