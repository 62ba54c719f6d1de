"""Who owns, watches and wakes sessions: every `SessionStore`, the fake and the table alike."""

from __future__ import annotations

import dataclasses

import pytest

from everturn.errors import VersionConflict
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Owner, SessionKey
from everturn.ports.streams import Delta, Watch, Watcher
from sample_events import (
    commit,
    created,
    message,
)


def test_a_claim_changes_owner_and_version_alone(store: SessionStore, key: SessionKey) -> None:
    head = store.append(commit(key, None, [created(key.session)], due_epoch_s=9))
    owner = Owner(2, "request-2")

    claimed = store.claim(key, head, owner)

    assert claimed == dataclasses.replace(head, version=2, owner=owner)
    assert store.head(key) == claimed
    assert len(store.log(key, 1)) == 1


def test_a_claim_on_an_old_head_is_a_conflict(store: SessionStore, key: SessionKey) -> None:
    old = store.append(commit(key, None, [created(key.session)]))
    won = store.claim(key, old, Owner(1, "first"))

    with pytest.raises(VersionConflict) as caught:
        store.claim(key, old, Owner(2, "second"))
    with pytest.raises(VersionConflict):
        store.append(commit(key, old, [message("m")]))

    assert caught.value.head == won


def test_an_owner_leaves_with_the_commit_that_names_none(
    store: SessionStore, key: SessionKey
) -> None:
    head = store.append(commit(key, None, [created(key.session)], owner=Owner(1, "r")))

    store.append(commit(key, head, [message("m")]))

    found = store.head(key)
    assert found is not None
    assert found.owner is None


@pytest.mark.parametrize(
    ("stored", "wanted", "due"),
    [
        (10_000, 10_600, 10_000),
        (10_000, 10_601, 10_601),
        (10_000, 9_400, 10_000),
        (10_000, 9_399, 9_399),
        (10_000, None, None),
        (None, 10_000, 10_000),
        (None, None, None),
    ],
)
def test_due_moves_by_more_than_ten_minutes_or_not_at_all(
    store: SessionStore, key: SessionKey, stored: int | None, wanted: int | None, due: int | None
) -> None:
    head = store.append(commit(key, None, [created(key.session)], due_epoch_s=stored))

    after = store.append(commit(key, head, [message("m")], due_epoch_s=wanted))

    assert after.due_epoch_s == due
    assert store.head(key) == after


def test_sessions_past_their_time_are_found(store: SessionStore) -> None:
    keys = [SessionKey("acme", f"s{n}") for n in range(40)]
    for n, key in enumerate(keys):
        due = None if n == 39 else 1_000 + n
        store.append(commit(key, None, [created(key.session)], due_epoch_s=due))

    late = store.due(1_029, 100)
    some = store.due(9_999, 7)

    assert sorted(one.session for one in late) == sorted(f"s{n}" for n in range(30))
    assert len(some) == 7
    assert {one.tenant for one in late} == {"acme"}


def test_watchers_come_and_go(store: SessionStore, key: SessionKey) -> None:
    first, second = Watcher("c=1", "s1", "turn"), Watcher("c=1", "s2")
    third = Watcher("c/2", "s1")
    for watcher in (first, second, third, Watcher("c=1", "s2")):
        store.add_watcher(key, watcher)
    everyone = store.watch(key)

    store.remove_watcher(key, "c=1", "s1")
    without_first = store.watch(key)
    store.remove_watcher(key, "c=1")

    assert everyone == Watch((third, first, second))
    assert without_first == Watch((third, second))
    assert store.head_and_watch(key) == (None, Watch((third,)))


def test_removing_who_never_came_changes_nothing(store: SessionStore, key: SessionKey) -> None:
    store.remove_watcher(key, "c1")
    store.remove_watcher(key, "c1", "s1")

    assert store.watch(key) == Watch()


def test_a_subscription_may_change_its_turn(store: SessionStore, key: SessionKey) -> None:
    store.add_watcher(key, Watcher("c", "s", "t1"))
    store.add_watcher(key, Watcher("c", "s", "t2"))

    assert store.watch(key) == Watch((Watcher("c", "s", "t2"),))


def test_a_watcher_may_have_an_end(store: SessionStore, key: SessionKey) -> None:
    ends, turn = Watcher("c=1", "s1", "", 2_000_000_000), Watcher("c=1", "s2", "t1", 7)
    for watcher in (ends, turn, Watcher("c=1", "s3")):
        store.add_watcher(key, watcher)
    both = store.watch(key)

    store.add_watcher(key, Watcher("c=1", "s1"))

    assert both == Watch((ends, turn, Watcher("c=1", "s3")))
    assert store.watch(key).watchers[0] == Watcher("c=1", "s1")


def test_a_watcher_with_a_token_stays_one(store: SessionStore, key: SessionKey) -> None:
    """E-8; each of its other wishes may be there or not."""
    watchers = (
        Watcher("c1", "a", "", None, frontend=True),
        Watcher("c1", "b", "t1", None, frontend=True),
        Watcher("c1", "c", "t1", 9, frontend=True),
        Watcher("c1", "d", "", 9, frontend=True),
    )
    for watcher in watchers:
        store.add_watcher(key, watcher)

    assert store.watch(key).watchers == watchers


def test_the_end_of_a_connections_watchers_moves_and_no_one_elses(
    store: SessionStore, key: SessionKey
) -> None:
    first, second, others = (
        Watcher("c=1", "s1", "", 7),
        Watcher("c=1", "s2", "t1", 7),
        Watcher("c=2", "s1", "t2", 7),
    )
    for watcher in (first, second, others):
        store.add_watcher(key, watcher)

    store.extend_watchers(key, "c=1", 9)
    store.extend_watchers(key, "c=3", 9)
    later = store.watch(key)
    store.extend_watchers(key, "c=1", None)

    for watch, until in ((later, 9), (store.watch(key), None)):
        own = (dataclasses.replace(one, until_epoch_s=until) for one in (first, second))
        assert watch == Watch((*own, others))


def test_who_watches_no_more_does_not_come_back(store: SessionStore, key: SessionKey) -> None:
    store.add_watcher(key, Watcher("c=1", "s1", "", 7))
    store.remove_watcher(key, "c=1", "s1")

    store.extend_watchers(key, "c=1", 9)

    assert store.watch(key) == Watch()


def test_only_who_may_still_be_shown_something_reads() -> None:
    ends = Watcher("c1", "s1", "", 2)
    watch = Watch((ends, Watcher("c1", "s2", "", 2), Watcher("c2", "s1")))
    alone = Watch((ends,))

    assert (watch.lapsed(1_999), watch.lapsed(2_000)) == ((), ("c1",))
    assert watch.live(2_000) == (Watcher("c2", "s1"),)
    assert (alone.is_read(1_999), alone.is_read(2_000)) == (True, False)


def test_a_readers_time_never_moves_backwards(store: SessionStore, key: SessionKey) -> None:
    for until_ms in (2_000, 1_000, 2_000, 3_000, 2_500):
        store.reader_until(key, until_ms)

    watch = store.watch(key)

    assert watch == Watch((), 3_000)
    assert (watch.is_read(2_999), watch.is_read(3_000)) == (True, False)


def frame(dispatch_seq: int, n: int, text: str = "…", merged_from: int = 0) -> Delta:
    return Delta(dispatch_seq, n, "call", 1, "turn", {"text": text}, merged_from)


def test_frames_come_back_in_order_from_a_place_on(store: SessionStore, key: SessionKey) -> None:
    frames = [frame(13, 1), frame(13, 2, "x" * 3_000), frame(13, 10, merged_from=3), frame(20, 1)]
    for one in reversed(frames):
        store.put_delta(key, one, 2_000_000_000)

    found = [
        store.deltas(key, 13, 0, 100),
        store.deltas(key, 13, 2, 100),
        store.deltas(key, 13, 10, 100),
        store.deltas(key, 14, 0, 100),
        store.deltas(key, 13, 0, 2),
        store.deltas(key, 20, 1, 100),
    ]

    assert found == [
        tuple(frames),
        tuple(frames[2:]),
        (frames[3],),
        (frames[3],),
        tuple(frames[:2]),
        (),
    ]
