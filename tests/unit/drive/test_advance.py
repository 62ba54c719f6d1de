"""Architecture 4 and storage-and-commits, "Who does what first": the driver's rules."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.drive.lease import Lease
from everturn.errors import LeaseLost
from everturn.ports.decider import Answered
from everturn.ports.sessions import RELEASED, Head, NewCommit, Owner, SessionKey
from everturn.protocol.wake import WAKE
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import FrozenClock, lease, refused_renewal, result, says
from unit.drive.world import KEY, World

ONE_WRITE = "[[call:send {}]][[turn]][[say:sent]]"


def owners(world: World) -> Owner | None:
    return world.head().owner


def started_at(world: World) -> list[int]:
    """Return the versions of the commits that drivers made."""
    return [commit.version for commit in world.log() if commit.by.startswith("driver:")]


# ---- the lease


def test_a_refused_renewal_starts_and_commits_nothing_and_gives_the_message_back() -> None:
    world = World()
    model = world.script(says("never heard"))
    world.submit("Hello")
    before = world.head()

    with pytest.raises(LeaseLost):
        world.advance(held=lease(refused_renewal))

    assert world.head() == before
    assert model.requests == []


def test_a_lease_lost_while_a_model_answers_commits_nothing() -> None:
    world = World()
    model = world.script(says("one two"))
    world.submit("Hello")
    before = world.head()
    held = lease()
    model.between = held.lost.set

    with pytest.raises(LeaseLost):
        world.advance(held=held)

    assert world.head() == before


def test_no_renewal_for_half_a_lease_commits_nothing() -> None:
    world = World()
    seconds = [0.0]
    held = Lease(lambda _s: None, 120, lambda: seconds[0])
    model = world.script(says("one two"))
    world.submit("Hello")
    before = world.head()

    def silence() -> None:
        seconds[0] = 61

    model.between = silence

    with pytest.raises(LeaseLost):
        world.advance(held=held)

    assert world.head() == before


# ---- who does what first


def test_a_first_dispatch_that_nobody_owns_starts_without_another_commit() -> None:
    world = World()
    seen: list[Head] = []
    model = world.script(says("Hi"))
    model.between = lambda: seen.append(world.head())
    world.submit("Hello")
    before = world.head()

    world.advance()

    assert {head.version for head in seen} == {before.version}
    assert before.owner == Owner(0, "")
    assert [attempt for _, attempt in model.requests] == [1]
    model.close()


def test_the_first_commit_claims_the_session() -> None:
    world = World()
    world.submit("[[say:Hi]]")

    world.advance(request_id="r7")

    assert owners(world) == Owner(1, "r7")
    assert world.log()[-1].by == "driver:1"
    assert world.texts()[-1] == ("assistant", "Hi")


def test_a_message_received_again_is_a_claim_and_a_second_attempt_before_any_effect() -> None:
    world = World()
    seen: list[Head] = []
    model = world.script(says("Hi"))
    model.between = lambda: seen.append(world.head())
    world.submit("Hello")

    world.advance(received=2, request_id="r2")

    assert seen[0].owner == Owner(1, "r2")
    assert [attempt for _, attempt in model.requests] == [2]


def test_a_call_that_another_driver_runs_is_taken_over() -> None:
    world = World()
    world.submit("Hello")
    world.store.claim(KEY, world.head(), Owner(4, "vanished"))
    model = world.script(says("Hi"))
    world.agent("helper")

    world.advance(request_id="r2")

    assert owners(world) == Owner(5, "r2")
    assert "llm.call.errored" in world.kinds()
    assert model.requests == []


def test_a_redelivery_after_everything_is_done_changes_nothing() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.advance()
    before = world.head()

    world.advance(received=2, request_id="r2")

    assert world.head() == before


def test_a_read_that_vanished_runs_again_and_a_write_ends_unknown() -> None:
    world = World()
    world.submit("[[call:look {}]][[call:send {}]][[turn]][[say:ok]]")
    with pytest.raises(ZeroDivisionError):
        world.advance(decider=_Vanishing())
    world.decider.answer = lambda request: result(request["trigger"]["name"])

    world.advance(received=2, request_id="r2")

    assert set(world.texts()[2:4]) == {("tool", "look"), ("tool", OUTCOME_UNKNOWN)}
    assert [one["trigger"]["attempt"] for one in world.decider.requests] == [2]


class _Vanishing:
    def deliver(self, *_args: Any, **_kwargs: Any) -> Answered:
        raise ZeroDivisionError


class RacingStore(InMemorySessionStore):
    """Lets others write right before a driver's first commit."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[Any] = []

    def append(self, commit: NewCommit) -> Head:
        if self.others and commit.by.startswith("driver:"):
            self.others.pop(0)()
        return super().append(commit)


def test_a_foreign_epoch_met_in_a_conflict_stops_without_a_word() -> None:
    store = RacingStore()
    world = World(store=store)
    world.submit("[[say:Hi]]")

    def taken() -> None:
        store.claim(KEY, world.head(), Owner(9, "faster"))

    store.others.append(taken)

    world.advance()

    assert owners(world) == Owner(9, "faster")
    assert started_at(world) == []


def test_a_conflict_with_somebody_who_owns_nothing_is_decided_again() -> None:
    store = RacingStore()
    world = World(store=store)
    world.submit("[[say:Hi]]")

    def moved() -> None:
        store.claim(KEY, world.head(), Owner(0, ""))

    store.others.append(moved)

    world.advance()

    assert world.texts()[-1] == ("assistant", "Hi")


class RacingClaim(InMemorySessionStore):
    """Lets another driver claim the session right before this one does."""

    def __init__(self, other: Owner) -> None:
        super().__init__()
        self._other: Owner | None = other

    def claim(self, key: SessionKey, head: Head, owner: Owner) -> Head:
        other, self._other = self._other, None
        if other is not None:
            super().claim(key, head, other)
        return super().claim(key, head, owner)


@pytest.mark.parametrize(
    ("other", "owner"),
    [(Owner(9, "faster"), Owner(9, "faster")), (Owner(1, ""), Owner(1, RELEASED))],
)
def test_a_release_that_another_driver_forestalls_hands_nothing_over(
    other: Owner, owner: Owner
) -> None:
    world = World(clock=FrozenClock(), store=RacingClaim(other))
    world.submit(ONE_WRITE)

    world.advance(remaining_ms=250_000)

    assert (len(world.wake.sent) == 2) is (owner.request_id == RELEASED)
    assert world.head().owner == owner


def test_a_session_that_is_gone_is_no_work() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    wake = world.last_wake()

    world.advance(WAKE.validate_python({**wake.model_dump(exclude_none=True), "session": "s2"}))

    assert world.decider.requests == []
