"""What a worker answers to each trigger; every answer is one that the engine reads."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from everturn.protocol.tool_texts import undeclared_tool_text
from everturn.workers import (
    Context,
    Identity,
    ToolError,
    UserAnswer,
    Worker,
)
from unit.workers.asking import ask, error, execute, result

POLL = {"type": "tool.poll", "id": "call_1", "name": "render", "task_id": "job-7", "attempt": 1}


class Even(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def _is_even(cls, n: int) -> int:
        if n == 13:
            raise KeyError("no such number")
        if n % 2:
            raise ValueError("should be even")
        return n


@pytest.fixture
def worker() -> Worker:
    made = Worker()

    @made.tool(effect="read")
    def add(a: int, b: int = 1) -> int:
        return a + b

    @made.tool
    async def later(text: str) -> str:
        await asyncio.sleep(0)
        return text

    @made.tool
    def half(even: Even) -> Any:
        return even.n / 2

    return made


# ---- tool.execute


def test_a_tool_gets_its_arguments_and_its_result_is_told(worker: Worker) -> None:
    assert ask(worker, execute("add", {"a": 2, "b": 3})) == result(5)
    assert ask(worker, execute("add", {"a": 2})) == result(3)
    assert ask(worker, execute("later", {"text": "é"})) == result("é")
    assert ask(worker, execute("half", {"even": {"n": 4}})) == result(2.0)


def test_no_arguments_at_all_are_an_empty_object(worker: Worker) -> None:
    @worker.tool
    def ping() -> str:
        return "pong"

    assert ask(worker, execute("ping", trigger={"arguments": ""})) == result("pong")


@pytest.mark.parametrize(
    "found",
    [
        {"status": "invalid", "value": {"a": "x"}, "error": "/a: must be integer"},
        {"status": "malformed", "error": "not JSON"},
    ],
)
def test_what_the_engine_finds_wrong_is_answered_with_its_own_words(
    worker: Worker, found: dict[str, Any]
) -> None:
    proposed = {"actions": [{"type": "tool.error", "error": "in the engine's words"}]}

    answered = ask(worker, execute("add", trigger={"input": found}, proposed=proposed))

    assert answered == proposed


def test_an_undeclared_tool_is_answered_with_the_engines_words(worker: Worker) -> None:
    words = undeclared_tool_text("paint", ["add"])
    proposed = {"actions": [{"type": "tool.error", "error": words}]}

    assert ask(worker, execute("paint", proposed=proposed)) == proposed


def test_what_is_only_said_to_be_wrong_is_an_error_too(worker: Worker) -> None:
    found = {"status": "invalid", "value": {}, "error": "/a: is required"}

    assert ask(worker, execute("add", trigger={"input": found})) == error(
        "Arguments for add do not fit: /a: is required", detail={"reason": "invalid_arguments"}
    )


def test_a_declared_tool_that_the_worker_does_not_have_is_an_error(worker: Worker) -> None:
    assert ask(worker, execute("paint")) == error(
        "There is no tool named paint here. Available: add, later, half"
    )
    assert ask(Worker(), execute("paint")) == error(
        "There is no tool named paint here. Available: none"
    )


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("add", {}, "/a: is required"),
        ("add", {"a": "x"}, "/a: should be a valid integer, unable to parse string as an integer"),
        ("add", {"a": 1, "c": 1}, "/c: unknown field"),
        ("add", [1], "/: should be an object"),
        ("half", {"even": {"n": 3}}, "/even/n: Value error, should be even"),
    ],
)
def test_arguments_that_only_the_function_refuses_are_an_error(
    worker: Worker, name: str, arguments: Any, problem: str
) -> None:
    assert ask(worker, execute(name, arguments)) == error(
        f"Arguments for {name} do not fit: {problem}", detail={"reason": "invalid_arguments"}
    )


def test_a_tool_knows_its_call() -> None:
    worker, seen = Worker(), list[Context]()

    @worker.tool
    def look(context: Context) -> None:
        seen.append(context)

    request = execute(
        "look",
        trigger={
            "attempt": 2,
            "deadline": "2026-01-01T12:00:30.000Z",
            "idempotency_key": "k",
            "continuation": {"step": 2},
            "answers": [
                {"question": "sure?", "answer": "yes", "resolution": "answered"},
                {"question": "and now?", "answer": "no"},
                "plain",
            ],
        },
        identity={"id": "ann", "metadata": {"plan": "pro"}},
        state={"n": 1},
        attempts=3,
        deadline="2026-01-01T12:05:00.000Z",
    )
    ask(worker, request)

    assert seen == [
        Context(
            session_id="s1",
            agent_id="helper",
            call_id="call_1",
            tool="look",
            turn_id="t1",
            attempt=2,
            delivery=3,
            deadline=datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC),
            identity=Identity("ann", {"plan": "pro"}),
            idempotency_key="k",
            state={"n": 1},
            continuation={"step": 2},
            answers=(
                UserAnswer("sure?", "yes"),
                UserAnswer("and now?", "no"),
                UserAnswer(answer="plain"),
            ),
            request=request,
        )
    ]
    assert seen[0].owner == "ann"


def test_a_request_that_says_little_gives_a_context_of_defaults() -> None:
    worker, seen = Worker(), list[Context]()

    @worker.tool
    def look(context: Context) -> None:
        seen.append(context)

    trigger = {"type": "tool.execute", "name": "look", "attempt": "x", "deadline": "soon"}
    request = {"trigger": trigger, "identity": 5, "deadline": "2026-01-01T12:00:00"}
    ask(worker, request)

    assert seen == [Context(tool="look", request=request)]


def test_a_state_that_is_set_is_answered() -> None:
    worker = Worker()

    @worker.tool(effect="read", overlap=False)
    def count(context: Context) -> int:
        """Counts the calls; the last one starts afresh."""
        n = (context.state or {}).get("n", 0) + 1
        context.set_state({"n": n} if n < 3 else None)
        return int(n)

    assert ask(worker, execute("count")) == result(1, state={"n": 1})
    assert ask(worker, execute("count", state={"n": 1})) == result(2, state={"n": 2})
    assert ask(worker, execute("count", state={"n": 2})) == result(3, state={})


@pytest.mark.parametrize("options", [{"effect": "read"}, {"overlap": True}])
def test_a_tool_that_may_overlap_sets_no_state(options: Any) -> None:
    worker = Worker()

    @worker.tool(**options)
    def keep(context: Context) -> None:
        context.set_state(1)

    (action,) = ask(worker, execute("keep"))["actions"]

    assert action["error"] == (
        "keep failed: RuntimeError: keep may overlap with other calls and so cannot set the "
        "state; declare it with overlap=False"
    )


def test_a_tool_that_fails_changes_no_state() -> None:
    worker = Worker()

    @worker.tool
    def keep(context: Context) -> None:
        context.set_state(1)
        raise ToolError("full")

    assert ask(worker, execute("keep")) == error("full")


# ---- errors


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (ToolError("no"), error("no")),
        (ToolError("later", retryable=True), error("later", retryable=True)),
        (
            ToolError("slow", code="rate_limited", detail={"after": 3}),
            error("slow", code="rate_limited", detail={"after": 3}),
        ),
        (ToolError("gone", code="not_found"), error("gone", detail={"reason": "not_found"})),
        (
            ToolError("gone", code="not_found", detail={"id": 7}),
            error("gone", detail={"reason": "not_found", "id": 7}),
        ),
        (
            ToolError("gone", code="not_found", detail=[7]),
            error("gone", detail={"reason": "not_found", "value": [7]}),
        ),
        (ToolError("", detail=None), error("the tool gave no reason")),
        (ToolError("half \ud800"), error("half ?")),
        (ToolError("é" * 40_000), error("é" * 32_768)),
        (ToolError("odd", detail={1, 2}), error("odd", detail=[1, 2])),
        (ToolError("raw", detail=b"x"), error("raw", detail={"value": "b'x'"})),
    ],
)
def test_a_tool_error_is_told_as_it_was_raised(raised: ToolError, told: dict[str, Any]) -> None:
    worker = Worker()

    @worker.tool(effect="read")
    def fail() -> None:
        raise raised

    assert ask(worker, execute("fail")) == told


@pytest.mark.parametrize(
    ("effect", "retryable"),
    [
        ("read", True),
        ("idempotent_write", True),
        ("non_idempotent_write", False),
        ("unclassified", False),
        (None, False),
    ],
)
def test_any_other_exception_may_be_repeated_where_the_effect_allows_it(
    effect: Any, retryable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker()

    @worker.tool(effect=effect)
    async def fail(secret: str) -> None:
        raise LookupError("no row" if secret else "")

    answered = ask(worker, execute("fail", {"secret": "hunter2"}))

    assert answered == error("fail failed: LookupError: no row", retryable=retryable)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("everturn.workers", logging.ERROR)
    assert record.getMessage() == "tool fail failed in call call_1"
    assert record.exc_info
    assert "hunter2" not in record.getMessage()


def test_a_worker_may_keep_the_reason_to_itself() -> None:
    worker = Worker(shows_errors=False)

    @worker.tool
    def fail() -> None:
        raise LookupError("password=hunter2")

    assert ask(worker, execute("fail")) == error("fail failed: the reason is in its log")


def test_a_validator_that_breaks_is_a_failure_of_the_tool(worker: Worker) -> None:
    assert ask(worker, execute("half", {"even": {"n": 13}})) == error(
        "half failed: KeyError: 'no such number'"
    )
