"""Deleted sessions: every `SessionStore`, the fake and the table alike."""

from __future__ import annotations

from typing import Any

import pytest

from contract.store.deleting import LATER, NEW, NOON_S, OLD, begun, deleted, delta, never
from everturn.errors import VersionConflict
from everturn.ports.lists import Deletion, Incarnation, ListPage
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Owner, Quarantine, SessionKey
from everturn.ports.streams import Watch, Watcher
from everturn.rejections import SessionDeleting
from sample_events import NOON_MS, commit, created, id_of, message


def seen(store: SessionStore, key: SessionKey) -> list[Any]:
    """Return all that can be read of a session."""
    return [
        store.head(key),
        store.head_and_turn(key, id_of("turn")),
        store.head_and_watch(key),
        store.nodes(key, [id_of("q")]),
        store.log(key, 1),
        store.page(key, 0, 10),
        store.watch(key),
        store.deltas(key, 0, 0, 10),
        store.incarnation(key),
    ]


NOTHING: list[Any] = [None, (None, None), (None, Watch()), {}, (), (), Watch(), (), None]


def test_a_tombstone_hides_the_session_from_everybody_at_once(
    store: SessionStore, key: SessionKey
) -> None:
    begun(store, key)
    known = store.incarnation(key)

    marked = store.mark_deleted(key, OLD, "m1", NOON_S + 60)

    assert (known, marked) == (Incarnation(OLD, "default"), True)
    assert store.head(key) is None
    assert store.head_and_turn(key, id_of("turn"))[0] is None
    assert store.head_and_watch(key)[0] is None
    assert store.incarnation(key) is None
    assert store.listed(key.tenant, "", 10) == ListPage((), "")
    assert store.owned(key.tenant, "default", "", 10) == ListPage((), "")
    assert store.due(LATER, 10) == ()
    assert list(store.quarantined()) == []


def test_nobody_writes_over_a_tombstone(store: SessionStore, key: SessionKey) -> None:
    head = begun(store, key)
    store.mark_deleted(key, OLD, "m1", NOON_S + 60)

    with pytest.raises(VersionConflict) as moved:
        store.append(commit(key, head, [message("m")]))
    with pytest.raises(VersionConflict) as claimed:
        store.claim(key, head, Owner(2, "r"))
    with pytest.raises(SessionDeleting):
        store.append(commit(key, None, [created(key.session)], "again", created=NEW))
    lifted = store.lift(key, 5)

    assert (moved.value.head, claimed.value.head, lifted) == (None, None, None)
    assert store.head(key) is None
    assert store.deletions(LATER, 10) == (Deletion(key, OLD, is_gone=False),)


@pytest.mark.parametrize("aside", [True, False])
def test_what_is_erased_leaves_nothing_and_its_id_can_be_used_again(
    store: SessionStore, key: SessionKey, aside: bool
) -> None:
    begun(store, key)
    if aside:
        store.quarantine(key, None, Quarantine("defect", NOON_MS))

    deleted(store, key)
    gone = seen(store, key)
    again = begun(store, key, NEW)

    assert gone == NOTHING
    assert store.head(key) == again
    assert [one.created for one in store.log(key, 1)] == [NEW, NEW]
    assert store.watch(key).watchers == (Watcher("c1", "old"),)


def test_only_the_incarnation_that_was_meant_is_deleted(
    store: SessionStore, key: SessionKey
) -> None:
    head = begun(store, key, NEW)

    marked = store.mark_deleted(key, OLD, "m1", NOON_S)
    erased = store.erase(key, OLD, never)
    store.release_id(key, OLD, NOON_S)
    late = store.erase_late(key, OLD, never)

    assert (marked, erased, late) == (False, True, True)
    assert store.head(key) == head
    assert len(store.log(key, 1)) == 2
    assert len(store.deltas(key, 0, 0, 10)) == 1


def test_a_deletion_is_marked_once(store: SessionStore, key: SessionKey) -> None:
    unknown = store.mark_deleted(key, OLD, "m1", NOON_S)
    begun(store, key)

    marks = [store.mark_deleted(key, OLD, mark, NOON_S) for mark in ("m1", "m1", "m2")]

    assert unknown is False
    assert marks == [True, True, False]


def test_a_deletion_whose_time_is_over_goes_on_where_it_was(
    store: SessionStore, key: SessionKey
) -> None:
    begun(store, key)
    store.mark_deleted(key, OLD, "m1", NOON_S)

    parts = [store.erase(key, OLD, lambda: True) for _ in range(3)]

    assert parts[0] is False
    assert parts[-1] is True
    assert store.log(key, 1) == ()


def test_every_step_of_a_deletion_can_be_repeated(store: SessionStore, key: SessionKey) -> None:
    begun(store, key)

    store.mark_deleted(key, OLD, "m1", NOON_S)
    for _ in range(2):
        assert store.erase(key, OLD, never)
    for _ in range(2):
        store.release_id(key, OLD, NOON_S + 1200)
    for _ in range(2):
        assert store.erase_late(key, OLD, never)

    assert seen(store, key) == NOTHING
    assert store.deletions(LATER, 10) == ()


def test_what_is_left_to_do_is_found_when_its_time_has_come(
    store: SessionStore, key: SessionKey
) -> None:
    other = SessionKey("rival", key.session)
    begun(store, key)
    begun(store, other)
    store.mark_deleted(key, OLD, "m1", NOON_S + 60)
    deleted(store, other)

    early, soon, late = (store.deletions(NOON_S + s, 10) for s in (59, 60, 1200))

    stone, note = Deletion(key, OLD, is_gone=False), Deletion(other, OLD, is_gone=True)
    assert (early, soon) == ((), (stone,))
    assert sorted(late, key=lambda one: one.is_gone) == [stone, note]
    assert len(store.deletions(LATER, 1)) == 1


def test_what_is_written_late_is_none_of_the_next_sessions(
    store: SessionStore, key: SessionKey
) -> None:
    begun(store, key)
    deleted(store, key)
    store.put_delta(key, delta(1, OLD), LATER)
    store.put_delta(key, delta(2, OLD), LATER)
    store.add_watcher(key, Watcher("spy", "old"), OLD)
    store.reader_until(key, NOON_MS * 2, OLD)

    begun(store, key, NEW)
    store.put_delta(key, delta(1, NEW, "mine"), LATER)
    store.put_delta(key, delta(1, OLD, "late"), LATER)
    store.add_watcher(key, Watcher("spy", "later"), OLD)
    store.reader_until(key, NOON_MS * 3, OLD)
    watch = store.watch(key)

    assert watch == Watch((Watcher("c1", "old"),), NOON_MS + 30_000)
    assert watch.of(NEW) == watch
    assert watch.of(OLD) == Watch()
    bodies = {one.n: one.body["text"] for one in store.deltas(key, 0, 0, 10)}
    assert bodies[1] == "mine"


@pytest.mark.parametrize("used_again", [False, True])
def test_late_writes_are_found_and_deleted(
    store: SessionStore, key: SessionKey, used_again: bool
) -> None:
    begun(store, key)
    deleted(store, key)
    if used_again:
        begun(store, key, NEW)
    store.put_delta(key, delta(7, OLD), LATER)
    store.add_watcher(key, Watcher("spy", "old"), OLD)

    parts = [store.erase_late(key, OLD, lambda: True) for _ in range(4)]

    assert parts[-1] is True
    assert [one.n for one in store.deltas(key, 0, 0, 10)] == ([1] if used_again else [])
    assert store.watch(key).watchers == ((Watcher("c1", "old"),) if used_again else ())
    assert store.deletions(LATER, 10) == ()
    assert (store.head(key) is not None) == used_again


def test_readers_of_a_session_that_was_never_deleted_stay_whoever_says_so(
    store: SessionStore, key: SessionKey
) -> None:
    store.add_watcher(key, Watcher("c1", "a"))
    store.add_watcher(key, Watcher("c2", "b"), OLD)
    store.reader_until(key, NOON_MS, OLD)
    store.add_watcher(key, Watcher("c3", "c"))

    assert [one.connection_id for one in store.watch(key).watchers] == ["c1", "c2", "c3"]
    assert store.watch(key).reader_until_ms == NOON_MS
