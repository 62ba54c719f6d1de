"""T-2 to T-5, storage-and-commits: an input is recorded once, or refused, and somebody is woken."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.attempts import BUDGET_S
from everturn.commands.demo_switch import demo_allowed
from everturn.commands.submit_input import Submitted
from everturn.errors import IdsTaken, StoreUnavailable, VersionConflict
from everturn.llm.catalogue import Catalogue
from everturn.ports.callers import Caller
from everturn.ports.sessions import Head, NewCommit, Owner, SessionKey, TurnRecord
from everturn.protocol.client_input import read_input
from everturn.rejections import InvalidId, NotYetSupported, TurnAlreadyActive, UnknownAgent
from everturn.session.facts import Facts, Pinned, Route
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import NoQueue, answered, says
from unit.drive.world import KEY, MACHINE, TENANT, World, body


class LosingStore(InMemorySessionStore):
    """Loses its first races, in the way it is told; `others` write before the next attempt."""

    def __init__(self, *losses: Exception) -> None:
        super().__init__()
        self.losses = list(losses)
        self.others: Any = None
        self.tries = 0

    def append(self, commit: NewCommit) -> Head:
        self.tries += 1
        if self.others is not None:
            others, self.others = self.others, None
            others()
        if self.losses:
            raise self.losses.pop(0)
        return super().append(commit)


def test_an_input_a_decision_and_a_model_call_are_one_commit_that_nobody_owns() -> None:
    """M-1, O-6."""
    world = World()

    submitted = world.submit("Hello")

    commit = world.log()[0]
    assert submitted == Submitted("s1", "t1")
    assert [len(world.log()), commit.by, commit.wake] == [1, "http_api", "llm"]
    assert commit.events[-2].type == "llm.call.dispatched"
    assert world.head().owner == Owner(0, "")
    assert world.head().due_epoch_s == commit.at_ms // 1000 + 1200


def test_the_wake_up_names_the_version_and_its_dedup_id_is_that_of_the_stream() -> None:
    world = World()

    world.submit("Hello")

    head, sent = world.head(), world.wake.sent[0]
    message = {"step": "llm", "tenant": TENANT, "session": "s1", "version": head.version}
    assert dict(sent.message) == message
    assert sent.dedup == f"{head.created}:{head.created}.{head.version}"


def test_without_ids_a_session_and_a_turn_are_new_each_time() -> None:
    """S-1."""
    world = World()

    first = world.submitter()(MACHINE, read_input(body("Hello", None, None)))
    second = world.submitter()(MACHINE, read_input(body("Hello", None, None)))

    assert len({first.session_id, second.session_id, first.turn_id, second.turn_id}) == 4


@pytest.mark.parametrize("status", ["running", "completed"])
def test_a_known_turn_is_returned_and_nothing_is_recorded(status: str) -> None:
    world = World()
    world.submit("[[say:Hi]]")
    if status == "completed":
        world.advance()
    before = world.head()

    again = world.submit("another text")

    assert again == Submitted("s1", "t1", duplicate=True, turn_status=status)  # type: ignore[arg-type]  # one of the two
    assert world.head() == before
    assert len(world.wake.sent) == 1


def test_an_alias_of_a_turn_returns_the_turn() -> None:
    class Aliased(InMemorySessionStore):
        """Knows `t0` as another name of `t1`."""

        def head_and_turn(
            self, key: SessionKey, turn_id: str
        ) -> tuple[Head | None, TurnRecord | None]:
            return self.head(key), TurnRecord(turn_id, alias_of="t1")

    world = World(store=Aliased())
    world.submit("[[say:Hi]]")
    world.advance()

    assert world.submit("again", turn="t0") == Submitted("s1", "t1", True, "completed")


def test_two_submits_with_the_same_new_turn_that_race_are_one_turn() -> None:
    """Conformance 4: T-5, N-3."""
    store = LosingStore()
    world = World(store=store)
    store.others = lambda: world.submit("the other's")

    mine = world.submit("mine")

    assert mine == Submitted("s1", "t1", True, "running")
    assert world.texts() == [("user", "the other's")]
    assert len(world.wake.sent) == 1


def test_another_turn_while_one_runs_is_refused_and_names_it() -> None:
    world = World()
    world.submit("Hello")

    with pytest.raises(TurnAlreadyActive) as refused:
        world.submit("Hello again", turn="t2")

    assert refused.value.fields == {"turn_id": "t1"}


@pytest.mark.parametrize(
    "loss",
    [VersionConflict("moved"), IdsTaken("taken", ids=frozenset({"t1"}))],
    ids=["version", "ids"],
)
def test_a_lost_race_is_decided_again(loss: Exception) -> None:
    store = LosingStore(loss)
    world = World(store=store)

    world.submit("Hello")

    assert store.tries == 2
    assert world.texts() == [("user", "Hello")]


def test_ids_that_were_taken_are_replaced() -> None:
    store = LosingStore(IdsTaken("taken", ids=frozenset({"m1"})))
    world = World(store=store)
    request = body("Hello")
    request["input"]["message"]["id"] = "m1"

    world.submitter()(MACHINE, read_input(request))

    ids = [e.id for c in world.log() for e in c.events if e.type == "message.new"]
    assert ids != ["m1"]


def test_after_three_seconds_of_lost_races_nothing_was_written() -> None:
    store = LosingStore(*[VersionConflict("moved") for _ in range(1_000)])
    world = World(store=store)
    began_ms = world.clock.now

    with pytest.raises(StoreUnavailable) as busy:
        world.submit("Hello")

    assert busy.value.code == "store_unavailable"
    assert BUDGET_S * 1000 <= world.clock.now - began_ms < BUDGET_S * 1000 + 200
    assert world.wake.sent == []
    assert store.head(KEY) is None


def test_an_input_is_accepted_though_the_wake_up_could_not_be_sent() -> None:
    world = World()

    submitted = world.submitter(wake=NoQueue())(MACHINE, read_input(body("Hello")))

    assert submitted == Submitted("s1", "t1")
    assert world.log()[0].wake == "llm"


def test_a_view_continues_the_conversation_by_its_ids() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.advance()
    known = [e.message for c in world.log() for e in c.events if e.type == "message.new"]
    view = [*known, {"role": "user", "content": "[[say:again]]"}]
    wanted = {"type": "client.messages", "agent_id": "helper", "turn_id": "t2", "messages": view}

    world.submitter()(MACHINE, read_input({"session_id": "s1", "input": wanted}))
    world.advance()

    assert [role for role, _ in world.texts()] == ["user", "assistant", "user", "assistant"]


def test_a_view_with_nothing_new_ends_at_once_and_wakes_nobody() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.advance()
    view = [e.message for c in world.log() for e in c.events if e.type == "message.new"]
    wanted = {"type": "client.messages", "agent_id": "helper", "turn_id": "t2", "messages": view}

    world.submitter()(MACHINE, read_input({"session_id": "s1", "input": wanted}))

    assert world.log()[-1].wake is None
    assert world.head().session.last_outcome == "done"
    assert len(world.wake.sent) == 1


def test_whom_a_session_belongs_to_stands_in_the_body() -> None:
    world = World()
    request = {**body("Hello"), "identity": {"id": "u1", "metadata": {"plan": "free"}}}

    world.submitter()(MACHINE, read_input(request))

    created = world.log()[0].events[0]
    assert created.type == "session.created"
    assert created.owner.model_dump() == {"id": "u1", "metadata": {"plan": "free"}}


def test_an_action_leaves_a_turn_that_waits_for_nothing() -> None:
    """8.3, T-9: there is nothing to wake a driver for."""
    world = World()
    given = {"type": "client.action", "agent_id": "helper", "turn_id": "t1", "name": "x"}

    world.submitter()(MACHINE, read_input({"session_id": "s1", "input": given}))

    assert world.kinds()[-1] == "turn.stalled"
    assert world.wake.sent == []


def test_a_turn_number_is_no_new_turn_id() -> None:
    """O-21: `invalid_id`."""
    with pytest.raises(InvalidId):
        World().submit("Hello", turn="turn-7")


def test_an_agent_of_another_tenant_is_unknown_and_so_is_its_session() -> None:
    world = World()
    world.submit("Hello")

    with pytest.raises(UnknownAgent):
        world.submitter()(Caller("rival"), read_input(body("Hello")))


def test_a_turn_that_waits_for_its_worker_keeps_its_place() -> None:
    world = World()
    world.decider.answer = lambda _request: answered()
    world.submit("[[call:send {}]]")
    world.advance()

    with pytest.raises(TurnAlreadyActive):
        world.submit("Hello", turn="t2")


def facts(provider: str) -> Facts:
    return Facts(Pinned({"model": "m"}, "sha", has_worker=False), Route(provider, "m"))


@pytest.mark.parametrize(
    ("record", "provider", "registered", "is_refused"),
    [
        ({}, "demo", True, False),
        ({"demo_provider": "on"}, "demo", True, False),
        ({"demo_provider": "off"}, "demo", True, True),
        ({}, "demo", False, True),
        ({"demo_provider": "off"}, "other", False, False),
    ],
)
def test_the_demo_provider_is_refused_where_it_is_switched_off(
    record: dict[str, Any], provider: str, registered: bool, is_refused: bool
) -> None:
    world = World()
    catalogue = world.models.catalogue() if registered else Catalogue()
    check = demo_allowed(lambda _tenant: catalogue, lambda _tenant: record)

    if is_refused:
        with pytest.raises(NotYetSupported):
            check(TENANT, facts(provider))
    else:
        check(TENANT, facts(provider))


def test_the_route_is_checked_before_anything_is_written() -> None:
    world = World()
    world.script(says("never"))

    def refuse(_tenant: str, _facts: Facts) -> None:
        raise NotYetSupported("no")

    submit = world.submitter()
    submit._check_route = refuse  # the world allows all

    with pytest.raises(NotYetSupported):
        submit(MACHINE, read_input(body("Hello")))
    assert world.store.head(KEY) is None
