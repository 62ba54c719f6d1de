"""House style 5 and 6: a log line names what and which id, never what somebody said."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from everturn.commands.fan_out import FanOut
from everturn.commands.recover import Recover
from everturn.errors import LeaseLost, StoreUnavailable
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.observability import logger, metrics
from everturn.ports.decider import DeliveryFailed, WorkerAnswer
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Delta, Watcher
from everturn.protocol.llm import LlmRequest
from everturn.protocol.wake import WAKE
from everturn.session.events.stored import from_json
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import answered, lease, refused_renewal, result
from unit.drive.world import AGENT, KEY, MACHINE, World, body
from unit.surfaces.asking import Surfaces

SECRET = "the-launch-code-is-8412"


class Kept(logging.Handler):
    """Keeps everything of each record, its traceback too."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        told = json.dumps(vars(record), default=str)
        if record.exc_info and record.exc_info[1] is not None:
            told += "".join(traceback.format_exception(record.exc_info[1]))
        self.lines.append(told)


@pytest.fixture
def kept() -> Iterator[Kept]:
    handler = Kept()
    roots = [logger._logger, logging.getLogger()]  # powertools hides it
    before = [root.level for root in roots]
    for root in roots:
        root.addHandler(handler)
        root.setLevel(logging.INFO)
    yield handler
    for root, level in zip(roots, before, strict=True):
        root.removeHandler(handler)
        root.setLevel(level)
    metrics.clear_metrics()


def everything(world: World, text: str) -> None:
    """Take a session through an input, its turn, its readers and its end."""
    world.submit(text)
    FanOut(world.store, world.wake, lambda _key: world.lanes)(KEY, world.log()[0])
    world.advance()


class Unkept(InMemorySessionStore):
    """Keeps no deltas and knows no readers."""

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        raise StoreUnavailable(f"no {delta.n} of {key.session} until {expires_epoch_s}")


def test_a_whole_turn_says_nothing_of_what_was_said(kept: Kept) -> None:
    world = World(store=Unkept())
    world.store.add_watcher(KEY, Watcher("c1", "sub"))
    world.decider.answer = lambda _request: result(SECRET)
    arguments = json.dumps({"code": SECRET})

    everything(world, f"[[call:look {arguments}]][[turn]][[say:{SECRET} and {{{{result}}}}]]")

    assert world.texts()[-1] == ("assistant", f"{SECRET} and {SECRET}")
    assert any("a delta was not kept" in line for line in kept.lines)
    assert not any(SECRET in line for line in kept.lines)


def test_what_goes_wrong_says_nothing_of_what_was_said(kept: Kept) -> None:
    world = World()
    world.script([ModelFailed(SECRET, FailureCode.INVALID_REQUEST)])
    world.submit(SECRET)
    world.advance()
    tools = World()
    refused = answered({"type": "tool.error", "error": SECRET})
    cut = DeliveryFailed(SECRET, "http_status", retryable=True, started="unknown")
    answers: list[WorkerAnswer] = [refused, cut]
    tools.decider.answer = lambda _request: answers.pop(0)
    tools.submit(f"[[call:send {json.dumps({'code': SECRET})}]][[turn]][[call:send {{}}]]")
    tools.advance()
    taken = World()
    taken.submit(SECRET)
    taken.advance(received=2)
    given_up = World()
    given_up.submit(SECRET)
    Recover(given_up.store, given_up.reader, given_up.wake, given_up.clock).give_up(KEY, 1)
    refused_lease = World()
    refused_lease.submit(SECRET)
    with pytest.raises(LeaseLost):
        refused_lease.advance(held=lease(refused_renewal))

    assert len(kept.lines) >= 2
    assert not any(SECRET in line for line in kept.lines)


@pytest.mark.parametrize(
    "request_body",
    [
        body(SECRET),
        SECRET,
        {"input": {"type": SECRET}},
        {"input": {"type": "client.message", "agent_id": "helper", "message": {"role": SECRET}}},
        {**body("x"), SECRET: SECRET},
        body("x", turn=f"({SECRET})"),
        body("x", agent=SECRET),
    ],
)
def test_refused_requests_say_nothing_of_what_was_said(kept: Kept, request_body: Any) -> None:
    surfaces = Surfaces()
    surfaces.sockets.connect("c1", MACHINE)

    surfaces.http("POST", "/v1/sessions/input", request_body)
    surfaces.http("PUT", "/v1/agents/a1", {**AGENT, "model": 7, "system": SECRET})
    surfaces.http("GET", "/v1/sessions/s1", key=SECRET)
    surfaces.http("GET", f"/v1/{SECRET}")
    surfaces.events("s1", query={"after_seq": SECRET})
    frame = request_body if isinstance(request_body, dict) else {"x": request_body}
    surfaces.say({"action": "input", "id": "f1", **frame})

    assert kept.lines
    assert not any(SECRET in line for line in kept.lines)


def test_a_defect_is_logged_with_its_trace_and_without_what_was_said(kept: Kept) -> None:
    class Broken:
        def __call__(self, _tenant: str, request: Any) -> Any:
            said = request.input.message.content
            return LlmRequest.model_validate({"model": 7, "messages": [{"role": said}]})

    answer = Surfaces(submit=Broken()).http("POST", "/v1/sessions/input", body(SECRET))

    assert answer[0] == 500
    assert any("ValidationError" in line for line in kept.lines)
    assert not any(SECRET in line for line in [*kept.lines, str(answer)])


def test_a_message_that_cannot_be_read_is_not_quoted() -> None:
    wrong = {"step": "llm", "tenant": "acme", "session": "s1", "version": SECRET}

    with pytest.raises(ValidationError) as told:
        WAKE.validate_python(wrong)

    assert SECRET not in str(told.value)


def test_an_event_that_cannot_be_read_is_not_quoted() -> None:
    stored = {"type": "message.new", "id": "m1", "message": {"content": SECRET}, "private": SECRET}

    with pytest.raises(ValidationError) as told:
        from_json(stored)

    assert SECRET not in str(told.value)
