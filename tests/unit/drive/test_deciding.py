"""A driver on sessions whose worker decides: one invocation, or as many as it takes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from everturn.commands.answer_later import SettleCalls, SubmitAnswer
from everturn.commands.interrupts import Interrupts
from everturn.ports.callers import Caller
from everturn.ports.decider import Answered, Deferred, DeliveryFailed
from everturn.protocol.decision import DECISION_RESPONSE
from everturn.protocol.wire import parse
from unit.drive.doubles import answered
from unit.drive.world import AGENT, TENANT, World

MACHINE = Caller(TENANT)


def echo(request: dict[str, Any]) -> Any:
    """Answer what is proposed."""
    return response(request["proposed"])


def response(said: dict[str, Any]) -> Any:
    """Return what a worker's 200 means."""
    return Answered(parse(DECISION_RESPONSE, said))


def deciding(**changed: Any) -> World:
    """Return an engine with a worker-decided agent that echoes."""
    world = World()
    world.agent("helper", **{**AGENT, "decides": "worker", **changed})
    world.decider.answer = echo
    return world


def running(request: dict[str, Any]) -> Any:
    """Run every tool, echo the rest."""
    if request["trigger"]["type"] == "tool.execute" and not request["proposed"]:
        name = request["trigger"]["name"]
        return answered({"type": "tool.result", "result": f"{name} ran"})
    return echo(request)


def test_a_turn_is_decided_by_the_worker_in_one_invocation() -> None:
    world = deciding()
    world.submit("[[say:Hello there]]")

    world.advance()

    assert world.texts() == [("user", "[[say:Hello there]]"), ("assistant", "Hello there")]
    assert world.head().session.last_outcome == "done"
    assert world.head().session.decides == "worker"


def test_a_turn_with_tools_asks_about_every_step() -> None:
    world = deciding()
    world.decider.answer = running
    world.submit("[[call:look {}]][[call:send {}]][[turn]][[say:both done]]")

    world.advance()

    assert world.texts()[-1] == ("assistant", "both done")
    assert sorted(text for role, text in world.texts() if role == "tool") == [
        "look ran",
        "send ran",
    ]


def test_an_answer_sent_later_goes_on_where_the_delivery_was_deferred() -> None:
    """D-7, F-1."""
    world = deciding()
    world.decider.answer = lambda _request: Deferred()
    world.submit("[[say:Hello there]]")
    world.advance()
    (waiting, _) = world.head().session.decisions

    submit = SubmitAnswer(world.changer())
    body = {"session_id": "s1", "decision_id": waiting.id, "agent": {"model": "demo:demo"}}
    first, again = submit(MACHINE, body), submit(MACHINE, body)
    world.decider.answer = echo
    world.advance()

    assert (waiting.status, first, again) == ("deferred", False, True)
    assert world.texts()[-1] == ("assistant", "Hello there")


def test_a_tool_is_settled_from_outside() -> None:
    """U-6, F-1: and a driver is woken for what follows."""
    world = deciding()
    world.decider.answer = lambda request: (
        response({}) if request["trigger"]["type"] == "tool.execute" else echo(request)
    )
    world.submit("[[call:look {}]][[turn]][[say:thanks]]")
    world.advance()
    (call,) = world.head().session.calls

    action = {"type": "tool.result", "id": call.id, "result": "later"}
    SettleCalls(world.changer())(MACHINE, "s1", action, handlers=("worker", "client"))
    world.advance()

    assert [text for _, text in world.texts()][-2:] == ["later", "thanks"]


def test_a_worker_that_fails_is_asked_again_with_the_same_question() -> None:
    """D-3, D-8."""
    world = deciding()
    left = [DeliveryFailed("no", "http_status", True, "unknown")]
    bodies: list[dict[str, Any]] = []

    def flaky(request: dict[str, Any]) -> Any:
        bodies.append(request)
        return left.pop() if left else echo(request)

    world.decider.answer = flaky
    world.submit("[[say:Hello there]]")
    world.advance()
    world.clock.move(2_000)
    world.advance()

    first, second = bodies[:2]
    assert (first.pop("attempts"), second.pop("attempts")) == (1, 2)
    assert {**first, "deadline": ""} == {**second, "deadline": ""}
    assert world.texts()[-1] == ("assistant", "Hello there")


def test_a_driver_that_vanished_leaves_questions_that_are_put_again() -> None:
    """N-2."""
    world = deciding()
    world.submit("[[say:Hello there]]")

    class Gone(BaseException):
        pass

    def die(_request: dict[str, Any]) -> Any:
        raise Gone

    world.decider.answer = die
    with suppress(Gone):
        world.advance()
    world.decider.answer = echo
    world.advance(received=2, request_id="r2")

    assert world.texts()[-1] == ("assistant", "Hello there")
    assert "decision.errored" in world.kinds()


def test_a_pause_is_raised_and_resumed_by_those_who_may() -> None:
    """I-6, I-8, I-13."""
    world = deciding()

    def asking(request: dict[str, Any]) -> Any:
        match request["trigger"]["type"]:
            case "tool.execute":
                return response({"actions": [{"type": "interrupt", "reason": "may I?"}]})
            case "interrupt.resumed":
                said = request["trigger"]["payload"]
                return response({"actions": [{"type": "tool.result", "result": said}]})
            case _:
                return echo(request)

    world.decider.answer = asking
    world.submit("[[call:send {}]][[turn]][[say:sent]]")
    world.advance()
    (interrupt,) = world.head().session.interrupts

    resumed = Interrupts(world.changer()).resume(MACHINE, "s1", interrupt.id, "yes")
    world.advance()

    assert resumed
    assert [text for _, text in world.texts()][-2:] == ["yes", "sent"]


def test_a_worker_runs_its_own_model_calls_and_streams_them() -> None:
    """W-1, W-8, W-9."""
    world = deciding(handler="worker", model="m-large", stream=True)

    def calling(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] != "llm.execute":
            return echo(request)
        reply = {"model": "m-large", "content": "From afar."}
        return response({"actions": [{"type": "llm.result", "response": reply}]})

    world.decider.answer = calling
    world.submit("Hello.")

    world.advance()

    assert world.texts()[-1] == ("assistant", "From afar.")
