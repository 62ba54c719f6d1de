"""What the step machine cannot take, and what is not for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everturn.ports.directory import AgentRecord
from everturn.protocol.limits import MAX_STEP_REQUEST_BYTES
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.events.decisions import DecisionDispatched
from everturn.session.events.tool_calls import ToolCallErrored
from unit.drive.doubles import result
from unit.drive.slow import ALLOWED, ARN, GOLD, URL, events, tool_results, world_of
from unit.drive.world import KEY, TENANT, World

LARGE = "x" * (MAX_STEP_REQUEST_BYTES // 2)


def test_a_request_over_256_kb_is_delivered_by_the_driver_if_its_timeout_allows() -> None:
    world = world_of(f"{LARGE}[[call:ship {{}}]][[turn]][[say:{{{{result}}}}]]", timeout_s=300)

    world.advance()

    dispatched = events(world, DecisionDispatched)
    assert [(one.attempt, one.private.by_machine) for one in dispatched] == [(1, True), (1, False)]
    assert [one["attempts"] for one in world.decider.requests] == [1]
    assert world.wake.runs == []
    assert tool_results(world) == ["directly"]


def test_a_driver_that_vanishes_with_such_a_delivery_leaves_an_orphan() -> None:
    world = world_of(f"{LARGE}[[call:ship {{}}]][[turn]][[say:ok]]", timeout_s=300)
    world.decider.answer = _vanish
    message = world.last_wake()
    with pytest.raises(SystemExit):
        world.advance(message)

    world.decider.answer = lambda _request: result("twice")
    world.advance(message, request_id="r2", received=2)

    assert len(world.decider.requests) == 1
    assert tool_results(world) == [OUTCOME_UNKNOWN]


def _vanish(_request: dict[str, Any]) -> Any:
    raise SystemExit


def test_a_request_over_256_kb_of_a_tool_that_takes_longer_is_too_large() -> None:
    world = world_of(f"{LARGE}[[call:ship {{}}]][[turn]][[say:ok]]", timeout_s=301)

    world.advance()

    (errored,) = events(world, ToolCallErrored)
    assert errored.error.startswith("Not started: the request has 24")
    assert errored.error.endswith(
        f"bytes: a tool with timeout_secs 301 takes up to {MAX_STEP_REQUEST_BYTES}, "
        "one with 300 or less takes more"
    )
    assert errored.detail == {"reason": "too_large"}
    assert (world.decider.requests, world.wake.runs) == ([], [])


def moved(world: World) -> AgentRecord:
    """Return the agent with a webhook for a worker."""
    record = world.directory.agent(TENANT, "helper")
    assert record is not None
    return replace(record, definition={**record.definition, "worker": URL})


def test_a_worker_that_moved_meanwhile_gets_what_nobody_has_begun() -> None:
    world = world_of("[[call:ship {}]][[turn]][[say:ok]]")
    record = moved(world)

    world.advance(agents=lambda _tenant, _agent: record)

    assert [target.url for target in world.decider.targets] == [URL]
    assert tool_results(world) == ["directly"]


def test_what_the_machine_may_have_begun_is_left_to_it_though_the_worker_moved() -> None:
    world = world_of("[[call:ship {}]][[turn]][[say:{{result}}]]")
    world.advance()
    record = moved(world)
    world.advance(world.last_wake().model_copy(update={"due": None}), agents=lambda *_: record)
    before = tool_results(world)
    world.wake.settle(world.wake.runs[0], answer=GOLD)

    world.advance(request_id="r3", agents=lambda *_: record)

    assert before == []
    assert world.decider.requests == []
    assert tool_results(world) == ["gold"]


def test_a_function_that_is_not_allowed_is_not_started() -> None:
    world = world_of("[[call:ship {}]][[turn]][[say:ok]]")

    world.advance(functions=ALLOWED.replace("worker", "other"))

    (text,) = tool_results(world)
    assert text.startswith("Not started: the worker's function is refused: only functions whose")
    assert world.wake.runs == []


def test_a_quick_tool_of_the_same_worker_is_the_drivers_and_is_not_signed() -> None:
    world = world_of("[[call:send {}]][[turn]][[say:ok]]")
    record = world.directory.agent(TENANT, "helper")
    assert record is not None
    signed = replace(record, worker_secret={"env": "PLACE"})

    world.advance(agents=lambda *_: signed)

    (target,) = world.decider.targets
    assert (target.url, target.secret) == (ARN, "")
    assert world.head(KEY.session).session.turn is None
