"""Messages between sessions in the core: how they go out, wait, and open turns. Source: B-14."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import ForbiddenTarget, UnknownTarget
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.mail import (
    InboxDequeued,
    InboxDiscarded,
    InboxEnqueued,
    MessageRequested,
    OutboxDelivered,
)
from everturn.session.events.messages import MessageNew
from everturn.session.events.sessions import TurnStarted
from everturn.session.formats import format_of
from everturn.session.mail_commands import NoteSent, TakeMessage
from everturn.session.propose import SendOut, propose
from everturn.session.refs import put, same_as
from everturn.session.state import has_next
from unit.session.building import Story, only
from unit.session.deciding import Deciding, echo

RAIN = {"id": "m1", "role": "user", "content": "rain"}


def take(story: Story, message: dict[str, Any] | None = None, turn_id: str = "m-turn") -> Any:
    """Have a message come."""
    return story.do(lambda at, facts: TakeMessage(at, facts, message or RAIN, turn_id))


def sends(*targets: str, **message: Any) -> Deciding:
    """Return a session whose worker answers the first input by writing to these sessions."""
    whole = {"role": "user", "content": "rain", **message}
    actions = [{"type": "message.send", "session_id": one, "message": whole} for one in targets]
    story = Deciding()

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "client.messages" and actions:
            said = [actions.pop(0) for _ in range(len(actions))]
            return {**request["proposed"], "actions": said}
        return echo(request)

    story.worker_ = answer
    return story


# ---- going out


def test_a_message_goes_out_with_an_id_that_is_fixed() -> None:
    story = sends("s2")
    story.do(story.submitting(decides="worker"))
    for _ in range(5):
        if propose(story.session).is_ready:
            story.proceed()
        elif not story.session.outbox:
            story.act(propose(story.session).effects[0])

    (asked,) = only(MessageRequested, story.log)
    assert asked.message["id"] == asked.message_id
    assert (asked.target, asked.message["content"]) == ("s2", "rain")
    assert propose(story.session).effects == (SendOut(story.session.outbox[0].seq),)
    assert format_of(story.session) == 2


def test_messages_to_one_session_go_out_one_after_another() -> None:
    """Those to others do not wait for them."""
    story = sends("s2", "s3", "s2")
    story.submit()
    sent = only(OutboxDelivered, story.log)

    assert [one.entry for one in sent] == sorted(one.entry for one in sent)
    assert len(sent) == 3
    assert story.session.outbox == ()


def test_what_has_arrived_is_noted_once() -> None:
    story = sends("s2")
    story.submit()
    (sent,) = only(OutboxDelivered, story.log)

    again = story.do(lambda at, facts: NoteSent(at, facts, sent.entry, "refused", "x"))

    assert again == ()


@pytest.mark.parametrize(
    ("code", "error"), [("unknown_target", UnknownTarget), ("forbidden_target", ForbiddenTarget)]
)
def test_a_target_that_takes_nothing_refuses_the_answer(code: str, error: type[Exception]) -> None:
    """P-3."""
    story = Deciding(targets={"s2": code})
    story.do(story.submitting(decides="worker"))
    story.proceed()
    send = {"type": "message.send", "session_id": "s2", "message": {"role": "user", "content": "x"}}

    with pytest.raises(error):
        story.respond(story.session.decisions[0].id, {"actions": [send]})


def test_a_message_to_oneself_waits_in_the_same_commit() -> None:
    story = sends("s1")
    story.submit()

    assert only(OutboxDelivered, story.log) == []
    (asked,), (waits,) = only(MessageRequested, story.log), only(InboxEnqueued, story.log)
    assert waits.refs == {"message": same_as(story.log.index(asked) + 1, "message")}


def test_the_same_message_to_oneself_twice_is_one() -> None:
    story = sends("s1", "s1", id="m1")
    story.submit()

    assert len(only(InboxEnqueued, story.log)) == 1


def test_a_message_to_oneself_with_an_id_that_was_there_is_dropped() -> None:
    """B-14: whether its turn is over, or the id is that of another message."""
    story = sends("s1", id="m1")
    story.submit()
    once = len(only(InboxEnqueued, story.log))
    known = story.messages()[0]["id"]

    for message_id in ("m1", known):
        send = {
            "type": "message.send",
            "session_id": "s1",
            "message": {"id": message_id, "role": "user", "content": "again"},
        }
        left = [send]
        story.worker_ = lambda request, left=left: (  # type: ignore[misc]  # one answer each
            {**request["proposed"], "actions": [left.pop()]}
            if request["trigger"]["type"] == "client.messages" and left
            else echo(request)
        )
        story.submit("More.", turn_id=f"t-{message_id}")

    assert once == 1
    assert len(only(InboxEnqueued, story.log)) == 1
    assert len(only(MessageRequested, story.log)) == 3


# ---- coming in


@pytest.mark.parametrize("kind", [Story, Deciding])
def test_a_message_opens_a_turn_of_its_own(kind: type[Story]) -> None:
    """IB-4: only the driver opens it."""
    story = kind()
    if isinstance(story, Deciding):
        story.submit("First.")
    else:
        story.submit("First.")
        story.answer("One.")

    take(story)
    assert has_next(story.session)
    assert propose(story.session).is_ready
    if isinstance(story, Deciding):
        story.run()
    else:
        story.proceed()
        story.answer("Two.")

    assert [one["content"] for one in story.messages() if one["role"] == "user"] == [
        "First.",
        "rain",
    ]
    started = only(TurnStarted, story.log)[-1]
    assert (started.turn_id, started.reason, started.input_type) == ("m-turn", "message", None)
    written = [one for one in only(MessageNew, story.log) if one.id == "m1"]
    assert [one.private.source.kind for one in written] == ["agent"]
    assert only(InboxDequeued, story.log)[0].item_id == only(InboxEnqueued, story.log)[0].item_id
    queued = [one for one in only(DecisionQueued, story.log) if "news.0" in one.refs]
    assert len(queued) == 1


def test_a_message_that_is_there_changes_nothing() -> None:
    """B-14: while it waits, while its turn runs, while that is parked."""
    story = Story()
    story.submit("First.")
    story.answer("One.")
    take(story)

    assert take(story) == ()
    story.proceed()
    assert take(story) == ()


def test_a_message_whose_id_somebody_took_meanwhile_gets_another_one() -> None:
    """What a user saw: a session that nobody could drive any more."""
    story = Story()
    story.submit("First.")
    take(story)
    story.answer("One.")
    story.submit(view=(*story.messages(), {**RAIN, "content": "mine"}))
    story.answer("Two.")

    story.proceed()

    said = [(one["content"], one["id"] == "m1") for one in story.messages()[-2:]]
    assert said == [("Two.", False), ("rain", False)]


def test_a_message_waits_for_the_end_of_the_turn() -> None:
    story = Story()
    story.submit("First.")
    take(story)

    assert story.proceed() == ()
    story.answer("One.")
    story.proceed()

    assert [one.turn_id for one in only(TurnStarted, story.log)] == ["t1", "m-turn"]


def test_a_message_waits_for_the_end_of_a_pause() -> None:
    story = Deciding()
    pause = {"type": "interrupt", "interrupt_id": "i1", "reason": "wait"}
    story.worker_ = lambda request: (
        {**request["proposed"], "actions": [pause]}
        if request["trigger"]["type"] == "client.messages"
        else echo(request)
    )
    story.submit("First.")
    take(story)
    story.run()

    assert not has_next(story.session)
    assert len(only(TurnStarted, story.log)) == 1


def test_a_turn_that_waits_for_nothing_makes_way() -> None:
    """T-3.4."""
    story = Deciding(worker_=lambda _request: {})
    story.submit("First.")
    story.worker_ = echo

    take(story)
    story.run()

    ends = [value["outcome"] for value in story.values if value["type"] == "turn.completed"]
    assert ends[0] == "quiescent"


def test_tools_of_a_client_are_not_there_in_the_turn_of_a_message() -> None:
    """K-5."""
    story = Story()
    tools = [{"name": "wave", "input": {"type": "object"}}]
    story.submit("First.", client={"tools": tools})
    story.answer("One.")

    take(story)
    story.proceed()

    offered = [[tool["name"] for tool in one["tools"]] for one in story.requests()]
    assert "wave" in offered[0]
    assert "wave" not in offered[1]


@pytest.mark.parametrize(("keep", "left"), [(False, 0), (True, 1)])
def test_a_cancel_takes_waiting_messages_along_unless_they_are_to_stay(
    *, keep: bool, left: int
) -> None:
    """session-log CA-1."""
    story = Story()
    story.submit("First.")
    take(story)

    story.cancel(keep_inbox=keep)

    assert len(story.session.inbox) == left
    assert len(only(InboxDiscarded, story.log)) == 1 - left


def test_the_end_of_a_session_takes_waiting_messages_along() -> None:
    story = Story()
    story.submit("First.")
    take(story)

    story.cancel_session()

    assert story.session.inbox == ()
    assert only(InboxDiscarded, story.log)[0].reason == "session_cancelled"


# ---- bodies in their places


@pytest.mark.parametrize(
    ("value", "field", "filled"),
    [
        ({}, "news.0", {"news": [1]}),
        ({"news": [0]}, "news.0", {"news": [1]}),
        ({"news": [{"a": 0}]}, "news.0.b", {"news": [{"a": 0, "b": 1}]}),
        ({"news": []}, "news.0.b", {"news": [{"b": 1}]}),
        ({"a": 0}, "a.b", {"a": {"b": 1}}),
        ({"a": {}}, "a.0", {"a": [1]}),
    ],
)
def test_a_body_comes_to_its_place_in_a_list(value: Any, field: str, filled: Any) -> None:
    assert put(value, field, 1) == filled
