"""Runs begin: in a session of their own, in one that is there, or at the end of its queue."""

from __future__ import annotations

import pytest

from everturn.commands.demo_switch import demo_allowed
from everturn.commands.start_run import BASE_AGENT, Started
from everturn.errors import IdsTaken, VersionConflict
from everturn.llm.catalogue import Catalogue
from everturn.ports.runs import Described, RunPlace
from everturn.ports.sessions import Quarantine, SessionKey
from everturn.rejections import (
    NotYetSupported,
    SessionCancelled,
    SessionQuarantined,
    UnknownAgent,
    UnknownSession,
)
from everturn.session.events.messages import MessageNew
from everturn.session.events.sessions import SessionCreated
from unit.commands.asking_for_runs import ANN, BOB, LOCAL, PLAIN, RIVAL, Runs
from unit.commands.test_submit_input import LosingStore
from unit.drive.doubles import FrozenClock, says
from unit.drive.world import MACHINE, TENANT, World


def losing(*losses: Exception) -> tuple[Runs, LosingStore]:
    """Return runs on a store that loses its first races."""
    store = LosingStore(*losses)
    return Runs(World(clock=FrozenClock(), store=store)), store


# ---- in a session of its own


def test_a_run_begins_a_session_in_one_commit_and_a_driver_is_woken() -> None:
    runs = Runs()

    started = runs.start()

    (commit,) = runs.world.log(started.session_id)
    assert commit.wake == "llm"
    assert [one.message["session"] for one in runs.world.wake.sent] == [started.session_id]
    place = runs.index.place(TENANT, started.run_id)
    assert place == RunPlace(started.run_id, started.session_id, 2, commit.created)
    assert runs.world.head(started.session_id).session.agent_id == BASE_AGENT


def test_a_run_is_driven_to_its_end_though_its_agent_is_not_there() -> None:
    runs = Runs()
    started = runs.start("[[say:Hi]]")

    runs.world.advance()

    assert runs.texts(started.session_id) == ["[[say:Hi]]", "Hi"]
    assert runs.outcome(started) == "done"


def test_each_run_has_ids_of_its_own() -> None:
    runs = Runs()

    first, second = runs.start(), runs.start()

    assert len({*_ids(first), *_ids(second)}) == 4


def _ids(started: Started) -> tuple[str, str]:
    return started.session_id, started.run_id


def test_a_session_belongs_to_the_owner_of_the_token_and_a_keys_to_the_default_one() -> None:
    runs = Runs()

    of_key, of_ann = runs.start(), runs.start(caller=ANN)

    owners = [runs.world.head(one.session_id).session.owner_id for one in (of_key, of_ann)]
    assert owners == ["default", "ann"]


def test_files_of_a_run_are_kept_before_it_is_recorded() -> None:
    runs = Runs()

    runs.start("Look.")

    assert runs.kept == [(["Look."], 0)]


def test_an_agent_that_decides_by_a_worker_that_is_not_there_is_unknown() -> None:
    runs = Runs()

    with pytest.raises(UnknownAgent):
        runs.start(config=None, agent="nobody")


def test_a_workers_agent_is_asked_with_the_tools_of_the_client() -> None:
    runs = Runs()
    runs.world.agent("boss", decides="worker")
    client = {"tools": [{"name": "wave", "input": {"type": "object"}}]}

    started = runs.start(config=None, agent="boss", client=client)

    session = runs.world.head(started.session_id).session
    assert session.decides == "worker"
    (commit,) = runs.world.log(started.session_id)
    queued = [one for one in commit.events if one.type == "decision.queued"]
    assert [one.trigger_type for one in queued] == ["session.start", "client.messages"]
    assert queued[-1].client == client


# ---- in a session that is there


def test_a_run_goes_on_in_a_session() -> None:
    runs = Runs()
    session = runs.begin()

    started = runs.start("[[say:Hi]]", session=session)
    runs.world.advance()

    assert started.session_id == session
    assert runs.texts(session) == ["[[say:Hi]]", "Hi"]


def test_a_run_waits_while_another_one_is_open_and_the_driver_opens_it() -> None:
    runs = Runs()
    session = runs.begin()
    first = runs.start("[[say:One]]", session=session)
    second = runs.start("[[say:Two]]", session=session, config=LOCAL)

    waiting = [one.turn_id for one in runs.world.head(session).session.inbox]
    runs.world.advance()

    assert waiting == [second.run_id]
    assert runs.texts(session) == ["[[say:One]]", "One", "[[say:Two]]", "Two"]
    assert [runs.outcome(one) for one in (first, second)] == ["done", "done"]
    assert [type(one).__name__ for one in _versions(runs, session)] == ["AgentUpdated"] * 2


def _versions(runs: Runs, session: str) -> list[object]:
    return [
        event
        for commit in runs.world.log(session)
        for event in commit.events
        if event.type == "agent.updated"
    ]


def test_a_run_that_waited_is_read_from_commits_far_apart() -> None:
    """Its order, its edited message and the window stand in different places of the log."""
    runs = Runs()
    session = runs.begin()
    runs.start("[[say:One]]", session=session)
    runs.start("[[say:Two]]", session=session, config=LOCAL)
    runs.start("[[say:Three]]", session=session)
    (two, _) = runs.world.head(session).session.inbox
    runs.inbox.edit(MACHINE, session, two.id, {"content": "[[say:Edited]]"})

    runs.world.advance()

    said = runs.texts(session)
    assert said[2:] == ["[[say:Edited]]", "Edited", "[[say:Three]]", "Three"]


@pytest.mark.parametrize("caller", [BOB, RIVAL])
def test_a_session_of_somebody_else_is_not_there(caller: object) -> None:
    runs = Runs()
    session = runs.begin(caller=ANN)

    with pytest.raises(UnknownSession):
        runs.start(session=session, caller=caller)  # type: ignore[arg-type]  # callers both


def test_a_session_that_never_was_takes_no_run() -> None:
    with pytest.raises(UnknownSession):
        Runs().start(session="nothing")


def test_a_session_that_was_ended_takes_no_run() -> None:
    runs = Runs()
    session = runs.begin()
    runs.sessions.end(MACHINE, session)

    with pytest.raises(SessionCancelled):
        runs.start(session=session)


def test_a_session_that_was_put_aside_takes_no_run() -> None:
    runs = Runs()
    session = runs.begin()
    runs.world.store.quarantine(SessionKey(TENANT, session), None, Quarantine("defect", 1))

    with pytest.raises(SessionQuarantined):
        runs.start(session=session)


# ---- races


@pytest.mark.parametrize(
    "loss", [VersionConflict("moved"), IdsTaken("taken", ids=frozenset({"m1"}))]
)
def test_a_lost_race_is_decided_again_under_the_same_ids(loss: Exception) -> None:
    runs, store = losing()
    session = runs.begin()
    store.losses, store.tries = [loss], 0

    started = runs.start(session=session)

    assert store.tries == 2
    assert runs.index.place(TENANT, started.run_id) is not None
    assert len(_messages(runs, session)) == 1


def test_two_runs_that_race_are_one_that_is_open_and_one_that_waits() -> None:
    runs, store = losing()
    session = runs.begin()
    store.others = lambda: runs.start("theirs", session=session)

    mine = runs.start("mine", session=session)

    head = runs.world.head(session).session
    assert [one.turn_id for one in head.inbox] == [mine.run_id]
    assert runs.texts(session) == ["theirs"]


def _messages(runs: Runs, session: str) -> list[object]:
    events = [event for commit in runs.world.log(session) for event in commit.events]
    return [event for event in events if isinstance(event, MessageNew)]


# ---- the demo model


@pytest.mark.parametrize("session", [True, False])
def test_a_run_may_not_go_by_a_model_that_is_switched_off(session: bool) -> None:
    """Whatever the session went by before."""
    runs = Runs()
    runs.world.script(says("Hi."))
    where = runs.begin(config={**PLAIN, "model": "scripted:m"}) if session else None
    catalogue = Catalogue()
    runs.check = demo_allowed(lambda _tenant: catalogue, lambda _tenant: {})

    with pytest.raises(NotYetSupported):
        runs.start(session=where)

    assert runs.start(session=where, config={**PLAIN, "model": "scripted:m"}).run_id


def test_a_session_may_not_begin_with_a_model_that_is_switched_off() -> None:
    runs = Runs()
    catalogue = Catalogue()
    runs.check = demo_allowed(lambda _tenant: catalogue, lambda _tenant: {})

    with pytest.raises(NotYetSupported):
        runs.begin()


# ---- a session that waits for its first run


def test_a_session_is_made_and_says_what_it_was_made_as() -> None:
    runs = Runs()

    session = runs.begin(caller=ANN, name="desk", metadata={"team": "blue"})

    (commit,) = runs.world.log(session)
    key = SessionKey(TENANT, session)
    assert runs.index.described([key]) == {key: Described("desk", {"team": "blue"}, commit.created)}
    (made,) = [one for one in commit.events if isinstance(one, SessionCreated)]
    assert made.owner.id == "ann"
    assert runs.world.wake.sent == []


def test_the_worker_of_a_session_without_a_run_is_asked_at_once() -> None:
    runs = Runs()
    runs.world.agent("boss", decides="worker")

    session = runs.begin(agent="boss", config=None)

    assert runs.world.log(session)[0].wake == "decision"
    assert len(runs.world.wake.sent) == 1
