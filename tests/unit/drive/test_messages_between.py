"""Messages from one session to another through real drivers in memory: each its own turn, once."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.cancel import Cancels
from everturn.commands.interrupts import Interrupts
from everturn.errors import StoreUnavailable
from everturn.ports.sessions import Quarantine, SessionKey
from everturn.session.events.mail import InboxDiscarded, InboxEnqueued, OutboxDelivered
from everturn.session.events.sessions import TurnStarted
from unit.drive.family import echo, events, family, response, settle
from unit.drive.offspring import WORKER, send
from unit.drive.world import MACHINE, TENANT, World
from unit.session.building import only

LOOKS = {**WORKER, "tools": [{"name": "look", "handler": "client"}]}
LOOK = {"type": "tool.call", "id": "c1", "name": "look", "arguments": "{}"}
"""What a client is waited for with."""


def writing(*actions: dict[str, Any], of: str = "s1") -> Any:
    """Return a worker that answers the first input of a session with these actions, then echoes."""
    left = [list(actions)]

    def answer(request: dict[str, Any]) -> Any:
        is_input = request["trigger"]["type"] == "client.messages"
        if request["session_id"] == of and is_input and left:
            return response({**request["proposed"], "actions": [*left.pop(), {"type": "done"}]})
        return echo(request)

    return answer


def pair(**agents: Any) -> World:
    """Return a world with a session `s2` that has had a turn; `s1` is a writer's."""
    world = family(helper=WORKER, **agents)
    world.submit("Hello.", turn="first", session="s2", agent="poet")
    settle(world)
    return world


def turns(world: World, session: str) -> list[str]:
    """Return why the turns of a session began."""
    return [one.reason for one in only(TurnStarted, events(world, session))]


@pytest.mark.parametrize("reader", [{}, WORKER], ids=["engine", "worker"])
def test_a_message_is_the_input_of_a_turn_of_its_own(reader: dict[str, Any]) -> None:
    """B-14."""
    world = pair(poet=reader)
    world.decider.answer = writing(send("s2", "rain", id="m9"))
    world.submit("Write to it.")

    settle(world)

    assert world.texts("s2")[-2:] == [("user", "rain"), ("assistant", "echo: rain")]
    assert turns(world, "s2") == ["submit", "message"]
    assert [e.message["id"] for e in events(world, "s2") if e.type == "message.new"][-2] == "m9"
    assert world.head("s2").session.inbox == ()
    assert [one.outcome for one in only(OutboxDelivered, events(world))] == ["delivered"]


def test_a_busy_session_takes_messages_in_the_order_of_their_coming() -> None:
    """Conformance 31: B-14; each is the next turn."""
    world = pair(poet=LOOKS)
    world.decider.answer = lambda request: response({**request["proposed"], "actions": [LOOK]})
    world.submit("Wait.", turn="t9", session="s2", agent="poet")
    settle(world)
    world.decider.answer = writing(send("s2", "one"), send("s2", "two"))
    world.submit("Write to it.")
    settle(world)
    waiting = [one.turn_id for one in world.head("s2").session.inbox]

    Cancels(world.changer()).turn(MACHINE, "s2", "t9", {"keep_inbox": True})
    settle(world)

    assert len(waiting) == 2
    said = [content for role, content in world.texts("s2") if role == "user"]
    assert said[-2:] == ["one", "two"]
    assert turns(world, "s2")[-2:] == ["message", "message"]
    assert [one.turn_id for one in only(TurnStarted, events(world, "s2"))][-2:] == waiting


def test_one_driver_works_off_what_waits_for_an_agent_that_the_engine_decides() -> None:
    """IB-4: also what came before the model's window begins."""
    world = pair(poet={"tools": [{"name": "look", "handler": "client"}]})
    world.submit("[[call:look]]", turn="t9", session="s2", agent="poet")
    settle(world)
    world.decider.answer = writing(send("s2", "one"), send("s2", "two"), send("s2", "three"))
    world.submit("Write to it.")
    settle(world)
    sent = len(world.wake.sent)

    Cancels(world.changer()).turn(MACHINE, "s2", "t9", {"keep_inbox": True})
    settle(world)

    assert [text for role, text in world.texts("s2") if role == "assistant"][-3:] == [
        "echo: one",
        "echo: two",
        "echo: three",
    ]
    assert len(world.wake.sent) == sent + 1


def test_a_cancelled_turn_takes_waiting_messages_with_it_unless_they_are_to_stay() -> None:
    """session-log CA-1."""
    world = pair(poet=LOOKS)
    world.decider.answer = lambda request: response({**request["proposed"], "actions": [LOOK]})
    world.submit("Wait.", turn="t9", session="s2", agent="poet")
    settle(world)
    world.decider.answer = writing(send("s2", "one"))
    world.submit("Write to it.")
    settle(world)

    Cancels(world.changer()).turn(MACHINE, "s2", "t9", {})
    settle(world)

    assert world.head("s2").session.inbox == ()
    assert [one.reason for one in only(InboxDiscarded, events(world, "s2"))] == ["turn_cancelled"]
    assert turns(world, "s2") == ["submit", "submit"]


def test_a_message_that_comes_twice_is_taken_once() -> None:
    """B-14: while it waits, while its turn runs, and after that."""
    world = pair(poet={})
    crossing, key = world.tools().crossing, SessionKey(TENANT, "s2")
    message = {"id": "m9", "role": "user", "content": "rain"}

    crossing.send(key, "default", message)
    crossing.send(key, "default", message)
    settle(world)
    crossing.send(key, "default", message)
    settle(world)

    assert len(only(InboxEnqueued, events(world, "s2"))) == 1
    assert turns(world, "s2") == ["submit", "message"]


def test_a_message_with_the_id_of_one_that_is_there_is_dropped() -> None:
    """B-14: the target drops ids it knows."""
    world = pair(poet={})
    known = next(one.id for one in events(world, "s2") if one.type == "message.new")

    world.tools().crossing.send(
        SessionKey(TENANT, "s2"), "default", {"id": known, "role": "user", "content": "again"}
    )

    assert only(InboxEnqueued, events(world, "s2")) == []


def test_a_session_may_write_to_itself() -> None:
    """B-14: it becomes the next turn."""
    world = pair()
    world.decider.answer = writing(send("s1", "Go on."))
    world.submit("Remind me.")

    settle(world)

    assert [text for role, text in world.texts() if role == "user"] == ["Remind me.", "Go on."]
    assert turns(world, "s1") == ["submit", "message"]
    assert world.head().session.outbox == ()


def test_a_message_waits_while_the_path_is_paused() -> None:
    """B-14: it is never refused."""
    world = pair(poet=WORKER)
    pause = {"type": "interrupt", "interrupt_id": "int-1", "reason": "wait"}
    world.decider.answer = lambda request: response({**request["proposed"], "actions": [pause]})
    world.submit("Pause.", turn="t9", session="s2", agent="poet")
    settle(world)
    world.decider.answer = writing(send("s2", "one"))
    world.submit("Write to it.")
    settle(world)
    before = turns(world, "s2")

    Interrupts(world.changer()).resume(MACHINE, "s2", "int-1", None)
    settle(world)

    assert before == ["submit", "submit"]
    assert turns(world, "s2") == ["submit", "submit", "message"]


def test_a_quiescent_turn_makes_way_for_a_message() -> None:
    """T-3.4."""
    world = pair(poet=WORKER)
    world.decider.answer = lambda request: response({"messages": request["proposed"]["messages"]})
    world.submit("Say nothing.", turn="t9", session="s2", agent="poet")
    settle(world)
    world.decider.answer = writing(send("s2", "one"))
    world.submit("Write to it.")

    settle(world)

    ends = [one.outcome for one in events(world, "s2") if one.type == "turn.completed"]
    assert ends == ["done", "quiescent", "done"]


def test_what_is_sent_to_a_session_that_went_meanwhile_is_noted_as_refused() -> None:
    world = pair(poet={})
    world.decider.answer = writing(send("s2", "rain"))
    world.submit("Write to it.")
    Cancels(world.changer()).session(MACHINE, "s2", {})

    settle(world)

    (sent,) = only(OutboxDelivered, events(world))
    assert (sent.outcome, sent.code) == ("refused", "session_cancelled")
    assert world.head().session.outbox == ()


@pytest.mark.parametrize(
    ("target", "code"), [("nobody", "unknown_target"), ("theirs", "forbidden_target")]
)
def test_a_target_that_is_not_there_or_is_anothers_makes_the_answer_invalid(
    target: str, code: str
) -> None:
    """P-3, B-14: nothing of such an answer is recorded."""
    world = pair(poet={})
    world.submit("Mine.", session="theirs", agent="poet", owner="u2")
    settle(world)
    world.decider.answer = writing(send(target, "rain"))
    world.submit("Write to it.")

    settle(world)

    errored = [one for one in events(world) if one.type == "decision.errored"]
    assert [one.code for one in errored] == [code]
    assert "session.message_requested" not in world.kinds()


def test_what_is_for_a_quarantined_session_waits_until_that_is_lifted() -> None:
    """What a user saw: a child's answer that was lost while its parent was put aside."""
    world = pair(poet={})
    world.decider.answer = writing(send("s2", "rain"))
    world.submit("Write to it.")
    key = SessionKey(TENANT, "s2")
    world.store.quarantine(key, world.head("s2"), Quarantine("defect", 0))
    with pytest.raises(StoreUnavailable):
        settle(world, patience_s=0)
    assert len(world.head().session.outbox) == 1

    world.store.lift(key, None)
    world.taken -= 1  # type: ignore[attr-defined]  # the wake-up comes again
    settle(world)

    assert world.texts("s2")[-1] == ("assistant", "echo: rain")
