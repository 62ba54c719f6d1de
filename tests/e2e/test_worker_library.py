"""A worker made with the library serves a running stack over sockets, every delivery signed."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from e2e.client import PATIENT, Client, Ended
from everturn.workers import Context, ToolError, Worker
from integration.served import served

SECRET = "whsec-of-the-tests"
VARIABLE = "EVERTURN_TEST_WORKER_SECRET"


class Weather(BaseModel):
    """What the sky is like."""

    sky: str
    degrees: float


class Seen:
    """What the tools saw in the test at hand."""

    def __init__(self) -> None:
        self.calls: list[Context] = []
        self.together = threading.Barrier(2)


SEEN = Seen()
accepted: list[str | bytes] = [SECRET]
worker = Worker(secrets=lambda: accepted)


@worker.tool(effect="read", timeout_secs=30)
def get_weather(city: str, units: Literal["c", "f"] = "c") -> Weather:
    """Tells the weather.

    Args:
        city: Name of the city.
    """
    if city == "Atlantis":
        raise ToolError("There is no city named Atlantis.", code="not_found")
    return Weather(sky="clear", degrees=21 if units == "c" else 69.8)


@worker.tool(effect="read")
async def add(numbers: Annotated[list[float], Field(max_length=5)]) -> float:
    """Adds numbers."""
    await asyncio.sleep(0)
    return sum(numbers)


@worker.tool(effect="read")
def meet(name: str) -> str:
    """Waits for another call."""
    SEEN.together.wait(20)
    return f"{name} met"


@worker.tool(effect="read", retry=PATIENT)
async def flaky(context: Context) -> str:
    """Fails twice."""
    SEEN.calls.append(context)
    if context.attempt < 3:
        raise LookupError("not yet")
    return f"attempt {context.attempt}"


@worker.tool(effect="idempotent_write", retry=PATIENT)
def book(context: Context) -> str:
    """Is busy once."""
    SEEN.calls.append(context)
    if context.attempt < 2:
        raise ToolError("busy", retryable=True)
    return "booked"


@worker.tool(effect="non_idempotent_write")
async def count(context: Context) -> int:
    """Counts its calls."""
    n = int((context.state or {"n": 0})["n"]) + 1
    context.set_state({"n": n})
    return n


@worker.tool(effect="read", retry={**PATIENT, "max_retries": 1})
def flood(size: int) -> str:
    """Says a lot."""
    return "x" * size


APP = worker.asgi
"""Made before any runtime starts, which imports the engine's modules afresh for its functions."""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(VARIABLE, SECRET)
    monkeypatch.setattr(SEEN, "calls", [])
    with served(APP) as found:
        yield found


def run(client: Client, url: str, script: str, session_id: str | None = None) -> Ended:
    """Play a script with an agent that offers exactly what the worker declares."""
    written = client.put_agent(
        "user",
        worker=url,
        worker_secret={"env": VARIABLE},
        tools=worker.agent_tools(),
    )
    assert written.is_success, written.text
    return client.run(script, session_id, agent_id="user")


def test_sync_and_async_tools_answer_a_turn(client: Client, url: str) -> None:
    ended = run(
        client,
        url,
        '[[call:get_weather {"city":"Rome","units":"f"}]][[call:add {"numbers":[1,2,3.5]}]]'
        "[[say:{{results}}]]",
    )

    assert ended.answer == '{"sky":"clear","degrees":69.8} | 6.5'


def test_reads_overlap_although_they_block(client: Client, url: str) -> None:
    script = '[[call:meet {"name":"a"}]][[call:meet {"name":"b"}]][[say:{{results}}]]'

    assert run(client, url, script).answer == "a met | b met"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("get_weather {}", "Arguments for get_weather do not fit its schema: /city: required"),
        ('get_weather {"city":"Atlantis"}', "There is no city named Atlantis."),
        ('add {"numbers":[1,2,3,4,5,6]}', "Arguments for add do not fit its schema: /numbers: "),
        (f'flood {{"size":{2**21 + 1}}}', f"The result of flood is over {2**21} bytes."),
        ("paint", "There is no tool named paint. Available: get_weather, add, meet, "),
    ],
)
def test_what_goes_wrong_is_told_to_the_model(
    client: Client, url: str, call: str, told: str
) -> None:
    ended = run(client, url, f"[[call:{call}]][[say:{{{{result}}}}]]")

    assert ended.answer.startswith(f"ERROR: {told}")
    assert ended.completed["outcome"] == "done"


def test_an_error_code_of_the_tools_own_is_shown_as_the_reason(client: Client, url: str) -> None:
    ended = run(client, url, '[[call:get_weather {"city":"Atlantis"}]]')

    assert ended.only("tool.call.errored")["detail"] == {"reason": "not_found"}


def test_a_failure_of_a_read_is_another_attempt(client: Client, url: str) -> None:
    ended = run(client, url, "[[call:flaky]][[say:{{result}}]]")

    assert ended.answer == "attempt 3"
    assert [one.attempt for one in SEEN.calls] == [1, 2, 3]
    assert {one.session_id for one in SEEN.calls} == {ended.session_id}
    assert {(one.agent_id, one.turn_id, one.owner) for one in SEEN.calls} == {
        ("user", ended.turn.turn_id, "default")
    }


def test_attempts_of_a_repeatable_write_carry_one_key(client: Client, url: str) -> None:
    ended = run(client, url, "[[call:book]][[say:{{result}}]]")

    keys = [one.idempotency_key for one in SEEN.calls]
    assert ended.answer == "booked"
    assert len(keys) == 2
    assert keys[0] == keys[1] is not None


def test_a_state_is_there_again_in_the_next_turn(client: Client, url: str) -> None:
    first = run(client, url, "[[call:count]][[call:count]][[say:{{results}}]]")
    second = run(client, url, "[[call:count]][[say:{{result}}]]", first.session_id)

    assert (first.answer, second.answer) == ("1 | 2", "3")


def test_a_delivery_signed_with_another_secret_is_turned_away(
    client: Client, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "rotated")

    ended = run(client, url, '[[call:flood {"size":1}]][[say:{{result}}]]')

    assert ended.answer == "ERROR: the worker answered 401"


def test_during_a_rotation_both_secrets_are_taken(
    client: Client, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "accepted", [SECRET, "new"])
    answers = []

    for secret in (SECRET, "new"):
        monkeypatch.setenv(VARIABLE, secret)
        script = '[[call:add {"numbers":[1]}]][[say:{{result}}]]'
        answers.append(run(client, url, script).answer)

    assert answers == ["1.0", "1.0"]
