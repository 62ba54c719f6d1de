"""A driver on sessions that the engine decides and whose model calls the worker runs."""

from __future__ import annotations

from contextlib import suppress

import pytest

from everturn.commands.answer_later import SettleCalls, SubmitAnswer
from everturn.commands.rebuild_request import RebuildRequest
from everturn.ports.decider import Deferred, DeliveryFailed, WorkerAnswer
from everturn.protocol.client_input import read_input
from everturn.rejections import CallNotOpen, InvalidLlmResponse, SchemaViolation, UnknownCall
from everturn.session.commands import Deliveries
from unit.drive.doubles import answered
from unit.drive.ordering import replied, world_of
from unit.drive.world import KEY, MACHINE


def test_a_turn_goes_to_the_worker_and_back() -> None:
    """O-10, W-1: the model call is the only question."""
    world = world_of(replied())
    world.submit("Hello.")

    world.advance()

    (request,) = world.decider.requests
    assert world.texts() == [("user", "Hello."), ("assistant", "From afar.")]
    assert world.head().session.last_outcome == "done"
    assert request["trigger"]["type"] == "llm.execute"
    assert request["trigger"]["stream"] is True
    assert request["trigger"]["request"]["messages"] == request["messages"]
    assert [(one["kind"], one["handler"], one["status"]) for one in request["calls"]] == [
        ("llm_call", "worker", "pending")
    ]
    assert (request["pending_calls"], request["proposed"]) == (0, {})


def test_what_was_sent_is_rebuilt_from_the_log() -> None:
    """RH-5, L-7: by reference, and by its sha256."""
    world = world_of(replied(), system="You answer briefly.")
    world.submit("Hello.")
    world.advance()

    seq = next(
        seq
        for commit in world.log()
        for seq, event in commit.numbered()
        if event.type == "llm.call.requested"
    )

    built = RebuildRequest(world.store)(KEY, seq)
    assert world.decider.requests[0]["trigger"]["request"] == built.body
    assert built.body["messages"][0] == {"role": "system", "content": "You answer briefly."}


def test_tools_and_model_calls_go_to_the_same_worker() -> None:
    """8.4, 8.6: one after another."""
    made = [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    ran = answered({"type": "tool.result", "result": "a wall"})
    world = world_of(replied(None, tool_calls=made), ran, replied("I see a wall."))
    world.submit("Look.")

    world.advance()

    asked = [request["trigger"]["type"] for request in world.decider.requests]
    assert asked == ["llm.execute", "tool.execute", "llm.execute"]
    assert [text for _, text in world.texts()] == ["Look.", None, "a wall", "I see a wall."]


def test_a_format_is_spoken_both_ways() -> None:
    """Conformance 18: W-4, W-5."""
    reply = {"choices": [{"finish_reason": "stop", "message": {"content": "Far."}}]}
    native = answered({"type": "llm.result", "response": reply})
    world = world_of(native, format="openai", system="Be brief.")
    world.submit("Hello.")

    world.advance()

    trigger = world.decider.requests[0]["trigger"]
    assert trigger["format"] == "openai"
    assert trigger["request"]["tools"][0]["type"] == "function"
    assert world.texts()[-1] == ("assistant", "Far.")


def test_what_a_format_has_no_place_for_is_not_sent() -> None:
    """W-6: the call fails, terminal."""
    world = world_of(format="anthropic")
    audio = [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]
    body = {
        "session_id": "s1",
        "input": {
            "type": "client.message",
            "agent_id": "helper",
            "message": {"role": "user", "content": audio},
        },
    }
    world.submitter()(MACHINE, read_input(body))

    world.advance()

    assert world.decider.requests == []
    failed = [e for commit in world.log() for e in commit.events if e.type == "llm.call.errored"]
    assert [(one.detail, one.retryable) for one in failed] == [
        ({"reason": "unsupported_content"}, False)
    ]


def test_a_redelivery_says_the_same() -> None:
    """D-3, D-5."""
    world = world_of(DeliveryFailed("no", "http_status", True, "unknown"), replied())
    world.submit("Hello.")

    world.advance()

    first, second = world.decider.requests
    assert (first.pop("attempts"), second.pop("attempts")) == (1, 2)
    assert {**first, "deadline": ""} == {**second, "deadline": ""}
    assert world.texts()[-1] == ("assistant", "From afar.")


def test_a_worker_may_fail_an_attempt_and_is_ordered_another() -> None:
    """R-3: the policy of the agent's model calls."""
    busy = {"type": "llm.error", "error": "busy", "code": "rate_limited", "retryable": True}
    world = world_of(answered(busy), replied())
    world.submit("Hello.")

    world.advance()

    attempts = [request["trigger"]["attempt"] for request in world.decider.requests]
    assert attempts == [1, 2]
    assert len({request["decision_id"] for request in world.decider.requests}) == 2
    assert world.texts()[-1] == ("assistant", "From afar.")


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (answered({"type": "tool.result", "id": "x", "result": 1}), "unsupported_answer"),
        (answered({"type": "llm.result", "id": "x", "response": {}}), "unsupported_answer"),
        (answered({"type": "llm.result", "response": {"content": 1}}), "invalid_llm_response"),
        (
            answered(messages=[{"role": "assistant", "content": "Hi."}]),
            "unsupported_answer",
        ),
    ],
)
def test_an_answer_that_is_none_fails_the_delivery(bad: WorkerAnswer, code: str) -> None:
    """P-2, P-3, D-8: and it is made again."""
    world = world_of(bad, replied())
    world.submit("Hello.")

    world.advance()

    events = [event for commit in world.log() for event in commit.events]
    assert [one.code for one in events if one.type == "decision.errored"] == [code]
    assert world.texts()[-1] == ("assistant", "From afar.")


def test_three_answers_that_are_none_fail_the_call() -> None:
    """D-8, D-14."""
    bad = answered({"type": "done"})
    world = world_of(bad, bad, bad)
    world.submit("Hello.")

    world.advance()

    assert len(world.decider.requests) == 3
    assert world.head().session.last_outcome == "failed"


def test_a_state_comes_along_with_a_reply() -> None:
    """Z-1: and the next order shows it."""
    reply = {"type": "llm.result", "response": {"model": "m", "content": "One."}}
    world = world_of(answered(reply, state={"seen": 1}), replied("Two."))
    world.submit("Hello.")
    world.advance()

    world.submit("Again.", turn="t2")
    world.advance()

    assert [request["state"] for request in world.decider.requests] == [None, {"seen": 1}]


def test_a_call_that_was_left_open_is_settled_in_its_own_format() -> None:
    """8.6, U-6, U-12, W-5: once."""
    world = world_of(answered(), format="openai")
    world.submit("Hello.")
    world.advance()
    (call,) = world.head().session.calls
    settle = SettleCalls(world.changer())
    reply = {"choices": [{"finish_reason": "stop", "message": {"content": "By phone."}}]}

    with pytest.raises(InvalidLlmResponse):
        settle(
            MACHINE,
            "s1",
            {"type": "llm.result", "id": call.id, "response": {"content": "neutral"}},
            handlers=("worker", "client"),
        )
    action = {"type": "llm.result", "id": call.id, "response": reply}
    settle(MACHINE, "s1", action, handlers=("worker", "client"))

    with pytest.raises(CallNotOpen):
        settle(MACHINE, "s1", action, handlers=("worker", "client"))
    with pytest.raises(UnknownCall):
        settle(MACHINE, "s1", {**action, "id": "never"}, handlers=("worker", "client"))
    assert world.texts()[-1] == ("assistant", "By phone.")
    assert world.head().session.last_outcome == "done"


def test_a_question_that_was_put_off_is_answered_later_once() -> None:
    """D-7, D-11."""
    world = world_of(Deferred())
    world.submit("Hello.")
    world.advance()
    (decision,) = world.head().session.decisions
    (call,) = world.head().session.calls
    submit = SubmitAnswer(world.changer())
    body = {"session_id": "s1", "decision_id": decision.id}
    bad = {"type": "llm.error", "id": call.id, "error": "no"}, {"type": "done"}
    reply = {"type": "llm.result", "id": call.id, "response": {"model": "m", "content": "Late."}}

    with pytest.raises(SchemaViolation):
        submit(MACHINE, {**body, "actions": list(bad)})
    first = submit(MACHINE, {**body, "actions": [reply]})
    again = submit(MACHINE, {**body, "actions": [reply]})

    assert (first, again) == (False, True)
    assert world.texts()[-1] == ("assistant", "Late.")


def test_an_answer_that_came_later_leaves_its_tools_to_a_driver() -> None:
    """storage-and-commits: worker deliveries are dispatched by drivers only."""
    world = world_of(Deferred(), answered({"type": "tool.result", "result": "sent"}), replied())
    world.submit("Hello.")
    world.advance()
    (decision,) = world.head().session.decisions
    (call,) = world.head().session.calls
    made = [{"id": "a", "type": "function", "function": {"name": "send", "arguments": "{}"}}]
    reply = {"type": "llm.result", "id": call.id, "response": {"model": "m", "tool_calls": made}}

    body = {"session_id": "s1", "decision_id": decision.id, "actions": [reply]}
    SubmitAnswer(world.changer())(MACHINE, body)
    by_api = world.head().session.decisions
    world.advance()

    assert by_api == ()
    assert [text for _, text in world.texts()][-2:] == ["sent", "From afar."]


def test_a_driver_that_vanished_leaves_an_order_that_is_delivered_again() -> None:
    """N-2."""

    class Gone(BaseException):
        pass

    world = world_of(Gone(), replied())
    world.submit("Hello.")
    with suppress(Gone):
        world.advance()

    world.advance(received=2, request_id="r2")

    assert world.texts()[-1] == ("assistant", "From afar.")
    assert [one["attempts"] for one in world.decider.requests] == [1, 2]


def test_a_worker_that_never_answers_fails_the_call() -> None:
    """D-14, R-5: every attempt that is left is ordered."""
    lost = DeliveryFailed("no", "http_status", True, "unknown")
    world = world_of(lost, lost)
    world.deliveries = Deliveries(max_attempts=2, backoff_base_s=0.01)
    world.submit("Hello.")

    world.advance()

    assert world.head().session.last_outcome == "failed"
