"""A driver on sessions with guards, an output schema, and models to fall back to."""

from __future__ import annotations

from typing import Any

from everturn.commands.rebuild_request import RebuildRequest
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.guard_texts import FINAL_NOTE, REPEATED_CALL, repair_note
from everturn.session.propose import propose
from unit.drive.doubles import answered, result, says
from unit.drive.ordering import replied, world_of
from unit.drive.world import KEY, QUICK_RETRY, World

SCHEMA = {"type": "object", "required": ["city"]}
ONCE = {**QUICK_RETRY, "max_retries": 1}


def requested(world: World) -> list[tuple[int, ModelCallRequested]]:
    """Return what asked for each model call."""
    return [
        (seq, event)
        for commit in world.log()
        for seq, event in commit.numbered()
        if isinstance(event, ModelCallRequested)
    ]


def bodies(world: World) -> list[dict[str, Any]]:
    """Return every request, rebuilt from the log and held against its hash."""
    rebuild = RebuildRequest(world.store)
    return [rebuild(KEY, seq).body for seq, _ in requested(world)]


def failure(world: World) -> Any:
    """Return why the turn failed."""
    return next(one.error for c in world.log() for one in c.events if one.type == "turn.completed")


def test_f26_the_same_invalid_object_again_and_again_is_a_typed_error_with_the_last_one() -> None:
    world = World()
    model = world.script(*[says('{"town":"Rome"}')] * 10, output_schema=SCHEMA)
    world.submit("Where?")

    world.advance()

    assert len(model.requests) == len(requested(world)) == 3
    assert world.head().session.last_outcome == "failed"
    assert failure(world).code == "output_invalid"
    assert failure(world).detail == {
        "reason": "output_invalid",
        "problem": "/city: required",
        "attempts": 3,
        "last_attempt": '{"town":"Rome"} ',
    }


def test_an_answer_that_is_mended_ends_the_turn() -> None:
    world = World()
    world.script(says("Rome"), says('{"city":"Rome"}'), output_schema=SCHEMA)
    world.submit("Where?")

    world.advance()

    problem = "/: not JSON: Expecting value at character 0"
    assert world.texts() == [
        ("user", "Where?"),
        ("assistant", "Rome "),
        ("user", repair_note(problem, SCHEMA)),
        ("assistant", '{"city":"Rome"} '),
    ]
    assert bodies(world)[1]["messages"][-1]["content"] == repair_note(problem, SCHEMA)


def test_what_a_worker_says_for_a_model_is_held_to_the_schema() -> None:
    world = world_of(
        replied("{}"),
        replied('{"city":"Rome"}'),
        output_schema=SCHEMA,
        guards={"output_repairs": 1},
    )
    world.submit("Where?")

    world.advance()

    assert world.kinds().count("output.rejected") == 1
    assert world.texts()[-1] == ("assistant", '{"city":"Rome"}')


def test_a_loop_ends_in_a_last_word_without_tools() -> None:
    guards = {"loop_detection": {"consecutive_threshold": 2, "hard_cutoff_threshold": 3}}
    world = World()
    world.agent("helper", guards=guards)
    world.decider.answer = lambda _request: result("a wall")
    world.submit("[[call:look]][[call:look]][[turn]][[call:look]][[call:look]][[turn]]" * 4)

    world.advance()

    sent = bodies(world)
    assert [one.get("tool_choice") for one in sent] == [None, None, None, "none"]
    assert world.texts()[-2:] == [("user", FINAL_NOTE), ("assistant", "done")]
    assert world.texts().count(("tool", REPEATED_CALL)) == 4
    assert not propose(world.head().session).effects


def test_a_turn_goes_on_with_the_next_model() -> None:
    world = World()
    down = ModelFailed("down", FailureCode.SERVER, status=500)
    world.script([down], retry=ONCE, fallback_models=["demo:demo"])
    world.submit("[[say:from {{model}}]]")

    world.advance()

    assert [event.model for _, event in requested(world)] == ["scripted:m", "demo:demo"]
    assert [one["model"] for one in bodies(world)] == ["m", "demo"]
    assert world.texts()[-1] == ("assistant", "from demo")
    assert world.head().session.last_outcome == "done"


def test_another_driver_goes_on_with_the_model_that_the_turn_fell_back_to() -> None:
    world = World()
    down = ModelFailed("down", FailureCode.SERVER, status=500)
    model = world.script([down], retry=ONCE, fallback_models=["demo:demo"])
    world.submit("[[say:from {{model}}]]")

    world.advance(remaining_ms=lambda: 50_000 if model.requests else 900_000)
    before = world.kinds()
    world.advance(request_id="r2")

    assert before[-3:] == ["llm.call.requested", "llm.call.dispatched", "step.started"]
    assert "model.fell_back" in before
    assert world.texts()[-1] == ("assistant", "from demo")


def test_each_of_two_calls_is_sent_with_its_own_header() -> None:
    """RH-5: the newest header of the log is another call's."""
    calls = [{"type": "llm.call", "temperature": heat} for heat in (0, 1)]

    def answer(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] == "client.messages":
            return answered(*calls, messages=request["proposed"]["messages"])
        if request["trigger"]["type"] == "llm.finished":
            return answered()
        return answered(**request["proposed"])

    world = World()
    model = world.script(says("One."), says("Two."), decides="worker")
    world.decider.answer = answer
    world.submit("Hello.")

    world.advance()

    assert [request.temperature for request, _ in model.requests] == [0, 1]
