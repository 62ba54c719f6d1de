"""Messages of users that wait for turns of their own. Source: session-log IB-1 to IB-11."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from everturn.rejections import InboxFull, SessionCancelled, UnknownItem
from everturn.session.events.mail import InboxDiscarded, InboxEnqueued, InboxUpdated
from everturn.session.events.messages import MessageNew
from everturn.session.events.sessions import TurnStarted
from everturn.session.formats import format_of
from everturn.session.mail_commands import TakeMessage
from everturn.session.propose import propose
from everturn.session.state import has_next
from unit.session.asking_runs import begin, drop, edit, enqueue, finish, turns_of, users
from unit.session.building import Story, only
from unit.session.deciding import Deciding, echo

MOST = 50


def busy() -> Story:
    """Return a session whose turn is open."""
    story = Story()
    story.submit()
    return story


def paused() -> Deciding:
    """Return a session whose first turn is paused."""
    pause = {"type": "interrupt", "interrupt_id": "i1", "reason": "wait"}
    story = Deciding()
    story.worker_ = lambda request: (
        {**request["proposed"], "actions": [pause]}
        if request["trigger"]["type"] == "client.messages"
        else echo(request)
    )
    story.submit("First.")
    story.worker_ = echo
    return story


# ---- coming in


def test_a_message_waits_with_ids_of_its_own_for_the_turn_that_was_named() -> None:
    story = busy()

    (event,) = enqueue(story, "t-2", "More.")

    assert isinstance(event, InboxEnqueued)
    assert (event.turn_id, event.wakeup, event.placement) == ("t-2", True, "queued")
    assert event.message == {"role": "user", "content": "More.", "id": event.message["id"]}
    assert event.item_id not in {"t-2", event.message["id"]}
    assert (event.private.is_users, event.private.run_seq) == (True, 0)
    assert format_of(story.session) == 3


@pytest.mark.parametrize("given_id", ["m-own", ""])
def test_a_message_keeps_its_id_where_that_is_free(given_id: str) -> None:
    story = busy()

    (event,) = enqueue(story, id=given_id)

    assert isinstance(event, InboxEnqueued)
    assert (event.message["id"] == "m-own") == bool(given_id)


def test_a_message_gets_another_id_where_its_own_is_taken() -> None:
    story = busy()
    taken = story.messages()[0]["id"]

    (event,) = enqueue(story, id=taken)

    assert isinstance(event, InboxEnqueued)
    assert event.message["id"] != taken


def test_the_same_turn_twice_changes_nothing() -> None:
    """T-4: while its message waits, and while it runs."""
    story = busy()
    enqueue(story, "t-2")

    assert enqueue(story, "t-2", "Other.") == ()
    finish(story)
    assert enqueue(story, "t-2", "Other.") == ()
    assert users(story) == ["Hello.", "Later."]


def test_an_idle_session_opens_the_turn_once_its_driver_comes_by() -> None:
    story = Story()
    begin(story)

    enqueue(story, "t-1")

    assert propose(story.session).is_ready
    assert turns_of(story) == []
    story.proceed()
    assert turns_of(story) == ["t-1"]
    (started,) = only(TurnStarted, story.log)
    assert (started.reason, started.stream) == ("submit", False)
    (written,) = only(MessageNew, story.log)
    assert written.private.source.kind == "user"


def test_a_session_that_was_ended_takes_no_messages() -> None:
    story = busy()
    enqueue(story, "t-2")
    item = story.session.inbox[0].id
    story.cancel_session()

    with pytest.raises(SessionCancelled):
        enqueue(story, "t-3")
    with pytest.raises(SessionCancelled):
        edit(story, item, "x")
    with pytest.raises(SessionCancelled):
        drop(story, item)


@pytest.mark.parametrize("many", [MOST - 1, MOST, MOST + 1])
def test_so_many_messages_of_users_may_wait_and_no_more(many: int) -> None:
    story = busy()

    for n in range(min(many, MOST)):
        enqueue(story, f"w{n}", wakes=n % 2 == 0)

    assert len(story.session.inbox) == min(many, MOST)
    if many > MOST:
        with pytest.raises(InboxFull):
            enqueue(story, "one-more")
        drop(story, story.session.inbox[0].id)
        enqueue(story, "one-more")


def test_messages_of_other_sessions_take_no_room_from_users() -> None:
    story = busy()
    mail = {"id": "m1", "role": "user", "content": "rain"}
    story.do(lambda at, facts: TakeMessage(at, facts, mail, "m-turn"))

    for n in range(MOST):
        enqueue(story, f"w{n}")

    assert len(story.session.inbox) == MOST + 1


# ---- in order


@given(wakes=st.lists(st.booleans(), max_size=6))
def test_messages_open_their_turns_in_order_until_none_is_left_that_wakes(
    wakes: list[bool],
) -> None:
    """IB-2, IB-4."""
    story = busy()
    for n, one in enumerate(wakes):
        enqueue(story, f"w{n}", f"{n}", wakes=one)

    story.answer("One.")
    while has_next(story.session):
        finish_next(story)

    last = max((n for n, one in enumerate(wakes) if one), default=-1)
    assert turns_of(story) == ["t1", *(f"w{n}" for n in range(last + 1))]
    assert [one.turn_id for one in story.session.inbox] == [
        f"w{n}" for n in range(last + 1, len(wakes))
    ]


def finish_next(story: Story) -> None:
    """Have the next turn open and end."""
    story.proceed()
    story.answer("Done.")


def test_a_quiet_message_is_taken_along_once_another_one_wakes_the_session() -> None:
    story = busy()
    enqueue(story, "t-quiet", "quiet", wakes=False)
    story.answer("One.")
    assert not propose(story.session).is_ready
    assert story.proceed() == ()

    enqueue(story, "t-loud", "loud")
    finish_next(story)
    finish_next(story)

    assert users(story) == ["Hello.", "quiet", "loud"]


def test_a_message_waits_while_the_path_is_paused() -> None:
    """IB-11."""
    story = paused()

    enqueue(story, "t-2")
    story.run()

    assert story.session.is_paused
    assert turns_of(story) == ["t1"]
    assert [one.turn_id for one in story.session.inbox] == ["t-2"]


# ---- changed and removed


@pytest.mark.parametrize("content", ["Else.", [{"type": "text", "text": "Else."}]])
def test_an_edit_replaces_the_content_and_keeps_ids_and_place(content: Any) -> None:
    story = busy()
    enqueue(story, "t-2", "one", id="m-own")
    enqueue(story, "t-3", "two")
    item = story.session.inbox[0].id

    (event,) = edit(story, item, content)

    assert isinstance(event, InboxUpdated)
    assert (event.turn_id, event.item_id) == ("t-2", item)
    assert event.message == {"id": "m-own", "role": "user", "content": content}
    assert story.session.inbox[0].id == item
    finish(story)
    finish(story)
    assert users(story) == ["Hello.", content, "two"]
    assert story.messages()[2]["id"] == "m-own"


def test_the_last_of_several_edits_counts() -> None:
    story = busy()
    enqueue(story)
    item = story.session.inbox[0].id

    for text in ("a", "b", "c"):
        edit(story, item, text)
    finish(story)

    assert users(story) == ["Hello.", "c"]


def test_an_edit_leaves_a_quiet_message_quiet() -> None:
    story = busy()
    enqueue(story, wakes=False)

    edit(story, story.session.inbox[0].id, "x")
    story.answer("One.")

    assert not has_next(story.session)


def test_a_message_that_is_removed_opens_no_turn() -> None:
    story = busy()
    enqueue(story, "t-2", "one")
    enqueue(story, "t-3", "two")

    (event,) = drop(story, story.session.inbox[0].id)

    assert isinstance(event, InboxDiscarded)
    assert (event.turn_id, event.reason) == ("t-2", "removed")
    finish(story)
    assert turns_of(story) == ["t1", "t-3"]


def test_what_has_begun_or_is_unknown_or_is_another_sessions_is_not_there() -> None:
    """IB-5: the turn's begin is the point of no return."""
    story = busy()
    enqueue(story, "t-2")
    begun = story.session.inbox[0].id
    finish(story)
    mail = {"id": "m1", "role": "user", "content": "rain"}
    story.do(lambda at, facts: TakeMessage(at, facts, mail, "m-turn"))

    for item in (begun, "nothing", story.session.inbox[0].id):
        with pytest.raises(UnknownItem):
            edit(story, item, "x")
        with pytest.raises(UnknownItem):
            drop(story, item)


def test_a_stop_of_its_turn_discards_a_message_that_waits() -> None:
    story = busy()
    enqueue(story, "t-2")

    (event,) = story.cancel("t-2")

    assert isinstance(event, InboxDiscarded)
    assert (event.turn_id, event.reason) == ("t-2", "turn_cancelled")
