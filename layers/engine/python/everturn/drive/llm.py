"""Runs one attempt of a model call and turns what came of it into a command; it commits nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from everturn.drive.holding import MakeCommand
from everturn.drive.last_words import Said
from everturn.errors import DefectError, SecretUnavailable
from everturn.llm.assemble import Answer, Assembler, block_type_of
from everturn.llm.catalogue import ModelRef, Prices, cost_usd
from everturn.llm.chunks import Block, TextBlock, ToolCallBlock
from everturn.llm.deltas import to_stream_delta
from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed, consequence, detail_of
from everturn.llm.models import Models
from everturn.llm.registry import UnknownProvider
from everturn.ports.model import MAX_ATTEMPT_S, Beside, Replay
from everturn.ports.sessions import Logged
from everturn.protocol.llm import LlmRequest, StreamDelta
from everturn.protocol.llm import Usage as WireUsage
from everturn.protocol.wire import to_json
from everturn.session.commands import Deliveries, ModelAnswered, ModelFailure, SettleModelCall
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.shape import Usage
from everturn.session.facts import Facts
from everturn.session.propose import CallModel
from everturn.session.request import BuiltRequest, digest, rebuild
from everturn.session.state import Call, Session
from everturn.session.turn_model import header_of_calls
from everturn.tools.answer import Inputs, judged

CACHE_KEY_CHARS: Final = 32
DEMO: Final = "demo"


def rebuilt(
    session: Session,
    call: Call,
    logged: tuple[Logged, ...],
    facts: Facts,
    stored_header: Callable[[int], dict[str, Any]],
) -> BuiltRequest:
    """Return the request of a model call as the log has it, byte for byte. Source: RH-5.

    `stored_header` reads the header at an event. Raises `DefectError` where the rebuilt one is not
    the one that was committed.
    """
    asked = requested_event(call, logged)
    header_seq = asked.private.header_seq
    header = header_of_calls(facts, session)
    if digest(header) != session.header_sha or header_seq != session.header_seq:
        header = stored_header(header_seq)
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
    limit_s: float = MAX_ATTEMPT_S


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes to a provider: a committed request, whose it is, and what it is sent with."""

    tenant: str
    session_id: str
    request: BuiltRequest
    filled: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """Puts the files of a request in their places. Raises `ModelFailed`."""

    replays: Mapping[str, Replay]
    client_tools: Inputs = field(default_factory=dict)
    """What the arguments of the client's own tools are held to."""

    def body_for(self, ref: ModelRef) -> Mapping[str, Any]:
        """Return the request with its files; the demo model looks into none."""
        return self.request.body if ref.provider == DEMO else self.filled(self.request.body)


def run_model_call(
    models: Models, sent: Sent, attempt: Attempt, deliveries: Deliveries
) -> MakeCommand | None:
    """Call the model and stream; return what settles the attempt, `None` if it was revoked."""
    effect, request = attempt.effect, sent.request
    assembler = Assembler()
    outcome: ModelAnswered | ModelFailure
    ref = ModelRef(request.provider, request.body["model"])
    prices: Prices | None = None
    try:
        prepared = models.prepare(sent.tenant, ref)
        prices = prepared.facts.prices
        chunks = prepared.model.stream(
            LlmRequest.model_validate(sent.body_for(ref)),
            attempt=effect.attempt,
            cancelled=lambda: attempt.revoked() or attempt.expired(),
            failed_tool_calls=request.failed,
            beside=Beside(
                account=prepared.account,
                replays={
                    name: one for name, one in sent.replays.items() if one.provider == ref.provider
                },
                cache_key=cache_key(sent.tenant, sent.session_id),
                timeout_s=attempt.limit_s,
                default_max_tokens=prepared.facts.default_max_tokens,
            ),
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
        answered = _answered(assembler.answer(), ref, _cost(assembler, prices))
        outcome = judged(answered, request.body.get("output_schema"), sent.client_tools)
    except ModelAborted:
        outcome = _lapsed(effect.attempt, assembler, prices)
    except UnknownProvider as error:
        outcome = ModelFailure(error.message, "provider_error", retryable=False)
    except SecretUnavailable as error:
        passing = error.retry_after_s is not None
        code = FailureCode.NETWORK if passing else FailureCode.AUTH
        outcome = _failure(ModelFailed(error.message, code), assembler, prices)
    except ModelFailed as error:
        outcome = _failure(error, assembler, prices)
    if attempt.revoked():
        return None
    if attempt.expired():
        outcome = _lapsed(effect.attempt, assembler, prices)
    return lambda stamp, facts: SettleModelCall(
        stamp, facts, effect.call_id, effect.attempt, outcome, deliveries
    )


def cache_key(tenant: str, session_id: str) -> str:
    """Return what tells a provider's cache the calls of one session; it names nobody."""
    return hashlib.sha256(f"{tenant}\0{session_id}".encode()).hexdigest()[:CACHE_KEY_CHARS]


def _lapsed(attempt: int, heard: Assembler, prices: Prices | None) -> ModelFailure:
    """Source: decision-protocol R-5."""
    return ModelFailure(
        f"attempt {attempt} passed its deadline",
        "deadline_exceeded",
        retryable=True,
        usage=_usage(heard.usage),
        cost=_cost(heard, prices),
    )


def _cost(heard: Assembler, prices: Prices | None) -> str | None:
    """Return what the provider says, else what the price table does. Source: Y-1."""
    if heard.cost is not None:
        return heard.cost
    return cost_usd(heard.usage, prices) if heard.usage and prices else None


def _answered(answer: Answer, ref: ModelRef, cost: str | None) -> ModelAnswered:
    message: dict[str, Any] = {"role": "assistant"}
    if answer.content is not None:
        message["content"] = answer.content
    if answer.tool_calls:
        message["tool_calls"] = [to_json(call) for call in answer.tool_calls]
    return ModelAnswered(
        message=message,
        finish_reason=answer.finish_reason,
        usage=_usage(answer.usage),
        cost=cost,
        kept=_kept(answer, ref),
    )


def _kept(answer: Answer, ref: ModelRef) -> dict[str, Any] | None:
    """Return what the message cannot hold, `None` where it holds all. Source: MB-4, MB-5."""
    kept: dict[str, Any] = {}
    if not all(isinstance(block, TextBlock | ToolCallBlock) for block in answer.blocks):
        kept["blocks"] = [_stored(block) for block in answer.blocks]
    if answer.replay_state is not None:
        kept["replay_state"] = answer.replay_state
    return {"provider": ref.provider, "model": ref.model, **kept} if kept else None


def _stored(block: Block) -> dict[str, Any]:
    return {"type": str(block_type_of(block)), **asdict(block)}


def _failure(error: ModelFailed, heard: Assembler, prices: Prices | None) -> ModelFailure:
    """Source: vocabulary, "Failures"."""
    means = consequence(error.code)
    return ModelFailure(
        error=error.message,
        code=means.error_code,
        retryable=means.retryable,
        detail=detail_of(error),
        retry_after_s=error.retry_after_s,
        usage=_usage(heard.usage),
        cost=_cost(heard, prices),
    )


def _usage(usage: WireUsage | None) -> Usage | None:
    return Usage.model_validate(usage.model_dump(exclude_none=True)) if usage else None
