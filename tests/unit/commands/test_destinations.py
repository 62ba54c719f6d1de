"""Inputs on other branches: what is read for them, what holds there, and what they cost."""

from __future__ import annotations

import math
from typing import Any

import pytest

from everturn.commands.read_session import ReadSession
from everturn.ports.sessions import Head, Logged, NewCommit, SessionKey
from everturn.protocol.client_input import read_input
from everturn.session.events.messages import MessageNew, MessagePrivate, MessageSource
from everturn.session.events.stored import Event
from everturn.session.events.tree import Fork
from everturn.session.evolve import fold
from everturn.session.facts import Begun, Place
from everturn.session.state import Session
from everturn.session.tree import begun, stretches_to
from everturn.store.attributes import size_bytes
from everturn.store.blobs import NoBlobs
from everturn.store.memory import InMemorySessionStore
from everturn.store.plan import plan_of
from unit.drive.doubles import says
from unit.drive.world import KEY, MACHINE, World

BRANCHES = 500
MESSAGES_PER_BRANCH = 20


class CountingStore(InMemorySessionStore):
    """Counts the events that are read, and keeps the newest commit."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0
        self.queries = 0
        self.newest: NewCommit | None = None

    def log(self, key: SessionKey, from_seq: int, to_seq: int | None = None) -> tuple[Logged, ...]:
        found = super().log(key, from_seq, to_seq)
        self.read += sum(len(one.events) for one in found)
        self.queries += 1
        return found

    def append(self, commit: NewCommit) -> Head:
        self.newest = commit
        return super().append(commit)


def view(*messages: dict[str, Any], turn: str) -> Any:
    """Return an input with a view."""
    wanted = {
        "type": "client.messages",
        "agent_id": "helper",
        "turn_id": turn,
        "messages": list(messages),
    }
    return read_input({"session_id": "s1", "input": wanted})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def path(world: World) -> list[dict[str, Any]]:
    shown = ReadSession(world.store, world.reader)(MACHINE, "s1")
    messages: list[dict[str, Any]] = shown["messages"]
    return messages


def test_the_driver_goes_on_where_a_view_leads() -> None:
    """V-5, V-8: through the real use cases, on several branches."""
    world = World()
    for turn, text in (("t1", "[[say:one]]"), ("t2", "[[say:two]]")):
        world.submit(text, turn=turn)
        world.advance()
    old = path(world)

    world.submitter()(MACHINE, view(*old[:2], user("[[say:edited]]"), turn="t3"))
    world.advance()
    edited = [message["content"] for message in path(world)]
    world.submitter()(MACHINE, view(*old, user("[[say:back]]"), turn="t4"))
    world.advance()

    assert edited == ["[[say:one]]", "one", "[[say:edited]]", "edited"]
    assert [message["content"] for message in path(world)] == [
        "[[say:one]]",
        "one",
        "[[say:two]]",
        "two",
        "[[say:back]]",
        "back",
    ]


def test_a_page_of_the_tree_has_all_branches_and_marks_the_path() -> None:
    """Storage-and-commits, "Streams": the tree comes on request, paged."""
    world = World()
    world.submit("[[say:one]]")
    world.advance()
    world.submitter()(MACHINE, view(user("[[say:root]]"), turn="t2"))
    world.advance()

    shown = ReadSession(world.store, world.reader)(MACHINE, "s1", tree=True)

    nodes = shown["message_tree"]["nodes"]
    assert [(n["message"]["content"], "parent_id" in n) for n in nodes] == [
        ("[[say:one]]", False),
        ("one", True),
        ("[[say:root]]", False),
        ("root", True),
    ]
    assert [message["content"] for message in shown["messages"]] == ["[[say:root]]", "root"]


# ---- a large tree


def message(name: str, text: str, place: tuple[int, int], fork: Fork | None = None) -> MessageNew:
    branch, depth = place
    body = {"id": name, "role": "user" if depth % 2 else "assistant", "content": text}
    source = MessageSource(kind="user" if depth % 2 else "model")
    size = len(text) + 60
    private = MessagePrivate(source=source, branch=branch, depth=depth, size_bytes=size, fork=fork)
    return MessageNew(
        id=name, message=body, private=private, turn_id=f"{branch}.{(depth + 1) // 2}"
    )


def grow(world: World, store: CountingStore, *, nested: bool) -> list[list[MessageNew]]:
    """Write 500 branches of 20 messages; each below the one before it, or all below one."""
    world.submit("[[say:hello]]")
    world.advance()
    head = world.head()
    base = head.session.head
    assert base is not None
    place = Place(base.id, base.seq, base.branch, base.depth)
    known: dict[int, Any] = {}
    branches = []
    for number in range(1, BRANCHES + 1):
        session = head.session
        stretches = stretches_to(place, lambda n: begun(session, n, known))  # noqa: B023  # used at once
        fork = Fork(
            branch=number,
            stretches=stretches,
            window_from_seq=stretches[-5:][0].from_seq,
            agent_seq=session.agent_seq,
            agent_sha=session.agent_sha,
        )
        written = [
            message(
                f"m{number}.{n}",
                f"message {n} of branch {number}",
                (number, place.depth + n),
                fork if n == 1 else None,
            )
            for n in range(1, MESSAGES_PER_BRANCH + 1)
        ]
        head = _append(store, head, written, number)
        known[number] = Begun(session.seq + 1, stretches)
        branches.append(written)
        if nested:
            last = head.session.head
            assert last is not None
            place = Place(last.id, last.seq, last.branch, last.depth)
    return branches


def _append(store: CountingStore, before: Head, events: list[MessageNew], number: int) -> Head:
    after = fold(events, before.session)
    commit = NewCommit(
        KEY, before, after, tuple(events), f"c{number}", 0, "test", owner=before.owner
    )
    return store.append(commit)


def units(commit: NewCommit) -> int:
    """Return the write units of a commit: two for each started KB of each item."""
    plan = plan_of("table", commit, NoBlobs())
    puts = [action["Put"]["Item"] for action in plan.actions.values() if "Put" in action]
    updates = [
        a["Update"]["ExpressionAttributeValues"] for a in plan.actions.values() if "Update" in a
    ]
    items = [*puts, *updates, *plan.ids.values()]
    return sum(2 * math.ceil(size_bytes(item) / 1024) for item in items)


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True], ids=["beside", "nested"])
def test_an_input_on_any_branch_of_a_large_tree_costs_little_more_than_in_a_small_one(
    nested: bool,
) -> None:
    """Invariant 8: 10,000 messages and 500 branches; the path is read as far as the window."""
    small, large = (World(store=CountingStore()) for _ in range(2))
    for world in (small, large):
        world.script(*(says("well") for _ in range(9)))  # its window holds 1,400 of the messages
    small.submit("[[say:hello]]")
    small.advance()
    small.submitter()(MACHINE, view(path(small)[0], user("[[say:x]]"), turn="e1"))
    assert isinstance(small.store, CountingStore)
    assert small.store.newest is not None
    usual = units(small.store.newest)
    store = large.store
    assert isinstance(store, CountingStore)
    branches = grow(large, store, nested=nested)

    costs, reads = [], []
    for number in (1, 2, 250, 499, 500):
        node = branches[number - 1][9]
        store.read = store.queries = 0
        known = {"id": node.id, "role": "assistant", "content": "x"}
        large.submitter()(MACHINE, view(known, user(f"edit {number}"), turn=f"e{number}"))
        reads.append(store.read)
        costs.append(units(store.newest) if store.newest else 0)
        large.advance()

    whole: tuple[Event, ...] = tuple(e for c in store.log(KEY, 1) for e in c.events)
    assert isinstance(fold(whole), Session)
    assert fold(whole) == large.head().session
    assert max(costs) <= 2 * usual
    assert max(reads) < 10_000 / 4
