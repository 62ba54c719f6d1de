"""Architecture 4 and storage-and-commits, "Who does what first": the driver's rules."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from everturn.commands.recover import Recover
from everturn.drive.lease import Lease
from everturn.drive.timer import SLEPT_MS
from everturn.errors import DefectError, LeaseLost, QueueUnavailable, StoreUnavailable
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.ports import Head, NewCommit, Owner, SessionKey, Watch, Watcher
from everturn.protocol.llm import LlmRequest
from everturn.protocol.wake import WAKE, WakeUp
from everturn.session.commands import Deliveries
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.events.tool_calls import ToolCallDispatched
from everturn.store.memory import InMemorySessionStore
from everturn.store.memory_directory import InMemoryWake
from everturn.workers.answer import Answered, DeliveryFailed
from unit.drive.world import (
    KEY,
    QUICK_RETRY,
    TENANT,
    FrozenClock,
    World,
    lease,
    refused_renewal,
    result,
    says,
)

ONE_TOOL = "[[call:look {}]][[turn]][[say:looked]]"
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


def test_a_lost_claim_stops_without_a_word() -> None:
    store = RacingStore()
    world = World(store=store)
    world.submit(ONE_WRITE)
    store.others.append(lambda: None)
    store.others.append(lambda: store.claim(KEY, world.head(), Owner(9, "faster")))

    world.advance(remaining_ms=250_000)

    assert world.head().owner == Owner(1, "") or world.head().owner == Owner(9, "faster")


def test_a_session_that_is_gone_is_no_work() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    wake = world.last_wake()

    world.advance(WAKE.validate_python({**wake.model_dump(exclude_none=True), "session": "s2"}))

    assert world.decider.requests == []


# ---- time


@pytest.mark.parametrize(("left_s", "starts"), [(89, False), (90, True), (91, True)])
def test_a_model_call_starts_only_with_its_limit_and_thirty_seconds_left(
    left_s: int, starts: bool
) -> None:
    world = World(clock=FrozenClock())
    world.submit("[[say:Hi]]")

    world.advance(remaining_ms=left_s * 1000)

    assert (("assistant", "Hi") in world.texts()) is starts
    assert len(world.wake.sent) == (1 if starts else 2)


@pytest.mark.parametrize(("left_s", "starts"), [(329, False), (330, True), (331, True)])
def test_a_delivery_starts_only_with_its_limit_and_thirty_seconds_left(
    left_s: int, starts: bool
) -> None:
    world = World(clock=FrozenClock())
    world.submit(ONE_WRITE)
    world.decider.answer = lambda _request: result("sent")

    world.advance(remaining_ms=left_s * 1000)

    assert len(world.decider.requests) == starts


def test_a_hand_over_is_named_by_its_request_and_releases_what_was_not_started() -> None:
    world = World(clock=FrozenClock())
    world.submit(ONE_WRITE)
    world.decider.answer = lambda _request: result("sent")

    world.advance(remaining_ms=250_000, request_id="r1")
    released = owners(world)
    sent = world.wake.sent[-1]
    world.advance(request_id="r2")

    assert released == Owner(1, "")
    assert sent.dedup == f"{world.head().created}:r1"
    assert [one["trigger"]["attempt"] for one in world.decider.requests] == [1]
    assert world.texts()[2:] == [("tool", "sent"), ("assistant", "sent")]


def test_a_first_dispatch_handed_over_has_nobody_to_be_released_from() -> None:
    world = World(clock=FrozenClock())
    world.submit("[[say:Hi]]")
    before = world.head()

    world.advance(remaining_ms=1_000)

    assert world.head() == before


def test_a_hand_over_that_cannot_be_sent_gives_the_message_back() -> None:
    world = World(clock=FrozenClock())
    world.submit("[[say:Hi]]")
    message = world.last_wake()

    with pytest.raises(QueueUnavailable):
        world.advance(message, remaining_ms=1_000, wake=_NoQueue())


class _NoQueue(InMemoryWake):
    def now(self, key: SessionKey, created: str, step: str, version: int, dedup: str) -> None:
        raise QueueUnavailable("no")


def waiting(wait_ms: int) -> World:
    """Return a session whose model call waits `wait_ms` for its next attempt."""
    world = World(clock=FrozenClock())
    retry = {**QUICK_RETRY, "backoff_base_secs": wait_ms / 1000, "backoff_max_secs": 3_600}
    world.script([ModelFailed("busy", FailureCode.OVERLOADED)], says("Hi"), retry=retry)
    world.submit("Hello")
    return world


@pytest.mark.parametrize(
    ("wait_ms", "is_slept"), [(SLEPT_MS - 1, True), (SLEPT_MS, True), (SLEPT_MS + 1, False)]
)
def test_waits_up_to_ten_seconds_are_slept_and_longer_ones_left_to_the_step_machine(
    wait_ms: int, is_slept: bool
) -> None:
    world = waiting(wait_ms)
    due_ms = world.clock.now + wait_ms
    store = _Awaking(world)

    world.advance(store=store, reader=world.reader_on(store))

    timers = [sent.due_ms for sent in world.wake.sent if sent.due_ms is not None]
    assert timers == ([] if is_slept else [due_ms])
    assert (world.texts()[-1][0] == "assistant") is is_slept


class _Awaking:
    """A store through which the clock jumps once the driver's watch looks at it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._looks = 0

    def __getattr__(self, name: str) -> Any:
        if name == "head_and_watch":
            self._looks += 1
            if self._looks > 1:
                self._world.clock.move(SLEPT_MS)
        return getattr(self._world.store, name)


def test_a_timer_carries_what_is_due_and_when_and_proves_that_it_is_now() -> None:
    world = waiting(60_000)
    world.advance()
    timer = world.last_wake()
    call = world.head().session.calls[0]

    world.advance(timer, request_id="r2")

    assert (timer.step, timer.subject) == ("timer", f"{call.id}/1")
    assert timer.due == "2026-01-01T12:01:00.000Z"
    assert world.texts()[-1] == ("assistant", "Hi ")
    assert world.clock.now == 1_767_268_800_000
    assert world.log()[-1].at_ms == 1_767_268_860_000


def test_a_timer_that_comes_before_anything_is_due_waits_on() -> None:
    world = waiting(60_000)
    world.advance()
    early = world.last_wake().model_copy(update={"due": "2026-01-01T12:00:01.000Z"})
    before = world.head()

    world.advance(early, request_id="r2")

    assert world.head() == before
    assert len(world.wake.sent) == 2


def test_a_short_wait_without_the_time_for_it_is_handed_over() -> None:
    world = waiting(5_000)
    left = iter([900_000, 34_999])

    world.advance(remaining_ms=lambda: next(left))

    assert world.wake.sent[-1].due_ms is None
    assert len(world.wake.sent) == 2


# ---- what others do meanwhile


def test_commits_of_others_are_pushed_before_our_own_and_each_names_the_one_before() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.store.add_watcher(KEY, Watcher("c1", "sub"))

    world.advance()

    seqs = world.lanes.seqs()
    pushed = [push for _, push in world.lanes.pushed if hasattr(push, "prev_seq")]
    assert seqs == list(range(1, world.head().session.seq + 1))
    assert [push.prev_seq for push in pushed] == [seq - 1 for seq in seqs]
    assert world.lanes.closed


def test_what_a_driver_committed_and_could_not_push_is_pushed_by_the_next_one() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.advance()
    world.store.add_watcher(KEY, Watcher("c1", "sub"))
    message = world.last_wake()

    world.advance(message, request_id="r2")
    fresh = world.lanes.seqs()
    world.advance(message, request_id="r3", received=2)

    assert fresh == []
    assert world.lanes.seqs() == list(range(1, world.head().session.seq + 1))


def test_a_reader_who_came_before_a_commit_is_pushed_it() -> None:
    world = World()
    model = world.script(says("Hi there"))
    model.between = lambda: world.store.add_watcher(KEY, Watcher("c1", "sub"))
    world.submit("Hello")
    first_own = world.head().session.seq + 1

    world.advance()

    assert world.lanes.seqs() == list(range(first_own, world.head().session.seq + 1))


class _NoWatch(InMemorySessionStore):
    def watch(self, key: SessionKey) -> Watch:
        raise StoreUnavailable("no")


def test_readers_that_cannot_be_looked_up_fail_no_turn() -> None:
    world = World(store=_NoWatch())
    world.submit("[[say:Hi]]")

    world.advance()

    assert world.texts()[-1] == ("assistant", "Hi")


@pytest.mark.slow
def test_a_call_that_somebody_ended_meanwhile_is_revoked_and_its_end_pushed() -> None:
    world = World()
    world.store.add_watcher(KEY, Watcher("c1", "sub"))
    model = world.script(says("one two"))
    world.submit("Hello")
    returned = Event()

    def fail_the_turn() -> None:
        recover = Recover(world.store, world.reader, world.wake, world.clock)
        if recover.give_up(KEY, world.head().version):
            returned.wait(10)  # streams no further while the driver works

    model.between = fail_the_turn

    world.advance()
    returned.set()

    assert world.head().session.last_outcome == "failed"
    assert world.kinds().count("turn.completed") == 1
    assert world.lanes.seqs()[-1] == world.head().session.seq


# ---- failures


def test_what_an_effect_did_not_foresee_gives_the_message_back() -> None:
    world = World()
    world.script([RuntimeError("a defect")])
    world.submit("Hello")

    with pytest.raises(RuntimeError, match="a defect"):
        world.advance()

    assert world.lanes.closed


def test_a_log_that_contradicts_its_head_is_a_defect() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.store = _Truncated(world.store)

    with pytest.raises(DefectError, match="is not at event"):
        world.advance()


class _Truncated(InMemorySessionStore):
    """A store whose log lost its model call."""

    def __init__(self, whole: InMemorySessionStore) -> None:
        super().__init__()
        self._whole = whole

    def __getattribute__(self, name: str) -> Any:
        whole = object.__getattribute__(self, "_whole") if name != "_whole" else None
        if name == "log":
            return lambda key, low, high=None: tuple(
                replace(one, events=one.events[:-3], last_seq=one.last_seq - 3)
                for one in whole.log(key, low, high)
            )
        return getattr(whole, name) if whole is not None else object.__getattribute__(self, name)


def test_a_failed_delivery_of_a_read_is_repeated_and_of_a_write_is_unknown() -> None:
    world = World()
    world.submit("[[call:look {}]][[call:send {}]][[turn]][[say:ok]]")
    cut = DeliveryFailed("cut", "connection_failed", retryable=True, started="unknown")
    failed: set[str] = set()

    def answer(request: dict[str, Any]) -> Answered | DeliveryFailed:
        name = request["trigger"]["name"]
        if name in failed:
            return result(name)
        failed.add(name)
        return cut

    world.decider.answer = answer

    world.advance()

    assert set(world.texts()[2:4]) == {("tool", "look"), ("tool", OUTCOME_UNKNOWN)}
    assert [one["attempts"] for one in world.decider.requests].count(2) == 1


def test_a_write_that_certainly_did_not_start_is_delivered_again() -> None:
    world = World()
    world.submit(ONE_WRITE)
    busy = DeliveryFailed("429", "rate_limited", retryable=True, started="no", retry_after_s=0.01)
    answers = [busy, result("sent")]
    world.decider.answer = lambda _request: answers.pop(0)

    world.advance()

    assert world.texts()[2] == ("tool", "sent")


def test_delivery_policy_is_the_deployments() -> None:
    world = World(deliveries=Deliveries(max_attempts=1))
    world.submit(ONE_TOOL)
    world.decider.answer = lambda _request: DeliveryFailed("no", "http_status", True, "unknown")

    world.advance()

    assert len(world.decider.requests) == 1
    assert world.texts()[2] == ("tool", "no")


def test_a_write_is_dispatched_before_it_is_started() -> None:
    world = World()
    world.submit(ONE_WRITE)
    recorded: list[bool] = []

    def answer(_request: dict[str, Any]) -> Answered:
        events = [event for commit in world.log() for event in commit.events]
        recorded.append(any(isinstance(event, ToolCallDispatched) for event in events))
        return result("sent")

    world.decider.answer = answer

    world.advance()

    assert recorded == [True]


def test_the_request_a_model_gets_is_the_one_that_was_committed() -> None:
    world = World()
    model = world.script(says("Hi"), system="Be brief.")
    world.submit("Hello")

    world.advance()

    request, _ = model.requests[0]
    assert isinstance(request, LlmRequest)
    assert [message.role for message in request.messages] == ["system", "user"]
    assert TENANT not in request.model_dump_json()


def test_a_wake_up_of_a_later_version_is_read_all_the_same() -> None:
    wake = WAKE.validate_python(
        {"step": "llm", "tenant": TENANT, "session": "s1", "version": 1, "later": True}
    )

    assert isinstance(wake, WakeUp)
