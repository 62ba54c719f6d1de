"""Which results can be told, and what is said of the others."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field

from everturn.protocol.json_text import read_json
from everturn.protocol.limits import MAX_RESULT_BYTES, MAX_STATE_BYTES, MIB
from everturn.workers import Context, Worker
from everturn.workers.results import LAMBDA_ANSWER_BYTES, to_url_body
from unit.workers.asking import execute, result


class Place(BaseModel):
    city: str = Field(serialization_alias="name")
    at: datetime | None = None


class Town(Place):
    mayor: str = "nobody"


class Raw(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64")

    data: bytes


@dataclass
class Point:
    x: int


class Colour(enum.Enum):
    RED = "red"


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def returns(value: Any, hint: Any = Any) -> dict[str, Any]:
    """Return a worker's answer where a tool of that return type returns `value`."""
    worker = Worker()

    def act() -> Any:
        return value

    act.__annotations__["return"] = hint
    worker.tool(act)
    return worker.answer(execute("act"))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, None),
        ("text", "text"),
        (7, 7),
        ([1, 2.5, True, None], [1, 2.5, True, None]),
        ((1, 2), [1, 2]),
        ({"a": {1}}, {"a": [1]}),
        (Place(city="Rome", at=NOON), {"name": "Rome", "at": "2026-01-01T12:00:00Z"}),
        ([Point(1)], [{"x": 1}]),
        (Colour.RED, "red"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("a/b"), "a/b"),
        (Raw(data=b"\xff"), {"data": "_w=="}),
        ({1: "one"}, {"1": "one"}),
        (2**70, 2**70),
    ],
)
def test_whatever_pydantic_can_dump_is_a_result(value: Any, told: Any) -> None:
    assert returns(value) == result(told)


def test_a_declared_type_says_what_is_told() -> None:
    assert returns(Town(city="Rome"), Place) == result({"name": "Rome", "at": None})
    assert returns([Point(1)], list[Point]) == result([{"x": 1}])


def test_a_result_of_another_type_than_declared_is_told_as_it_is() -> None:
    assert returns({"city": "Rome"}, Place) == result({"city": "Rome"})


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: b"raw", "bytes are no JSON; return text, or a reference to a file"),
        (lambda: {"a": [(bytearray(b"raw"),)]}, "bytes are no JSON"),
        (lambda: {"a": float("nan")}, "the value is not lossless JSON"),
        (lambda: float("inf"), "the value is not lossless JSON"),
        (lambda: "\ud800", "half a surrogate pair is no character"),
        (object, "Unable to serialize unknown type: <class 'object'>"),
        (circle, "it cannot be written as JSON (ValueError)"),
        (lambda: 10**5000, "the value is not lossless JSON"),
    ],
)
def test_what_is_no_json_is_an_error_that_says_why(make: Callable[[], Any], why: str) -> None:
    (action,) = returns(make())["actions"]

    assert action["error"].startswith(f"The result of act is no JSON: {why}")
    assert (action["retryable"], action["detail"]) == (False, {"reason": "not_json"})


@pytest.mark.parametrize("value", ["x" * MAX_RESULT_BYTES, ["é" * (MAX_RESULT_BYTES // 2 - 2)]])
def test_a_result_of_two_mebibytes_is_told(value: Any) -> None:
    assert returns(value) == result(value)


@pytest.mark.parametrize(
    "value", ["x" * (MAX_RESULT_BYTES + 1), ["é" * (MAX_RESULT_BYTES // 2 - 1)]]
)
def test_a_larger_result_is_an_error(value: Any) -> None:
    (action,) = returns(value)["actions"]

    size = action["detail"].pop("size_bytes")
    assert size > MAX_RESULT_BYTES
    assert action == {
        "type": "tool.error",
        "error": f"The result of act is over {MAX_RESULT_BYTES} bytes.",
        "retryable": False,
        "detail": {"reason": "too_large", "limit_bytes": MAX_RESULT_BYTES},
    }


def nested(depth: int) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


def test_a_result_is_told_down_to_the_depth_that_the_engine_reads() -> None:
    assert read_json(json.dumps(returns(nested(125)))) == result(nested(125))
    for depth in (126, 2000):
        (action,) = returns(nested(depth))["actions"]
        assert action["type"] == "tool.error", depth


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("x" * MAX_STATE_BYTES, f"The state of keep is over {MAX_STATE_BYTES} bytes."),
        (b"raw", "The state of keep is no JSON: bytes are no JSON"),
    ],
)
def test_a_state_that_nobody_would_take_is_an_error(state: Any, told: str) -> None:
    worker = Worker()

    @worker.tool
    def keep(context: Context) -> None:
        context.set_state(state)

    answered = worker.answer(execute("keep"))

    (action,) = answered["actions"]
    assert action["error"].startswith(told)
    assert "state" not in answered


# ---- what Lambda carries


def test_an_answer_that_grows_beyond_lambdas_payload_is_an_error() -> None:
    worker = Worker()

    @worker.tool
    def act(char: str) -> str:
        return char * MAX_RESULT_BYTES

    fine = worker.lambda_handler(execute("act", {"char": '"'}))
    over = worker.lambda_handler(execute("act", {"char": "\x01"}))  # six bytes each

    assert fine == result('"' * MAX_RESULT_BYTES)
    assert over["actions"][0]["error"] == (
        "The answer of act is too large or nested too deeply to be sent."
    )


def test_an_answer_through_a_function_url_is_packed_where_that_is_shorter() -> None:
    worker = Worker()

    @worker.tool
    def act(char: str) -> str:
        return char * MAX_RESULT_BYTES

    def posted(char: str) -> dict[str, Any]:
        body = json.dumps(execute("act", {"char": char}))
        event = {"requestContext": {"http": {"method": "POST"}}, "body": body}
        answered: dict[str, Any] = worker.lambda_handler(event)
        return answered

    plain, packed, over = posted("x"), posted('"'), posted("\x01")

    assert [one["isBase64Encoded"] for one in (plain, packed, over)] == [False, True, False]
    assert len(json.dumps(packed)) < LAMBDA_ANSWER_BYTES
    assert "too large" in json.loads(over["body"])["actions"][0]["error"]


@pytest.mark.parametrize("text", ['"' * MIB, "é" * 3 * MIB])
def test_a_body_comes_through_a_function_url_as_it_is(text: str) -> None:
    import base64  # noqa: PLC0415

    body, packed = to_url_body(text.encode())

    assert (base64.b64decode(body) if packed else body.encode()) == text.encode()
