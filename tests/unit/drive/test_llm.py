"""One attempt of a model call: what was committed is sent, and what came of it is settled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from everturn.drive.llm import Attempt, Sent, rebuilt, requested_event, run_model_call
from everturn.errors import DefectError, SecretUnavailable
from everturn.llm.catalogue import ModelRef
from everturn.llm.chunks import (
    Finished,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    UsageReported,
)
from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from everturn.llm.models import Models, Prepared
from everturn.llm.registry import ModelRegistry
from everturn.protocol.llm import StreamDelta, Usage
from everturn.session.commands import Deliveries, ModelAnswered, ModelFailure, SettleModelCall
from everturn.session.facts import Facts, Stamp
from everturn.session.propose import CallModel
from unit.drive.doubles import Step, says
from unit.drive.world import KEY, World

YES: Callable[[], bool] = lambda: True  # noqa: E731  # two constants
NO: Callable[[], bool] = lambda: False  # noqa: E731


def settled(
    *steps: Step, expired: Callable[[], bool] = NO, revoked: Callable[[], bool] = NO, **how: Any
) -> ModelAnswered | ModelFailure | None:
    """Run one attempt against a model that plays `steps`; return what it settles with."""
    world = World()
    world.script(*steps)
    world.submit("Hello")
    loaded = world.reader.load(KEY, world.head())
    call = world.head().session.calls[0]
    request = rebuilt(world.head().session, call, loaded.logged, loaded.facts, lambda _seq: {})
    attempt = Attempt(CallModel(call.id, 1), expired, revoked, how.get("on_delta", _unheard))
    models = Models(how.get("models", world.models))
    if "prepare" in how:
        models.prepare = how["prepare"]  # type: ignore[method-assign]  # an adapter's failure
    sent = Sent(KEY.tenant, KEY.session, request, how.get("filled", lambda body: body), {})
    make = run_model_call(models, sent, attempt, Deliveries())
    if make is None:
        return None
    command = make(Stamp(0, bytes(16)), loaded.facts)
    assert isinstance(command, SettleModelCall)
    assert (command.call_id, command.attempt) == (call.id, 1)
    return command.outcome


def _unheard(_delta: StreamDelta) -> None:
    return


def test_an_answer_has_its_text_its_reason_and_its_usage() -> None:
    outcome = settled(says("Hi there"))

    assert isinstance(outcome, ModelAnswered)
    assert outcome.message == {"role": "assistant", "content": "Hi there "}
    assert outcome.finish_reason == "stop"
    assert outcome.usage is not None
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (3, 2)
    assert (outcome.cost, outcome.kept) == (None, None)


def test_each_piece_is_shown_as_it_comes() -> None:
    shown: list[str | None] = []

    settled(says("Hi there"), on_delta=lambda delta: shown.append(delta.text))

    assert [one for one in shown if one] == ["Hi ", "there "]


def test_thinking_is_kept_beside_the_message() -> None:
    step: Step = [ReasoningDelta(0, "hm"), TextDelta(1, "Hi"), Finished(FinishReason.STOP)]

    outcome = settled(step)

    assert isinstance(outcome, ModelAnswered)
    assert outcome.message["content"] == "Hi"
    assert outcome.kept is not None
    assert (outcome.kept["provider"], outcome.kept["model"]) == ("scripted", "m")
    assert [block["type"] for block in outcome.kept["blocks"]] == ["reasoning", "text"]


def test_a_failure_says_what_it_means() -> None:
    failed = ModelFailed("busy", FailureCode.RATE_LIMIT, status=429, retry_after_s=2)

    broken: Step = [TextDelta(0, "H"), failed]

    outcome = settled(broken)

    assert outcome == ModelFailure(
        "busy",
        "rate_limited",
        retryable=True,
        detail={"reason": "rate_limit", "status": 429, "retry_after_ms": 2_000},
        retry_after_s=2,
    )


def test_a_provider_that_is_not_there_is_no_reason_to_try_again() -> None:
    outcome = settled(models=ModelRegistry("nobody"))

    assert isinstance(outcome, ModelFailure)
    assert (outcome.code, outcome.retryable) == ("provider_error", False)


def test_what_a_provider_says_that_it_cost_is_what_it_cost() -> None:
    """Y-1."""
    step: Step = [
        TextDelta(0, "Hi"),
        UsageReported(Usage(input_tokens=3, output_tokens=2), "0.0125"),
        Finished(FinishReason.STOP),
    ]

    outcome = settled(step)

    assert isinstance(outcome, ModelAnswered)
    assert outcome.cost == "0.0125"


@pytest.mark.parametrize(
    ("retry_after_s", "reason", "retryable"), [(None, "auth", False), (1.0, "network", True)]
)
def test_a_key_that_is_not_there_is_final_and_a_place_that_does_not_answer_is_not(
    retry_after_s: float | None, reason: str, retryable: bool
) -> None:
    def prepare(_tenant: str, _ref: ModelRef) -> Prepared:
        raise SecretUnavailable("no key", retry_after_s=retry_after_s)

    outcome = settled(prepare=prepare)

    assert isinstance(outcome, ModelFailure)
    assert (outcome.error, outcome.retryable) == ("no key", retryable)
    assert outcome.detail == {"reason": reason}


def test_a_request_whose_files_are_not_there_is_not_sent() -> None:
    def filled(_body: Any) -> Any:
        told = "there is no upload x"
        raise ModelFailed(told, FailureCode.INVALID_REQUEST, reason="unknown_upload")

    outcome = settled(filled=filled)

    assert isinstance(outcome, ModelFailure)
    assert (outcome.retryable, outcome.detail) == (False, {"reason": "unknown_upload"})


@pytest.mark.parametrize(
    "step", [says("Hi"), [ModelAborted("we asked for it")]], ids=["answered", "aborted"]
)
def test_an_attempt_whose_time_is_up_failed_and_may_be_repeated(step: Step) -> None:
    outcome = settled(step, expired=YES)

    assert isinstance(outcome, ModelFailure)
    assert replace(outcome, usage=None, cost=None) == ModelFailure(
        "attempt 1 passed its deadline", "deadline_exceeded", retryable=True
    )


def test_an_attempt_that_nobody_wants_settles_nothing() -> None:
    asked = iter([False, True])
    late = iter([False] * 3 + [True] * 10)

    assert settled(says("Hi"), revoked=YES) is None
    assert settled(says("Hi there"), revoked=lambda: next(asked)) is None
    assert settled(says("Hi"), revoked=lambda: next(late)) is None


def test_a_request_is_rebuilt_from_the_header_that_was_committed() -> None:
    world = World()
    world.submit("Hello")
    loaded = world.reader.load(KEY, world.head())
    session, call = world.head().session, world.head().session.calls[0]
    header = next(
        event.header
        for commit in world.log()
        for event in commit.events
        if event.type == "request.header"
    )
    changed = {**loaded.facts.agent.config, "system": "Another."}
    facts = replace(loaded.facts, agent=replace(loaded.facts.agent, config=changed))

    plain = rebuilt(session, call, loaded.logged, loaded.facts, lambda _seq: {})
    from_log = rebuilt(session, call, loaded.logged, facts, lambda _seq: header)

    assert from_log == plain


def test_a_request_that_is_not_the_committed_one_is_a_defect() -> None:
    world = World()
    world.submit("Hello")
    loaded = world.reader.load(KEY, world.head())
    session, call = world.head().session, world.head().session.calls[0]
    other = Facts(loaded.facts.agent, loaded.facts.route)

    with pytest.raises(DefectError, match="not the committed one"):
        rebuilt(session, call, loaded.logged, other, lambda _seq: {})
    with pytest.raises(DefectError, match="is not at event"):
        requested_event(call, ())


def test_a_driver_reads_the_header_from_the_log_when_its_agent_changed_meanwhile() -> None:
    world = World()
    world.submit("[[say:{{system}}]]")
    state = world.head().session

    def changed(*_args: Any) -> Any:
        record = world.directory.agent("acme", "helper")
        assert record is not None
        definition = {**record.definition, "system": "Another."}
        return replace(record, definition=definition, sha256=state.agent_sha)

    reader = world.reader
    reader._agents = changed  # an agent whose hash did not change with it

    world.advance(reader=reader)

    assert "Another." not in world.texts()[-1][1]
