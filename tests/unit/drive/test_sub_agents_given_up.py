"""Sub-agents through real drivers in memory: children that wait, are stopped, or start late."""

from __future__ import annotations

from typing import Any

from everturn.commands.cancel import Cancels
from everturn.commands.crossing import Crossing
from everturn.commands.interrupts import Interrupts
from everturn.commands.recover import GIVEN_UP, Recover
from everturn.errors import StoreUnavailable
from everturn.ports.sessions import SessionKey
from everturn.session.events.children import (
    SubAgentErrored,
    SubAgentInterrupted,
)
from unit.drive.family import children, echo, events, family, response, settle
from unit.drive.offspring import ASKS, NO_ANSWER, WORKER, at_first, ended, results, send, spawn
from unit.drive.world import AGENT, MACHINE, TENANT, body
from unit.session.building import only

# ---- a child that waits


def test_a_child_that_is_paused_keeps_its_call_open() -> None:
    """B-9; the child's own resume goes on."""
    world = family(poet=WORKER)
    pauses = [True]

    def asking(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] == "client.messages" and pauses:
            pauses.pop()
            return response({**request["proposed"], "actions": [NO_ANSWER]})
        return echo(request)

    world.decider.answer = asking
    world.submit(ASKS)
    settle(world)
    (poet,) = children(world)
    (paused,) = only(SubAgentInterrupted, events(world))
    assert (paused.session_id, paused.interrupt_id, paused.reason) == (poet, "int-1", "which_rhyme")
    assert [call.session_id for call in world.head().session.calls] == [poet]

    Interrupts(world.changer()).resume(MACHINE, poet, "int-1", {"go": "on"})
    settle(world)

    assert results(world) == ["echo: rain"]
    assert ended(world).outcome == "done"


# ---- a parent that stops


def test_a_cancel_goes_down_to_every_descendant() -> None:
    """B-10, T-12, S-8: recursively, with the cause `parent`."""
    world = family(helper={**WORKER, "sub_agents": [{"id": "poet"}]}, poet=WORKER, muse=WORKER)

    def waiting(request: dict[str, Any]) -> Any:
        depth = len(request["ancestry"])
        if request["trigger"]["type"] == "client.messages" and depth < 2:
            agent, child = ("poet", "child") if depth == 0 else ("muse", "grandchild")
            actions = [spawn(child, f"c{depth}", agent), send(child, "wait")]
            return response({**request["proposed"], "actions": actions})
        return response({}) if depth == 2 else echo(request)

    world.decider.answer = waiting
    world.submit("Go.")
    settle(world)
    before = [call.id for call in world.head("child").session.calls]

    Cancels(world.changer()).turn(MACHINE, "s1", "t1", {})
    settle(world)

    assert before == ["c1"]
    assert ended(world).outcome == "cancelled"
    for session in ("child", "grandchild"):
        assert world.head(session).session.is_cancelled
        assert [one.cause for one in events(world, session) if one.type == "session.cancelled"] == [
            "parent"
        ]
    assert "sub_agent.errored" not in world.kinds()
    assert all(world.head(one).session.outbox == () for one in ("s1", "child", "grandchild"))


def test_a_child_that_was_given_up_before_it_began_never_runs() -> None:
    """B-10: whoever starts it later finds it cancelled."""
    world = family(helper={**WORKER, "sub_agents": [{"id": "poet"}]})
    world.decider.answer = at_first(spawn("child", "c1"), send("child", "rain"))
    world.submit("Go.")
    lost = world.tools().crossing
    started: list[Any] = []

    class Slow(Crossing):
        def start(self, child: Any) -> Any:
            started.append(child)
            Cancels(world.changer()).turn(MACHINE, "s1", "t1", {})

    world.advance(crossing=Slow(world.changer("driver"), lambda _tenant, _facts: None))
    settle(world)

    assert lost.start(started[0]) is None
    settle(world)
    assert world.head("child").session.is_cancelled
    assert world.kinds("child") == ["session.created", "session.cancelled"]


def test_a_session_that_is_done_gives_up_what_it_still_waits_for() -> None:
    """T-10."""
    world = family(helper={**WORKER, "sub_agents": [{"id": "poet"}]}, poet=WORKER)

    def hasty(request: dict[str, Any]) -> Any:
        if request["ancestry"]:
            return response({})
        if request["trigger"]["type"] != "client.messages":
            return echo(request)
        actions = [spawn("child", "c1"), send("child", "wait"), {"type": "llm.call"}]
        return response({**request["proposed"], "actions": actions})

    world.decider.answer = hasty
    world.submit("Go.")
    settle(world)

    assert ended(world).outcome == "done"
    assert world.head("child").session.is_cancelled


# ---- starting


def test_a_start_that_fails_is_tried_again_and_then_given_up() -> None:
    """B-11, R-3."""
    world = family(helper={**WORKER, "sub_agents": [{"id": "poet"}]})
    retry = {"timeout_secs": 60, "max_retries": 3, "backoff_base_secs": 0.1, "backoff_max_secs": 1}
    world.decider.answer = at_first(spawn("child", "c1", retry=retry), send("child", "rain"))
    world.submit("Go.")

    class Busy(Crossing):
        def start(self, _child: Any) -> Any:
            raise StoreUnavailable("busy")

    busy = Busy(world.changer("driver"), lambda _tenant, _facts: None)
    settle(world, crossing=busy)

    errored = only(SubAgentErrored, events(world))
    assert [(one.attempt, one.retryable) for one in errored] == [(1, True), (2, True), (3, False)]
    assert results(world) == ["busy"]
    assert ended(world).outcome == "done"


def test_a_deployment_may_limit_how_long_a_child_runs() -> None:
    """B-11: the call fails, the child is cancelled."""
    world = family(poet=WORKER)
    world.decider.answer = lambda request: response({}) if request["ancestry"] else echo(request)
    world.submit(ASKS)

    settle(world, max_child_run_s=60)

    (poet,) = children(world)
    (errored,) = only(SubAgentErrored, events(world))
    assert (errored.code, errored.retryable) == ("deadline_exceeded", False)
    assert world.head(poet).session.is_cancelled
    assert ended(world).outcome == "done"


def test_children_are_not_among_the_listed_sessions() -> None:
    world = family()
    world.submit(ASKS)
    settle(world)

    listed = world.store.listed(TENANT, "", 10).sessions

    assert [one.key.session for one in listed] == ["s1"]


def test_the_model_is_offered_sub_agents_after_the_tools() -> None:
    """L-5."""
    world = family(helper={"tools": AGENT["tools"], "sub_agents": [{"id": "poet"}]})
    world.submit("[[say:{{tools}}]]")

    settle(world)

    assert "poet" in world.texts()[-1][1]
    assert body("x")["input"]["agent_id"] == "helper"


def test_a_child_that_recovery_gives_up_is_an_error_to_its_parent() -> None:
    """What a user saw: a turn that waited for ever for a child whose wake-ups had died."""
    world = family(poet=WORKER)
    world.decider.answer = lambda _request: response({})
    world.submit(ASKS)
    settle(world)
    (poet,) = children(world)

    recover = Recover(world.store, world.reader, world.wake, world.clock)
    given_up = recover.give_up(SessionKey(TENANT, poet), world.head(poet).version)
    due = world.head(poet).due_epoch_s
    settle(world)

    assert given_up
    assert due is not None
    assert results(world) == [GIVEN_UP]
    assert ended(world).outcome == "done"
    assert world.head(poet).due_epoch_s is None
