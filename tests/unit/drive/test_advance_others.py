""" "Streams" and architecture 4: what others do meanwhile, who is told, and what goes wrong."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from everturn.commands.recover import Recover
from everturn.errors import DefectError, StoreUnavailable
from everturn.ports.decider import Answered, DeliveryFailed, WorkerAnswer
from everturn.ports.sessions import Head, Logged, NewCommit, SessionKey
from everturn.ports.streams import Watch, Watcher
from everturn.protocol.llm import LlmRequest
from everturn.protocol.wake import WAKE, WakeUp
from everturn.session.commands import Deliveries
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.events.model_calls import ModelCallCompleted
from everturn.session.events.tool_calls import ToolCallDispatched
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import result, says
from unit.drive.world import KEY, TENANT, World

ONE_TOOL = "[[call:look {}]][[turn]][[say:looked]]"
ONE_WRITE = "[[call:send {}]][[turn]][[say:sent]]"


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


class _PolledAtTheEnd(InMemorySessionStore):
    """Notes what was streamed of a call when its end is about to be written."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = ""

    def append(self, commit: NewCommit) -> Head:
        if any(isinstance(event, ModelCallCompleted) for event in commit.events):
            pieces = self.deltas(commit.key, 0, 0, 100)
            self.heard = "".join(piece.body.get("text") or "" for piece in pieces)
        return super().append(commit)


def test_all_that_was_streamed_is_kept_before_the_end_of_its_call() -> None:
    """Who polled in between heard `one ` of `one two three`, and nothing more."""
    store = _PolledAtTheEnd()
    world = World(store=store)
    world.script(says("one two three"))
    world.submit("Hello")
    store.reader_until(KEY, world.clock.now_ms() + 60_000, world.head().created)

    world.advance()

    assert world.texts()[-1] == ("assistant", "one two three ")
    assert store.heard == "one two three "


class _NoWatch(InMemorySessionStore):
    def watch(self, key: SessionKey) -> Watch:
        raise StoreUnavailable(f"no watch of {key.session}")


def test_readers_that_cannot_be_looked_up_fail_no_turn() -> None:
    world = World(store=_NoWatch())
    world.submit("[[say:Hi]]")

    world.advance()

    assert world.texts()[-1] == ("assistant", "Hi")


@pytest.mark.slow
def test_a_turn_that_recovery_gave_up_is_left_at_once_and_its_end_is_the_fan_outs() -> None:
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
    assert world.log()[-1].by == "recovery"
    assert world.lanes.seqs()[-1] == world.log()[0].last_seq


# ---- failures


def test_what_an_effect_did_not_foresee_gives_the_message_back() -> None:
    world = World()
    world.script([RuntimeError("a defect")])
    world.submit("Hello")

    with pytest.raises(RuntimeError, match="a defect"):
        world.advance()

    assert world.lanes.closed


class Truncated(InMemorySessionStore):
    """A store whose log lost its last events."""

    def log(self, key: SessionKey, from_seq: int, to_seq: int | None = None) -> tuple[Logged, ...]:
        whole = super().log(key, from_seq, to_seq)
        return tuple(
            replace(one, events=one.events[:-3], last_seq=one.last_seq - 3) for one in whole
        )


def test_a_log_that_contradicts_its_head_is_a_defect() -> None:
    world = World(store=Truncated())
    world.submit("[[say:Hi]]")

    with pytest.raises(DefectError, match="is not at event"):
        world.advance()


def test_a_failed_delivery_of_a_read_is_repeated_and_of_a_write_is_unknown() -> None:
    world = World()
    world.submit("[[call:look {}]][[call:send {}]][[turn]][[say:ok]]")
    cut = DeliveryFailed("cut", "connection_failed", retryable=True, started="unknown")
    failed: set[str] = set()

    def answer(request: dict[str, Any]) -> WorkerAnswer:
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
    answers: list[WorkerAnswer] = [busy, result("sent")]
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
    """M-1, N-1."""
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
