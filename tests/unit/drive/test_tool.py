"""Decision-protocol 8.4, P-2, U-9, Z-1: what a tool is asked, and what its answer means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everturn.drive.decision import DELIVERY_LIMIT_S
from everturn.drive.prepare import Preparer
from everturn.errors import DefectError
from everturn.ports.decider import Answered, Deferred, DeliveryFailed
from everturn.ports.sessions import SessionKey
from everturn.protocol.limits import MAX_RESULT_BYTES
from everturn.session.propose import CallModel, DeliverToWorker
from unit.drive.doubles import NOON_MS, answered, result
from unit.drive.world import TOOLS, World

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
STRICT = {"name": "strict", "description": "Is.", "effect": "read", "input": SCHEMA}
COUNTING = {"name": "count", "description": "Counts.", "effect": "read", "output": SCHEMA}
OVERLAPPING = {"name": "both", "description": "Overlaps.", "overlap": True}


def ran(text: str, *answers: Answered | DeliveryFailed | Deferred, **agent: Any) -> World:
    """Return a session whose turn `text` ended; the worker gave `answers`."""
    world = World()
    world.agent("helper", **agent)
    left = list(answers)
    world.decider.answer = lambda _request: left.pop(0)
    world.submit(text)
    world.advance()
    assert left == []
    return world


def tool_results(world: World) -> list[Any]:
    return [content for role, content in world.texts() if role == "tool"]


def test_a_delivery_says_what_the_protocol_wants() -> None:
    world = ran('[[call:look {"n":1}]]', result("42"))

    request = world.decider.requests[0]

    assert sorted(request) == sorted(
        [
            "session_id",
            "decision_id",
            "agent_id",
            "identity",
            "trigger",
            "proposed",
            "state",
            "agent",
            "calls",
            "pending_calls",
            "messages",
            "message_tree",
            "ancestry",
            "attempts",
            "deadline",
            "turn_id",
        ]
    )
    assert request["identity"] == {"id": "default"}
    assert request["attempts"] == 1
    assert request["trigger"]["arguments"] == '{"n":1}'
    assert "idempotency_key" not in request["trigger"]
    assert [call["kind"] for call in request["calls"]] == ["tool_call"]
    assert "worker" not in request["agent"]
    assert world.decider.targets[0].url == "https://worker.example/hook"


def test_every_attempt_of_a_repeatable_write_carries_the_same_key() -> None:
    again = answered({"type": "tool.error", "error": "later", "retryable": True})

    world = ran("[[call:put {}]]", again, result("ok"))

    keys = [one["trigger"]["idempotency_key"] for one in world.decider.requests]
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_a_secret_is_found_at_its_place_when_it_is_needed() -> None:
    world = ran("[[call:look {}]]", result("42"), worker_secret={"env": "PLACE"})

    assert world.decider.targets[0].secret == "secret of PLACE"
    assert world.decider.timeouts_s[0] <= DELIVERY_LIMIT_S


@pytest.mark.parametrize(
    ("text", "tools", "expected"),
    [
        ("[[call:nothing {}]]", TOOLS, "nothing"),
        ("[[call:strict {}]]", [STRICT], "n"),
        ("[[rawcall:strict {{]]", [STRICT], "strict"),
    ],
    ids=["undeclared", "invalid arguments", "malformed arguments"],
)
def test_what_cannot_run_is_proposed_as_an_error(
    text: str, tools: list[dict[str, Any]], expected: str
) -> None:
    world = ran(text, result("anyway"), tools=tools)

    actions = world.decider.requests[0]["proposed"]["actions"]

    assert [action["type"] for action in actions] == ["tool.error"]
    assert expected in actions[0]["error"]


@pytest.mark.parametrize(
    ("value", "text"), [("plain", "plain"), ({"a": 1}, '{"a":1}'), (None, "null"), (7, "7")]
)
def test_a_result_becomes_text(value: Any, text: str) -> None:
    assert tool_results(ran("[[call:look {}]]", result(value))) == [text]


def test_a_result_over_the_limit_is_an_error() -> None:
    world = ran("[[call:look {}]]", result("x" * (MAX_RESULT_BYTES + 1)))

    assert tool_results(world) == [f"The result of look is over {MAX_RESULT_BYTES} bytes."]


@pytest.mark.parametrize("under", [0, 1], ids=["at the limit", "one below"])
def test_a_result_of_exactly_the_limit_is_a_result(under: int) -> None:
    text = "x" * (MAX_RESULT_BYTES - under)

    assert tool_results(ran("[[call:look {}]]", result(text))) == [text]


def test_a_result_that_breaks_its_schema_is_an_error_and_one_that_fits_is_not() -> None:
    broken = ran("[[call:count {}]]", result({"n": "x"}), tools=[COUNTING])
    fitting = ran("[[call:count {}]]", result({"n": 1}), tools=[COUNTING])

    assert tool_results(fitting) == ['{"n":1}']
    assert tool_results(broken) != ['{"n":"x"}']


def test_an_error_of_the_worker_is_what_the_model_reads() -> None:
    refused = answered({"type": "tool.error", "error": "no such thing"})

    assert tool_results(ran("[[call:send {}]]", refused)) == ["no such thing"]


@pytest.mark.parametrize(
    ("first", "second", "versions", "then"),
    [
        ({"notes": [1]}, None, 1, {"notes": [1]}),
        ({"notes": [1]}, {"notes": [1]}, 1, {"notes": [1]}),
        ({"notes": [1]}, {"notes": [2]}, 2, {"notes": [1]}),
        ({"notes": [1]}, {}, 2, {"notes": [1]}),
        (None, None, 0, None),
        ({}, None, 0, None),
    ],
    ids=["kept", "the same", "changed", "cleared", "none", "cleared before there was one"],
)
def test_a_state_is_recorded_when_it_differs_and_given_back_with_the_next_delivery(
    first: Any, second: Any, versions: int, then: Any
) -> None:
    def with_state(state: Any) -> Answered:
        action = {"type": "tool.result", "result": "ok"}
        return answered(action) if state is None else answered(action, state=state)

    text = "[[call:send {}]][[turn]][[call:send {}]][[turn]][[say:ok]]"

    world = ran(text, with_state(first), with_state(second))

    assert world.decider.requests[1]["state"] == then
    assert world.kinds().count("worker.state.updated") == versions


def test_a_state_of_an_earlier_window_is_read_from_the_log() -> None:
    world = World()
    answers = [answered({"type": "tool.result", "result": "ok"}, state={"a": 1}), result("ok")]
    world.decider.answer = lambda _request: answers.pop(0)
    long = "x" * 600_000
    world.submit("[[call:send {}]][[turn]][[say:ok]]")
    world.advance()
    world.submit(f"[[say:{long}]]", turn="t2")
    world.advance()
    world.submit("[[say:short]]", turn="t3")
    world.advance()
    world.submit("[[call:send {}]][[turn]][[say:ok]]", turn="t4")
    world.advance(request_id="r4")

    assert world.head().session.window.from_seq > world.head().session.state_seq
    assert world.decider.requests[1]["state"] == {"a": 1}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (
            answered({"type": "tool.result", "result": 1}, {"type": "tool.result", "result": 2}),
            "takes one action",
        ),
        (answered({"type": "done"}), "takes one action"),
        (answered({"type": "tool.result", "id": "other", "result": 1}), "settles the call"),
        (
            answered(messages=[{"role": "user", "content": "x"}]),
            "takes no messages and no agent",
        ),
        (answered({"type": "done"}, {"type": "done"}), "done stands there twice"),
    ],
    ids=["two results", "another action", "another call", "messages", "wrong in itself"],
)
def test_an_answer_that_cannot_be_applied_is_asked_for_three_times(
    answer: Answered, problem: str
) -> None:
    world = ran("[[call:look {}]]", answer, answer, answer)

    assert problem in tool_results(world)[0]
    assert world.kinds().count("decision.errored") == 3


def test_a_tool_that_may_overlap_takes_no_state() -> None:
    answer = answered({"type": "tool.result", "result": 1}, state={"a": 1})

    world = ran("[[call:both {}]]", answer, tools=[OVERLAPPING])

    assert world.kinds().count("worker.state.updated") == 0
    assert world.kinds().count("decision.errored") == 1


def test_an_answer_that_settles_nothing_leaves_the_call_open() -> None:
    world = ran("[[call:send {}]]", answered())

    assert [call.status for call in world.head().session.calls] == ["pending"]
    assert world.head().session.decisions == ()


def test_an_agent_that_lost_its_worker_cannot_run_what_it_was_to_run() -> None:
    world = World()
    world.submit("[[call:send {}]][[turn]][[say:ok]]")
    world.directory.delete_agent("acme", "helper")
    world.agent("helper", worker=None, system="Another.")

    world.advance()

    assert tool_results(world) == ["no worker can run this tool"]


def test_a_worker_that_is_gone_has_started_nothing() -> None:
    world = World()
    record = world.directory.agent("acme", "helper")
    assert record is not None
    kept = {name: value for name, value in record.definition.items() if name != "worker"}
    world.submit("[[call:send {}]][[turn]][[say:ok]]")
    gone = replace(record, definition=kept)

    world.advance(agents=lambda _tenant, _agent: gone)

    assert tool_results(world) == ["Not started: the agent has no worker any more"]


def test_a_worker_that_took_it_on_is_left_alone_until_the_deadline() -> None:
    """D-7: no driver waits for it; the answer comes by `workers/submit`, or it is too late."""
    once = {"timeout_secs": 60, "max_retries": 1, "backoff_base_secs": 0, "backoff_max_secs": 0}
    slow = {"name": "slow", "description": "Is.", "effect": "read", "retry": once}
    world = World()
    world.agent("helper", tools=[slow])
    world.decider.answer = lambda _request: Deferred()
    world.submit("[[call:slow {}]]")

    world.advance()
    left = world.kinds()[-1], len(tool_results(world)), world.wake.sent[-1].due_ms
    world.clock.move(60_000)
    world.advance()

    assert left[:2] == ("decision.deferred", 0)
    assert 0 <= (left[2] or 0) - NOON_MS - 60_000 < 1_000
    assert world.kinds().count("tool.call.errored") == 1


def test_a_delivery_without_its_decision_is_a_defect() -> None:
    class Empty:
        def __getattr__(self, name: str) -> Any:
            return lambda *_args: None

    key = SessionKey("acme", "s1")
    holding: Any = type("Holding", (), {"session": Empty(), "key": key})()
    prepare = Preparer(World().tools(), holding, Empty())  # type: ignore[arg-type]  # never used

    with pytest.raises(DefectError, match="no model call"):
        prepare(CallModel("x", 1))
    with pytest.raises(DefectError, match="nothing to deliver"):
        prepare(DeliverToWorker("d", 1, "x"))
