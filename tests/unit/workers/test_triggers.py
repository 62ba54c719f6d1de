"""What a worker answers where a tool asks, waits or is polled, and to all other triggers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from everturn.protocol.limits import MAX_DECISION_BODY_BYTES
from everturn.workers import (
    AskUser,
    Context,
    NotADecision,
    Pending,
    TaskStarted,
    ToolError,
    Worker,
)
from everturn.workers.answers import UnusableAnswer
from unit.workers.asking import about, ask, error, execute, result

POLL = {"type": "tool.poll", "id": "call_1", "name": "render", "task_id": "job-7", "attempt": 1}


@pytest.fixture
def worker() -> Worker:
    made = Worker()

    @made.tool
    def add(a: int) -> int:
        return a

    return made


# ---- questions and tasks


@pytest.mark.parametrize(
    ("returned", "action"),
    [
        (AskUser("which?"), {"type": "tool.ask", "question": "which?"}),
        (
            AskUser("which?", choices=("a", "b"), allows_free_text=False, continuation={"n": 1}),
            {
                "type": "tool.ask",
                "question": "which?",
                "choices": ["a", "b"],
                "allows_free_text": False,
                "continuation": {"n": 1},
            },
        ),
        (
            TaskStarted("job-7", 30),
            {"type": "tool.task", "task_id": "job-7", "poll_interval_seconds": 30},
        ),
        (
            TaskStarted("job-7", 2.5, continuation="c"),
            {
                "type": "tool.task",
                "task_id": "job-7",
                "poll_interval_seconds": 2.5,
                "continuation": "c",
            },
        ),
        (Pending(), {"type": "tool.pending"}),
        (Pending(9), {"type": "tool.pending", "poll_interval_seconds": 9}),
    ],
)
def test_a_tool_may_ask_or_go_on_elsewhere(returned: Any, action: dict[str, Any]) -> None:
    worker = Worker()

    @worker.tool
    def render() -> Any:
        return returned

    assert ask(worker, execute("render")) == {"actions": [action]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: AskUser("  "),
        lambda: AskUser("which?", allows_free_text=False),
        lambda: TaskStarted("", 5),
        lambda: TaskStarted(" ", 5),
        lambda: TaskStarted("job", 31_536_001),
        lambda: TaskStarted("job", 0.5),
        lambda: Pending(float("nan")),
        lambda: Pending(float("inf")),
    ],
)
def test_a_reply_that_the_engine_would_not_take_cannot_be_made(make: Any) -> None:
    with pytest.raises(ValueError, match=r"question|task"):
        make()


def test_a_continuation_that_is_no_json_is_a_failure_of_the_tool() -> None:
    worker = Worker()

    @worker.tool
    def render() -> TaskStarted:
        return TaskStarted("job", 5, continuation=object())

    (action,) = ask(worker, execute("render"))["actions"]

    assert action["error"].startswith("render failed: NotJson: Unable to serialize unknown type")


def test_a_poll_says_how_far_a_task_is() -> None:
    worker = Worker()

    @worker.tool(effect="read")
    def render() -> TaskStarted:
        return TaskStarted("job-7", 5)

    @worker.poll("render")
    async def rendered(
        task_id: str, continuation: Any, context: Context, pending_answer: Any = None
    ) -> Any:
        if continuation is None:
            return Pending(5, continuation=1)
        if continuation == "start":
            return TaskStarted("job-8", 5)
        if continuation == "fail":
            raise ToolError("the renderer is gone")
        return [task_id, context.task_id, pending_answer["answer"], context.answers[0].answer]

    def polled(**trigger: Any) -> dict[str, Any]:
        return ask(worker, about({**POLL, **trigger}))

    pending = {"type": "tool.pending", "poll_interval_seconds": 5, "continuation": 1}
    assert polled() == {"actions": [pending]}
    assert polled(continuation=1, pending_answer={"answer": "A4"}) == result(
        ["job-7", "job-7", "A4", "A4"]
    )
    assert polled(continuation="fail") == error("the renderer is gone")
    assert polled(continuation="start") == error(
        "render failed: TypeError: a poll starts no task", retryable=True
    )


def test_a_poll_that_nobody_answers_is_an_error(worker: Worker) -> None:
    assert ask(worker, about({**POLL, "name": "add"})) == error(
        "Nobody here knows how far a task of add is."
    )
    assert ask(worker, about(POLL)) == error("There is no tool named render here. Available: add")


# ---- other triggers

OTHERS = (
    "session.start",
    "client.messages",
    "client.action",
    "tool.finished",
    "llm.execute",
    "llm.finished",
    "sub_agent.finished",
    "interrupt.resumed",
    "something.new",
)


@pytest.mark.parametrize("kind", OTHERS)
def test_what_has_no_handler_gets_what_the_engine_proposes(worker: Worker, kind: str) -> None:
    proposed = {"actions": [{"type": "llm.call"}], "messages": []}

    assert ask(worker, about({"type": kind}, proposed=proposed)) == proposed
    assert ask(worker, about({"type": kind})) == {}
    assert ask(worker, {"trigger": {"type": kind}}) == {}


@pytest.mark.parametrize("kind", OTHERS[:-1])
def test_a_handler_answers_its_trigger(worker: Worker, kind: str) -> None:
    @worker.on(kind)
    def decide(request: Mapping[str, Any]) -> Any:
        return {"state": {"seen": request["trigger"]["type"]}}

    assert ask(worker, about({"type": kind})) == {"state": {"seen": kind}}


def test_a_handler_that_returns_nothing_accepts_what_is_proposed(worker: Worker) -> None:
    @worker.on("llm.finished")
    async def decide(_request: Mapping[str, Any]) -> None:
        return None

    proposed = {"actions": [{"type": "done"}]}

    assert ask(worker, about({"type": "llm.finished"}, proposed=proposed)) == proposed


def test_a_handler_may_answer_with_a_model(worker: Worker) -> None:
    class Decision(BaseModel):
        state: dict[str, datetime]

    @worker.on("session.start")
    def start(_request: Mapping[str, Any]) -> Decision:
        return Decision(state={"at": datetime(2026, 1, 1, tzinfo=UTC)})

    assert ask(worker, about({"type": "session.start"})) == {
        "state": {"at": "2026-01-01T00:00:00Z"}
    }


def test_what_a_handler_raises_is_for_the_engine_to_see(worker: Worker) -> None:
    @worker.on("llm.finished")
    def decide(_request: Mapping[str, Any]) -> None:
        raise LookupError("no row")

    with pytest.raises(LookupError, match="no row"):
        worker.answer(about({"type": "llm.finished"}))


@pytest.mark.parametrize("made", [[1], "done", {"state": b"x"}, {"state": float("nan")}])
def test_a_handlers_answer_that_is_no_response_is_a_defect(worker: Worker, made: Any) -> None:
    worker.on("llm.finished")(lambda _: made)

    with pytest.raises(UnusableAnswer, match=r"the answer to llm\.finished is no "):
        worker.answer(about({"type": "llm.finished"}))


def test_a_handlers_answer_that_nobody_would_read_is_a_defect(worker: Worker) -> None:
    worker.on("llm.finished")(lambda _: {"state": "x" * MAX_DECISION_BODY_BYTES})

    with pytest.raises(UnusableAnswer, match="too large or too deep to be sent"):
        worker.answer(about({"type": "llm.finished"}))


@pytest.mark.parametrize(
    "request_",
    [
        None,
        [],
        {},
        {"trigger": "tool.execute"},
        {"trigger": {}},
        {"trigger": {"type": "tool.execute"}},
        {"trigger": {"type": "tool.poll", "name": 5}},
    ],
)
def test_what_is_no_decision_request_is_refused(worker: Worker, request_: Any) -> None:
    with pytest.raises(NotADecision):
        worker.answer(request_)
