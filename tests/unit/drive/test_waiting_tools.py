"""Drivers on tools that ask and tools that take long, where the engine decides."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.answer_later import SettleCalls, SubmitAnswer
from everturn.commands.resolve_wait import ResolveWait
from everturn.ports.callers import Caller
from everturn.ports.decider import Deferred
from everturn.protocol.decision import DECISION_REQUEST
from everturn.rejections import SchemaViolation
from everturn.session.state import status_of
from unit.drive.doubles import NOON_MS, FrozenClock, SteppingClock, answered, result
from unit.drive.world import TENANT, World

MACHINE = Caller(TENANT)
ASK = {"type": "tool.ask", "question": "Sure?", "choices": ["yes", "no"], "continuation": [1]}
TASK: dict[str, Any] = {"type": "tool.task", "task_id": "job-7", "poll_interval_seconds": 60}
PENDING: dict[str, Any] = {"type": "tool.pending"}


def ran(script: str, *answers: Any, clock: FrozenClock | None = None, **agent: Any) -> World:
    """Return a session after one driver; the worker gives `answers`, one a delivery."""
    world = World(clock=clock or FrozenClock())
    if agent:
        world.agent("helper", **agent)
    left = list(answers)
    world.decider.answer = lambda _request: left.pop(0)
    world.submit(script)
    world.advance()
    return world


def answer(world: World, n: int = 1, body: dict[str, Any] | None = None) -> bool:
    """Have the user answer the n-th question of the only call, and a driver go on."""
    (call,) = world.head().session.calls
    said = body or {"answer": "yes"}
    was_over = ResolveWait(world.changer())(MACHINE, "s1", f"{call.id}-input-{n}", said)
    world.advance(request_id=f"answer {n}")
    return was_over


def triggers(world: World) -> list[dict[str, Any]]:
    """Return what the worker was asked, without what is the same in all of it."""
    asked = [request["trigger"] for request in world.decider.requests]
    for request in world.decider.requests:
        DECISION_REQUEST.validate_python(request)
    known: set[str] = {"id", "name", "arguments", "input", "attempt"}
    return [{name: one[name] for name in one.keys() - known} for one in asked]


def test_a_question_ends_the_driver_and_an_answer_brings_another_one() -> None:
    """O-12: nothing is scheduled and nobody wakes it in the meantime; F9."""
    world = ran("[[call:send {}]][[turn]][[say:{{result}}]]", answered(ASK), result("sent"))
    idle = status_of(world.head().session), world.head().due_epoch_s, len(world.wake.sent)

    answer(world)

    (wait,) = {
        event.id for c in world.log() for event in c.events if event.type == "call.wait.opened"
    }
    told = {"interrupt_id": wait, "question": "Sure?", "answer": "yes", "resolution": "answered"}
    assert idle == ("idle", None, 1)
    assert triggers(world) == [
        {"type": "tool.execute"},
        {"type": "tool.execute", "answers": [told], "continuation": [1]},
    ]
    assert world.texts()[-1] == ("assistant", "sent")


def test_a_task_is_polled_by_timers_of_the_step_machine() -> None:
    """Agent-session.md 12; architecture 4: longer waits than 10 s are not slept."""
    world = ran(
        "[[call:send {}]][[turn]][[say:{{result}}]]",
        answered(TASK),
        answered({**PENDING, "continuation": "half"}),
        answered({**PENDING, "poll_interval_seconds": 3 * 86_400}),
        result("rendered"),
    )
    dues = []

    for seconds in (60, 60, 3 * 86_400):
        dues.append(world.wake.sent[-1].due_ms)
        world.clock.move(seconds * 1000)
        world.advance(request_id=f"poll {len(dues)}")

    assert dues == [NOON_MS + 60_000, NOON_MS + 120_000, NOON_MS + 120_000 + 3 * 86_400_000]
    assert triggers(world)[1:] == [
        {"type": "tool.poll", "task_id": "job-7"},
        {"type": "tool.poll", "task_id": "job-7", "continuation": "half"},
        {"type": "tool.poll", "task_id": "job-7", "continuation": "half"},
    ]
    assert {request["turn_id"] for request in world.decider.requests} == {"t1"}
    assert [request["proposed"] for request in world.decider.requests] == [{}] * 4
    assert world.texts()[-1] == ("assistant", "rendered")


def test_a_question_of_a_task_is_answered_to_the_task() -> None:
    world = ran(
        "[[call:put {}]][[turn]][[say:{{result}}]]",
        answered(TASK),
        answered(ASK),
        answered(PENDING),
        result("done"),
    )
    world.clock.move(60_000)
    world.advance(request_id="poll")

    answer(world, body={"outcome": "rejected", "message": "Never."})
    world.clock.move(60_000)
    world.advance(request_id="again")

    asked = triggers(world)
    assert [one.get("pending_answer", {}).get("resolution") for one in asked] == [
        None,
        None,
        "declined",
        None,
    ]
    assert asked[2]["pending_answer"]["answer"] == "Never."
    assert len({one["idempotency_key"] for one in asked}) == 1
    assert world.texts()[-1] == ("assistant", "done")


def test_a_large_continuation_and_answer_come_back_from_the_bucket() -> None:
    """Bodies are not in the head: storage-and-commits, "Items"."""
    large = {"type": "tool.ask", "question": "q" * 16_000, "continuation": "c" * 200_000}
    world = ran("[[call:send {}]]", answered(large), result("ok"))

    answer(world, body={"answer": "a" * 60_000})

    trigger = world.decider.requests[1]["trigger"]
    assert trigger["continuation"] == large["continuation"]
    assert trigger["answers"][0]["question"] == large["question"]
    assert trigger["answers"][0]["answer"] == "a" * 60_000


def test_a_question_may_come_with_a_state() -> None:
    """Z-1."""
    world = ran("[[call:send {}]]", answered(ASK, state={"n": 1}), result("ok"))

    answer(world)

    assert world.decider.requests[1]["state"] == {"n": 1}


def test_the_result_of_a_task_is_held_to_the_tools_schema() -> None:
    """U-9."""
    schema = {"type": "object", "required": ["n"]}
    tool = {"name": "send", "effect": "read", "output": schema}
    world = ran("[[call:send {}]]", answered(TASK), result({"m": 1}), tools=[tool])

    world.clock.move(60_000)
    world.advance(request_id="poll")

    (told,) = [content for role, content in world.texts() if role == "tool"]
    assert told == "Result of send does not fit its output schema: /n: required"


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (PENDING, None, "tool.pending answers tool.poll, not tool.execute"),
        (TASK, TASK, "tool.task answers tool.execute, not tool.poll"),
        (TASK, {"type": "tool.ask", "question": " "}, "/actions/0/question: is blank"),
        ({**TASK, "task_id": " "}, None, "/actions/0/task_id: is blank"),
    ],
)
def test_an_answer_in_the_wrong_place_is_invalid(
    first: dict[str, Any], second: dict[str, Any] | None, problem: str
) -> None:
    """D-8: three in a row are the end of it."""
    wrong = [answered(second or first)] * 3
    answers = [answered(first), *wrong] if second else wrong
    world = ran("[[call:look {}]]", *answers, clock=SteppingClock())
    if second:
        world.clock.move(60_000)
        world.advance(request_id="poll")

    errors = [e for c in world.log() for e in c.events if e.type == "decision.errored"]
    assert [one.error for one in errors] == [problem] * 3
    assert world.head().session.turn is None


def test_two_answers_at_once_are_invalid() -> None:
    both = answered(ASK, {"type": "tool.result", "result": 1})
    world = ran("[[call:look {}]]", *[both] * 3, clock=SteppingClock())

    errors = [e for c in world.log() for e in c.events if e.type == "decision.errored"]
    assert "takes one action" in errors[0].error


def test_an_answer_to_a_poll_may_come_later() -> None:
    """D-7."""
    world = ran("[[call:send {}]][[turn]][[say:{{result}}]]", answered(TASK), Deferred())
    world.clock.move(60_000)
    world.advance(request_id="poll")
    (waiting,) = world.head().session.decisions
    submit = SubmitAnswer(world.changer())
    body: dict[str, Any] = {"session_id": "s1", "decision_id": waiting.id}

    with pytest.raises(SchemaViolation, match=r"not tool\.poll"):
        submit(MACHINE, {**body, "actions": [TASK]})
    assert submit(MACHINE, {**body, "actions": [{**PENDING, "poll_interval_seconds": 20}]}) is False
    assert submit(MACHINE, {**body, "actions": [PENDING]}) is True

    (wait,) = world.head().session.waits
    assert wait.next_poll_ms == world.clock.now_ms() + 20_000


def test_an_api_key_may_end_a_call_whose_task_is_forgotten() -> None:
    """U-6, U-12."""
    world = ran("[[call:send {}]][[turn]][[say:{{result}}]]", answered(TASK))
    (call,) = world.head().session.calls

    settle = {"type": "tool.result", "id": call.id, "result": "found it"}
    SettleCalls(world.changer())(MACHINE, "s1", settle, handlers=("worker",))
    world.advance(request_id="settled")

    assert world.texts()[-1] == ("assistant", "found it")
    assert world.head().session.waits == ()


def test_a_slow_tool_of_a_function_asks_through_the_step_machine() -> None:
    """A run after an answer is the machine's as the first one was, a poll is the driver's."""
    slow = {"name": "send", "effect": "non_idempotent_write", "timeout_secs": 600}
    world = World(clock=FrozenClock())
    arn = "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-tools"
    world.agent("helper", worker=arn, tools=[slow])
    world.submit("[[call:send {}]]")
    world.advance()
    (decision,) = world.head().session.decisions
    SubmitAnswer(world.changer())(
        MACHINE, {"session_id": "s1", "decision_id": decision.id, "actions": [ASK]}
    )

    answer(world)

    (again,) = world.head().session.decisions
    assert (decision.by_machine, again.by_machine) == (True, True)
    assert again.deadline_ms == world.clock.now_ms() + 600_000
