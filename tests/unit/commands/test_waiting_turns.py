"""A turn that waits is found by its name: stopped, read, and asked for once more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everturn.commands.cancel import Cancels, Ended
from everturn.commands.inbox import Enqueued
from everturn.commands.submit_input import Submitted
from everturn.errors import StoreUnavailable
from everturn.ports.sessions import Head, SessionKey, TurnRecord
from everturn.rejections import UnknownTurn
from everturn.session.state import Turn
from everturn.store.memory import InMemorySessionStore
from unit.commands.asking_for_runs import Runs
from unit.commands.reading import events_of
from unit.drive.doubles import FrozenClock
from unit.drive.world import MACHINE, World

ASKED: dict[str, Any] = {"message": {"role": "user", "content": "[[say:Later]]"}, "turn_id": "t2"}


def waiting() -> Runs:
    """Return a session with an open turn and one that waits, `t2`."""
    runs = Runs()
    runs.world.submit("[[say:Hi]]")
    runs.inbox.enqueue(MACHINE, "s1", ASKED)
    return runs


def test_a_turn_that_waits_is_stopped_by_its_name() -> None:
    runs = waiting()
    cancels = Cancels(runs.change)

    first = cancels.turn(MACHINE, "s1", "t2", {})
    again = cancels.turn(MACHINE, "s1", "t2", {})

    assert (first, again) == (Ended("t2", True), Ended("t2", False))
    assert runs.world.head().session.inbox == ()
    with pytest.raises(UnknownTurn):
        cancels.turn(MACHINE, "s1", "t3", {})


def test_the_events_of_a_turn_that_waits_are_those_of_its_waiting() -> None:
    runs = waiting()

    page = events_of(runs.world).page(MACHINE, "s1", 0, 10, "t2")

    assert [event["payload"]["type"] for event in page.events] == ["inbox.enqueued"]
    assert not page.more


def test_an_input_with_the_name_of_a_turn_that_waits_is_that_turn() -> None:
    """T-4."""
    runs = waiting()

    assert runs.world.submit("other", turn="t2") == Submitted("s1", "t2", True, "queued")


def test_a_message_for_a_turn_that_is_parked_is_that_turn() -> None:
    class Parked(InMemorySessionStore):
        """Has a parked turn `t0`."""

        def head_and_turn(
            self, key: SessionKey, turn_id: str
        ) -> tuple[Head | None, TurnRecord | None]:
            head, _ = super().head_and_turn(key, turn_id)
            assert head is not None
            return replace(head, session=replace(head.session, parked=(Turn("t0", 1, 1),))), None

    runs = Runs(World(clock=FrozenClock(), store=Parked()))
    session = runs.begin()

    again = runs.inbox.enqueue(MACHINE, session, {**ASKED, "turn_id": "t0"})

    assert again == Enqueued("t0", None, "parked")


def test_a_run_begins_though_its_reader_cannot_be_announced() -> None:
    class Deaf(InMemorySessionStore):
        """Takes no readers."""

        def reader_until(self, key: SessionKey, until_ms: int, created: str = "") -> None:
            raise StoreUnavailable(f"no reader of {key.session} until {until_ms} {created}")

    runs = Runs(World(clock=FrozenClock(), store=Deaf()))

    started = runs.start()

    assert runs.world.head(started.session_id).session.turn is not None
