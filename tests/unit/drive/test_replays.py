"""What a model said before goes back to it as it was said, and to nobody else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from everturn.drive.replays import replays_of
from everturn.llm.chunks import (
    BlockEnd,
    Finished,
    FinishReason,
    ReasoningBlock,
    ReasoningDelta,
    TextDelta,
)
from everturn.ports.model import Replay
from everturn.session.events.model_calls import ModelCallCompleted
from unit.drive.doubles import Step, says
from unit.drive.world import KEY, World

THOUGHTFUL: Step = [
    ReasoningDelta(0, "hm"),
    BlockEnd(0, ReasoningBlock("hm", "signed")),
    TextDelta(1, "Hi"),
    Finished(FinishReason.STOP, '{"v":1}'),
]


def test_signed_thinking_goes_back_with_its_message() -> None:
    """MB-4, MB-5."""
    world = World()
    model = world.script(THOUGHTFUL, says("Bye"))

    world.submit("Hello")
    world.advance()
    world.submit("Again", turn="t2")
    world.advance()

    first, second = model.beside
    said = model.requests[1][0].messages[1]
    assert first.replays == {}
    assert second.replays == {
        said.id: Replay(
            "scripted",
            "m",
            (
                {"type": "reasoning", "thinking": "hm", "signature": "signed"},
                {"type": "text", "text": "Hi"},
            ),
            '{"v":1}',
        )
    }


def test_a_session_has_one_cache_key_and_the_route_its_limits() -> None:
    world = World()
    model = world.script(says("Hi"), says("Bye"))

    world.submit("Hello")
    world.advance()
    world.submit("Again", turn="t2")
    world.advance()

    first, second = model.beside
    assert first.cache_key == second.cache_key
    assert len(first.cache_key) == 32
    assert 0 < first.timeout_s <= 840


def kept(**changed: Any) -> dict[str, Replay]:
    """Return what is replayed of a thoughtful answer whose event was changed afterwards."""
    world = World()
    world.script(THOUGHTFUL)
    world.submit("Hello")
    world.advance()
    path = world.reader.load(KEY, world.head()).facts.path
    logged = [
        replace(
            commit,
            events=tuple(
                event.model_copy(update=changed) if isinstance(event, ModelCallCompleted) else event
                for event in commit.events
            ),
        )
        for commit in world.log()
    ]
    return replays_of(logged, [node.message for node in path])


def test_a_message_that_was_rewritten_is_not_said_as_it_was() -> None:
    assert len(kept()) == 1
    assert kept(message={"id": "x", "role": "assistant", "content": "Other"}) == {}


def test_an_answer_from_before_routes_were_noted_is_not_said_again() -> None:
    assert kept(private={"blocks": [{"type": "reasoning", "thinking": "hm"}]}) == {}
    assert kept(private=None) == {}
