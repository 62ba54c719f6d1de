"""What a commit adds to the indexes."""

from __future__ import annotations

from everturn.ports.sessions import NodePlace, TurnRecord
from everturn.session.events.messages import AgentPrivate, AgentUpdated, StateUpdated
from everturn.session.events.sessions import TurnCompleted, TurnStarted
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.evolve import fold
from everturn.session.state import Session
from everturn.store.index import CallPlace, Index, Version, index_of
from sample_events import created, id_of, message, plain_turn, tool_call


def test_a_commit_is_indexed_by_what_its_events_say() -> None:
    place = Anchor(branch=0, depth=3)
    events: list[Event] = [
        created("s1"),
        message("m", 4),
        tool_call("c"),
        StateUpdated(state=1, anchor=place),
        StateUpdated(state=2, anchor=place),
        AgentUpdated(agent={}, private=AgentPrivate(sha256="f0")),
    ]

    index = index_of(Session(), events)

    assert index == Index(
        nodes=(NodePlace(id_of("m"), 2, 0, 4),),
        calls=(CallPlace(id_of("c"), 3),),
        turns=(),
        versions=(Version("state", 0, 3, 5),),
    )


def test_the_first_agent_version_is_found_in_the_first_commit_and_a_later_one_by_its_item() -> None:
    later = AgentUpdated(agent={}, private=AgentPrivate(sha256="f0"))

    index = index_of(fold([created("s1")]), [later])

    assert index.versions == (Version("agent", 0, 0, 2),)


def test_a_turns_record_takes_what_was_known_before_its_end() -> None:
    asked, answered = plain_turn("s1")

    at_its_end = index_of(fold(asked), answered).turns
    at_once = index_of(Session(), [*asked, *answered]).turns

    assert at_its_end == at_once == (TurnRecord(id_of("turn"), 1, 2, 21, "done"),)


def test_two_turns_of_one_commit_have_a_record_each() -> None:
    events: list[Event] = [
        created("s1"),
        TurnStarted(turn_id="t1"),
        TurnCompleted(turn_id="t1", outcome="steered"),
        TurnStarted(turn_id="t2"),
        TurnCompleted(turn_id="t2", outcome="failed"),
    ]

    turns = index_of(Session(), events).turns

    assert turns == (TurnRecord("t1", 1, 2, 3, "steered"), TurnRecord("t2", 1, 4, 5, "failed"))


def test_a_turn_that_never_opened_consists_of_its_end() -> None:
    turns = index_of(Session(seq=4), [TurnCompleted(turn_id="t9", outcome="cancelled")]).turns

    assert turns == (TurnRecord("t9", 0, 5, 5, "cancelled"),)
