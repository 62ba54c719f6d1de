"""Sub-agents through real drivers in memory: children that answer, or do not."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.delete_session import DeleteSession
from everturn.ports.sessions import SessionKey
from everturn.protocol.limits import MAX_SPAWN_DEPTH
from everturn.session.events.children import (
    SubAgentErrored,
    SubAgentTurnCompleted,
)
from everturn.session.events.sessions import SessionCreated
from unit.drive.family import children, echo, events, exists, family, response, settle
from unit.drive.offspring import ASKS, WORKER, at_first, ended, results, send, spawn
from unit.drive.world import MACHINE, TENANT
from unit.session.building import only

# ---- a child answers


@pytest.mark.parametrize("parent", [{}, WORKER], ids=["engine", "worker"])
@pytest.mark.parametrize("child", [{}, WORKER], ids=["engine", "worker"])
def test_a_child_answers_the_tool_call_that_started_it(
    parent: dict[str, Any], child: dict[str, Any]
) -> None:
    """Conformance 29: B-1 to B-7, 8.7, 8.8, whoever decides."""
    may_start = {"sub_agents": [{"id": "poet"}]}
    world = family(helper={**may_start, **parent}, poet=child)
    world.submit(ASKS)

    settle(world)

    (poet,) = children(world)
    assert world.texts() == [
        ("user", ASKS),
        ("assistant", None),
        ("tool", "echo: rain"),
        ("assistant", "It says echo: rain"),
    ]
    assert world.texts(poet) == [("user", "rain"), ("assistant", "echo: rain")]
    assert ended(world).outcome == "done"
    first = only(SessionCreated, events(world, poet))[0]
    assert first.ancestry == ("s1",)
    assert first.owner == only(SessionCreated, events(world))[0].owner
    assert [session.outbox for session in (world.head().session, world.head(poet).session)] == [
        (),
        (),
    ]


def test_events_of_parent_and_child_stand_in_the_order_of_the_protocol() -> None:
    """S-5 of a child; B-6: the message is held until the child is there."""
    world = family(poet=WORKER)
    world.submit(ASKS)

    settle(world)

    (poet,) = children(world)
    of_children = [kind for kind in world.kinds() if kind.startswith(("sub_agent", "session.mess"))]
    assert of_children == [
        "sub_agent.requested",
        "session.message_requested",
        "sub_agent.dispatched",
        "sub_agent.started",
        "sub_agent.turn_completed",
    ]
    assert world.kinds(poet)[:2] == ["session.created", "decision.queued"]
    assert world.kinds(poet).index("turn.started") > 1


def test_workers_are_told_of_ancestors_and_of_the_child_they_wait_for() -> None:
    """Q-3, Q-5, Q-7, B-12."""
    world = family(helper={**WORKER, "sub_agents": [{"id": "poet"}]}, poet=WORKER)
    world.submit(ASKS)

    settle(world)

    (poet,) = children(world)
    asked = world.decider.requests
    assert {tuple(one["ancestry"]) for one in asked if one["session_id"] == poet} == {("s1",)}
    assert {tuple(one["ancestry"]) for one in asked if one["session_id"] == "s1"} == {()}
    (told,) = [one for one in asked if one["trigger"]["type"] == "sub_agent.finished"]
    call_id = told["trigger"]["id"]
    assert told["trigger"] == {
        "type": "sub_agent.finished",
        "id": call_id,
        "ok": True,
        "session_id": poet,
        "agent_id": "poet",
        "result": "echo: rain",
    }
    assert told["pending_calls"] == 0
    assert told["proposed"]["messages"][0]["name"] == "poet"
    assert told["proposed"]["actions"] == [{"type": "llm.call"}]


def test_two_children_and_a_tool_answer_one_reply() -> None:
    """U-13, Q-4: the model is asked again once all have answered."""
    look = {"name": "look", "effect": "read"}
    world = family(
        helper={
            "sub_agents": [{"id": "poet"}, {"id": "muse"}],
            "tools": [look],
            "worker": "https://worker.example/hook",
        },
        muse={},
    )
    world.decider.answer = lambda _request: response(
        {"actions": [{"type": "tool.result", "result": "a cloud"}]}
    )
    text = '[[call:poet {"message": "a"}]][[call:look]][[call:muse {"message": "b"}]]'
    world.submit(f"{text}[[turn]][[say:{{{{results}}}}]]")

    settle(world)

    assert world.texts()[-1] == ("assistant", "echo: a | a cloud | echo: b")
    assert len(children(world)) == 2


def test_what_children_used_is_charged_to_every_ancestor() -> None:
    """B-8, Y-3: two levels deep, in tokens and dollars."""
    muse = {"sub_agents": [{"id": "muse"}]}
    world = family(helper={**WORKER, "sub_agents": [{"id": "poet"}]}, poet=muse, muse={})
    task = '[[usage:in=100,out=20]][[call:muse {"message": "[[usage:in=7,out=1]]"}]]'
    world.decider.answer = at_first(spawn("child", "c1"), send("child", task))
    world.submit("Go.")

    settle(world)

    (grandchild,) = children(world, "child")
    alone = ended(world, grandchild)
    below = ended(world, "child")
    assert alone.usage.input_tokens == 7
    assert below.usage.input_tokens >= 107
    (heard,) = only(SubAgentTurnCompleted, events(world))
    assert heard.usage == below.usage
    (heard_below,) = only(SubAgentTurnCompleted, events(world, "child"))
    assert heard_below.usage == alone.usage
    assert ended(world).usage.input_tokens >= below.usage.input_tokens


def test_a_later_turn_of_a_child_concerns_nobody_else() -> None:
    """B-13: a client may go on with it."""
    world = family()
    world.submit(ASKS)
    settle(world)
    (poet,) = children(world)
    before = world.kinds()

    world.submit("more", turn="t2", session=poet, agent="poet")
    settle(world)

    assert world.texts(poet)[-1] == ("assistant", "echo: more")
    assert world.kinds() == before


# ---- a child does not answer


def test_a_child_that_fails_is_an_error_that_the_model_reads() -> None:
    """Conformance 30: B-9."""
    world = family()
    world.submit('[[call:poet {"message": "[[error:auth]]"}]][[turn]][[say:{{result}}]]')

    settle(world)

    (errored,) = only(SubAgentErrored, events(world))
    assert not errored.retryable
    assert results(world) == [errored.error]
    assert world.texts()[-1][1].startswith("ERROR: ")
    assert ended(world).outcome == "done"


def test_a_child_whose_answer_is_cut_off_has_failed() -> None:
    """session-log SA-2."""
    world = family()
    child = "[[say:half a]][[finish:max_tokens]]"
    world.submit(f'[[call:poet {{"message": "{child}"}}]][[turn]][[say:so]]')

    settle(world)

    (errored,) = only(SubAgentErrored, events(world))
    assert errored.error.startswith("max_tokens")


@pytest.mark.parametrize(
    ("agent", "session", "reason"),
    [("nobody", "child", "unknown_agent"), ("poet", "other", "session_conflict")],
)
def test_a_child_that_cannot_begin_fails_the_call_for_good(
    agent: str, session: str, reason: str
) -> None:
    """B-3."""
    world = family(helper={**WORKER, "sub_agents": [{"id": "poet"}]})
    world.submit("I am another.", session="other", agent="poet")
    settle(world)
    world.decider.answer = at_first(spawn(session, "c1", agent), send(session, "Hello?"))
    before = world.kinds("other")
    world.submit("Go.")

    settle(world)

    (errored,) = only(SubAgentErrored, events(world))
    assert (errored.retryable, errored.detail) == (False, {"reason": reason})
    assert world.kinds("other")[: len(before)] == before
    assert not world.head("other").session.is_cancelled
    assert world.head().session.calls == ()
    assert world.head().session.outbox == ()


def test_no_child_begins_below_five_others() -> None:
    """Conformance 30: B-4, L-5; a session at the limit is not offered its sub-agents."""
    world = family(
        helper={**WORKER, "sub_agents": [{"id": "poet"}]},
        poet={**WORKER, "sub_agents": [{"id": "poet"}]},
    )

    def deeper(request: dict[str, Any]) -> Any:
        depth = len(request["ancestry"])
        if request["trigger"]["type"] == "client.messages":
            child = f"child-{depth + 1}"
            actions = [spawn(child, f"c{depth}"), send(child, "[[say:Offered: {{tools}}]]")]
            return response({**request["proposed"], "actions": actions})
        return echo(request)

    world.decider.answer = deeper
    world.submit("Go.")

    settle(world)

    deepest = f"child-{MAX_SPAWN_DEPTH}"
    (errored,) = only(SubAgentErrored, events(world, deepest))
    assert str(MAX_SPAWN_DEPTH) in errored.error
    assert errored.detail == {"reason": "too_deep"}
    assert world.store.head(SessionKey(TENANT, f"child-{MAX_SPAWN_DEPTH + 1}")) is None
    assert world.texts(deepest)[-1][1].strip() == "Offered:"
    assert world.texts(f"child-{MAX_SPAWN_DEPTH - 1}")[-1][1] == "Offered: poet"
    assert world.head().session.last_outcome == "done"


def test_arguments_that_do_not_fit_start_nothing() -> None:
    """8.7: such a call is answered with what is wrong."""
    world = family()
    world.submit('[[call:poet {"text": "rain"}]][[call:poet]][[turn]][[say:{{results}}]]')

    settle(world)

    assert children(world) == []
    assert len(results(world)) == 2
    assert all("message" in one for one in results(world))


def test_deleting_a_session_deletes_all_below_it_and_nothing_else() -> None:
    """What a user saw: a conversation that was deleted, and could be read in its children."""
    world = family(helper={**WORKER, "sub_agents": [{"id": "poet"}]}, poet=WORKER)
    world.submit("I am another.", session="other", agent="poet")
    settle(world)

    def deeper(request: dict[str, Any]) -> Any:
        depth = len(request["ancestry"])
        if request["trigger"]["type"] != "client.messages" or depth > 1:
            return echo(request)
        child = f"child-{depth}"
        actions = [spawn(child, f"c{depth}"), send(child, "x"), spawn("other", f"o{depth}")]
        return response({**request["proposed"], "actions": actions})

    world.decider.answer = deeper
    world.submit("Go.")
    settle(world)
    family_ = ["s1", "child-0", "child-1"]
    before = [exists(world, one) for one in family_]

    done = DeleteSession(world.store, world.clock, lambda: 0.0)(MACHINE, "s1")

    assert (before, done) == ([True] * 3, True)
    assert [exists(world, one) for one in family_] == [False] * 3
    assert exists(world, "other")
