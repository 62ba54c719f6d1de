"""Messages of users that wait: the body of the inbox route to what the session records."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.inbox import Enqueued
from everturn.ports.callers import Caller
from everturn.rejections import (
    InboxFull,
    InvalidId,
    NotYetSupported,
    RoleNotAllowed,
    SchemaViolation,
    SessionCancelled,
    UnknownItem,
    UnknownSession,
)
from unit.commands.asking_for_runs import ANN, BOB, RIVAL, Runs
from unit.commands.test_submit_input import LosingStore
from unit.drive.doubles import FrozenClock
from unit.drive.world import MACHINE, World


def body(text: str = "[[say:Later]]", **more: Any) -> dict[str, Any]:
    """Return the body of `POST /v1/sessions/{id}/inbox`."""
    return {"message": {"role": "user", "content": text}, **more}


def busy(runs: Runs | None = None) -> Runs:
    """Return a session with an open turn."""
    made = runs or Runs()
    made.world.submit("[[say:Hi]]")
    return made


def test_a_message_waits_and_its_turn_opens_after_the_open_one() -> None:
    runs = busy()

    done = runs.inbox.enqueue(MACHINE, "s1", body())
    (waiting,) = runs.world.head().session.inbox
    runs.world.advance()

    assert done == Enqueued(waiting.turn_id, waiting.id)
    assert runs.texts("s1") == ["[[say:Hi]]", "Hi", "[[say:Later]]", "Later"]


def test_a_message_to_an_idle_session_wakes_a_driver() -> None:
    runs = busy()
    runs.world.advance()
    sent = len(runs.world.wake.sent)

    runs.inbox.enqueue(MACHINE, "s1", body())

    assert len(runs.world.wake.sent) == sent + 1
    runs.world.advance()
    assert runs.texts("s1")[-1] == "Later"


def test_a_quiet_message_wakes_nobody() -> None:
    runs = busy()
    runs.world.advance()
    sent = len(runs.world.wake.sent)

    runs.inbox.enqueue(MACHINE, "s1", body(wakeup=False))

    assert len(runs.world.wake.sent) == sent
    runs.world.advance()
    assert runs.texts("s1")[-1] == "Hi"


@pytest.mark.parametrize("status", ["queued", "running", "completed"])
def test_a_turn_that_is_known_is_told_and_nothing_is_recorded(status: str) -> None:
    """T-4."""
    runs = busy()
    done = runs.inbox.enqueue(MACHINE, "s1", body(turn_id="t2"))
    name = {"queued": "t2", "running": "t1", "completed": "t2"}[status]
    if status == "completed":
        runs.world.advance()
    before = runs.world.head()

    again = runs.inbox.enqueue(MACHINE, "s1", body("other", turn_id=name))

    item = done.item_id if status == "queued" else None
    assert again == Enqueued(name, item, status)  # type: ignore[arg-type]  # one of the three
    assert runs.world.head() == before


def test_the_same_new_turn_twice_at_once_is_one_item() -> None:
    store = LosingStore()
    runs = busy(Runs(World(clock=FrozenClock(), store=store)))
    store.others = lambda: runs.inbox.enqueue(MACHINE, "s1", body("theirs", turn_id="t2"))

    mine = runs.inbox.enqueue(MACHINE, "s1", body("mine", turn_id="t2"))

    (waiting,) = runs.world.head().session.inbox
    assert mine == Enqueued("t2", waiting.id, "queued")


def test_the_same_new_turn_comes_late_once_more_when_it_is_over() -> None:
    """Invariant 5: what was asked before the first one was recorded is asked again."""
    store = LosingStore()
    runs = busy(Runs(World(clock=FrozenClock(), store=store)))

    def others() -> None:
        runs.inbox.enqueue(MACHINE, "s1", body("[[say:theirs]]", turn_id="t2"))
        runs.world.advance()

    store.others = others

    mine = runs.inbox.enqueue(MACHINE, "s1", body("[[say:mine]]", turn_id="t2"))

    assert mine == Enqueued("t2", None, "completed")
    assert runs.texts("s1")[-1] == "theirs"
    assert runs.world.head().session.inbox == ()


def test_a_turn_that_was_removed_from_the_inbox_is_over() -> None:
    runs = busy()
    done = runs.inbox.enqueue(MACHINE, "s1", body(turn_id="t2"))
    assert done.item_id is not None
    runs.inbox.drop(MACHINE, "s1", done.item_id)

    again = runs.inbox.enqueue(MACHINE, "s1", body(turn_id="t2"))

    assert again == Enqueued("t2", None, "completed")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"message": {"role": "assistant", "content": "x"}}, RoleNotAllowed),
        ({"message": {"role": "system", "content": "x"}}, RoleNotAllowed),
        (body(target="next-step"), NotYetSupported),
        (body(target="now"), SchemaViolation),
        (body(turn_id="has space"), InvalidId),
        (body(turn_id="turn-7"), InvalidId),
        ({}, SchemaViolation),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], error: type[Exception]) -> None:
    runs = busy()
    before = runs.world.head()

    with pytest.raises(error):
        runs.inbox.enqueue(MACHINE, "s1", given)

    assert runs.world.head() == before
    assert runs.kept == []


def test_an_edit_replaces_what_the_turn_begins_with() -> None:
    runs = busy()
    done = runs.inbox.enqueue(MACHINE, "s1", body())
    assert done.item_id is not None

    runs.inbox.edit(MACHINE, "s1", done.item_id, {"content": "[[say:Edited]]"})
    runs.world.advance()

    assert runs.texts("s1")[2:] == ["[[say:Edited]]", "Edited"]


@pytest.mark.parametrize("content", [None, 5, [{"type": "nothing"}]])
def test_an_edit_to_what_is_no_content_is_refused(content: Any) -> None:
    runs = busy()
    done = runs.inbox.enqueue(MACHINE, "s1", body())
    assert done.item_id is not None

    with pytest.raises(SchemaViolation):
        runs.inbox.edit(MACHINE, "s1", done.item_id, {"content": content})


def test_files_are_kept_before_what_refers_to_them_is_recorded() -> None:
    """Otherwise they would be gone where the request dies in between."""
    runs = busy()
    before = runs.world.head().session.seq

    done = runs.inbox.enqueue(MACHINE, "s1", body("one"))
    between = runs.world.head().session.seq
    assert done.item_id is not None
    runs.inbox.edit(MACHINE, "s1", done.item_id, {"content": "two"})

    assert runs.kept == [(["one"], before), (["two"], between)]


def test_what_is_removed_never_opens() -> None:
    runs = busy()
    done = runs.inbox.enqueue(MACHINE, "s1", body())
    assert done.item_id is not None

    runs.inbox.drop(MACHINE, "s1", done.item_id)
    runs.world.advance()

    assert runs.texts("s1") == ["[[say:Hi]]", "Hi"]
    with pytest.raises(UnknownItem):
        runs.inbox.drop(MACHINE, "s1", done.item_id)
    with pytest.raises(UnknownItem):
        runs.inbox.edit(MACHINE, "s1", done.item_id, {"content": "x"})


def test_the_fiftieth_message_waits_and_the_next_is_refused() -> None:
    runs = busy()
    for _ in range(50):
        runs.inbox.enqueue(MACHINE, "s1", body())

    with pytest.raises(InboxFull):
        runs.inbox.enqueue(MACHINE, "s1", body())


@pytest.mark.parametrize("caller", [BOB, RIVAL])
def test_the_inbox_of_somebody_else_is_not_there(caller: Caller) -> None:
    runs = Runs()
    session = runs.begin(caller=ANN)
    done = runs.inbox.enqueue(ANN, session, body(turn_id="t1"))
    assert done.item_id is not None

    with pytest.raises(UnknownSession):
        runs.inbox.enqueue(caller, session, body())
    with pytest.raises(UnknownSession):
        runs.inbox.enqueue(caller, session, body(turn_id="t1"))
    with pytest.raises(UnknownSession):
        runs.inbox.edit(caller, session, done.item_id, {"content": "x"})
    with pytest.raises(UnknownSession):
        runs.inbox.drop(caller, session, done.item_id)


def test_a_session_that_was_ended_takes_nothing() -> None:
    runs = Runs()
    session = runs.begin()
    runs.sessions.end(MACHINE, session)

    with pytest.raises(SessionCancelled):
        runs.inbox.enqueue(MACHINE, session, body())
