"""What every `SessionStore` knows of a message tree: how branches begin, which version holds."""

from __future__ import annotations

from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey
from everturn.session.events.messages import (
    AgentPrivate,
    AgentUpdated,
    MessageNew,
    MessagePrivate,
    MessageSource,
    StateUpdated,
)
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.events.tree import Fork, HeadMoved, MovedPrivate, Stretch
from everturn.store.tree import WALKED
from sample_events import commit, created

ROOT = Stretch(branch=0, from_seq=1, upto_seq=3, upto_depth=1)
"""Branch 0 up to its first message."""


def node(name: str, depth: int, branch: int = 0, fork: Fork | None = None) -> MessageNew:
    """Return a message."""
    source = MessageSource(kind="user")
    private = MessagePrivate(source=source, branch=branch, depth=depth, size_bytes=9, fork=fork)
    return MessageNew(id=name, message={"id": name, "role": "user"}, private=private)


def state(n: int, branch: int | None, depth: int = 0) -> StateUpdated:
    """Return a version of the state, without an anchor where there is no branch."""
    anchor = None if branch is None else Anchor(branch=branch, depth=depth)
    return StateUpdated(state={"n": n}, anchor=anchor)


def written(store: SessionStore, key: SessionKey, *commits: list[Event]) -> Head:
    """Write commits one after another."""
    head: Head | None = None
    for events in commits:
        head = store.append(commit(key, head, events))
    assert head is not None
    return head


def forked(store: SessionStore, key: SessionKey) -> Head:
    """Write a session of three branches: an edit under the first message, and a way back to it."""
    first: list[Event] = [created(key.session), AgentUpdated(private=AgentPrivate(sha256="a"))]
    return written(
        store,
        key,
        [*first, node("u1", 1), state(1, 0, 1), node("u2", 2), state(2, 0, 2)],
        [node("edit", 2, 1, Fork(branch=1, stretches=(ROOT,))), state(3, 1, 2)],
        [
            HeadMoved(
                from_="edit",
                to="u1",
                private=MovedPrivate(
                    seq=3, branch=0, depth=1, fork=Fork(branch=2, stretches=(ROOT,))
                ),
            )
        ],
    )


def test_branches_are_known_by_how_they_begin(store: SessionStore, key: SessionKey) -> None:
    forked(store, key)

    found = store.branches(key, {0, 1, 2, 3})

    assert found == {1: 7, 2: 9}
    assert store.branches(SessionKey("other", key.session), {1, 2}) == {}


def test_a_new_root_is_behind_nothing(store: SessionStore, key: SessionKey) -> None:
    written(store, key, [created(key.session), node("u1", 1)], [node("root", 1, 1, Fork(branch=1))])

    assert store.branches(key, [1]) == {1: 3}


def test_the_head_remembers_its_path(store: SessionStore, key: SessionKey) -> None:
    head = forked(store, key)

    session = head.session
    assert (session.branch, session.branch_seq, session.stretches) == (2, 9, (ROOT,))
    assert store.head(key) == head


def test_the_version_nearest_to_the_end_of_a_path_holds(
    store: SessionStore, key: SessionKey
) -> None:
    """Z-2, Z-4."""
    forked(store, key)
    whole = Stretch(branch=0, from_seq=1, upto_seq=5, upto_depth=2)
    edit = Stretch(branch=1, from_seq=7, upto_seq=7, upto_depth=2)

    assert store.version(key, "state", (whole,)) == 6
    assert store.version(key, "state", (ROOT,)) == 4
    assert store.version(key, "state", (ROOT, edit)) == 8
    assert store.version(key, "state", ()) is None
    assert store.version(key, "agent", (ROOT,)) is None


def test_a_version_without_an_anchor_is_on_every_path(store: SessionStore, key: SessionKey) -> None:
    """Z-2."""
    written(
        store,
        key,
        [created(key.session)],
        [state(1, None)],
        [node("root", 1, 1, Fork(branch=1))],
    )
    root = Stretch(branch=1, from_seq=3, upto_seq=3, upto_depth=1)

    assert store.version(key, "state", ()) == 2
    assert store.version(key, "state", (root,)) == 2


def test_a_path_of_many_stretches_is_looked_up_all_the_same(
    store: SessionStore, key: SessionKey
) -> None:
    """One below, at and one above the number that is walked."""
    commits: list[list[Event]] = [[created(key.session), node("u0", 1), state(0, 0, 1)]]
    path = [Stretch(branch=0, from_seq=1, upto_seq=2, upto_depth=1)]
    paths = {}
    for branch in range(1, WALKED + 2):
        fork = Fork(branch=branch, stretches=tuple(path))
        commits.append([node(f"u{branch}", branch + 1, branch, fork)])
        seq = 3 + branch
        path.append(Stretch(branch=branch, from_seq=seq, upto_seq=seq, upto_depth=branch + 1))
        paths[len(path)] = tuple(path)
    written(store, key, *commits)

    for length in (WALKED - 1, WALKED, WALKED + 1):
        assert store.version(key, "state", paths[length]) == 3
