"""The message tree: where messages stand, which path leads to one, what holds there. Arithmetic.

It must not read anything: places come from the index, or from a log that is at hand.
Source: decision-protocol, sections 7 and 16; storage-and-commits, "Items".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from everturn.session.events.messages import AgentUpdated, MessageNew, StateUpdated
from everturn.session.events.stored import Event
from everturn.session.events.tree import Fork, HeadMoved, Stretch
from everturn.session.facts import Begun, PathMessage, Place
from everturn.session.state import Session, is_on

Stretches = tuple[Stretch, ...]
Numbered = Iterable[tuple[int, Event]]
"""Events with their numbers, in order."""

Version = TypeVar("Version", AgentUpdated, StateUpdated)


class NeedsBranches(Exception):
    """The beginnings of these branches have to be read first."""

    def __init__(self, numbers: frozenset[int]) -> None:
        super().__init__(f"{len(numbers)} branches have to be looked up")
        self.numbers = numbers


class NeedsDestination(Exception):
    """What holds at a message has to be read first."""

    def __init__(self, place: Place | None) -> None:
        super().__init__("a place off the path has to be looked up")
        self.place = place


def begun(session: Session, branch: int, others: Mapping[int, Begun]) -> Begun:
    """Return how a branch begins; of those off the active path `others` tells.

    Raises `NeedsBranches`.
    """
    if branch in others:
        return others[branch]
    if branch == 0:
        return Begun()
    paths = [one.stretches for one in others.values()]
    if not session.is_cut:
        if branch == session.branch:
            return Begun(session.branch_seq, session.stretches)
        paths.append(session.stretches)
    for path in paths:
        for at, one in enumerate(path):
            if one.branch == branch:
                return Begun(one.from_seq, path[:at])
    raise NeedsBranches(frozenset({branch}))


def stretches_to(place: Place | None, of: Callable[[int], Begun]) -> Stretches:
    """Return what the path to a message consists of; nothing for the place before every root."""
    if place is None:
        return ()
    own = of(place.branch)
    last = Stretch(
        branch=place.branch,
        from_seq=own.from_seq,
        upto_seq=place.seq,
        upto_depth=place.depth,
    )
    return (*own.stretches, last)


def reconcile(
    view: Sequence[Mapping[str, Any]],
    known: Mapping[str, Place],
    answered: Mapping[str, Place],
    of: Callable[[int], Begun],
) -> tuple[Place | None, int]:
    """Return the message of the tree that a view follows to the end, and how many of it are known.

    `answered` has where tool calls have their result, by call id: such a message is that one,
    whatever its own id is. Raises `NeedsBranches`. Source: V-5, V-6.
    """
    cursor: Place | None = None
    for at, message in enumerate(view):
        found = [known.get(message.get("id") or "")]
        if message["role"] == "tool":
            found.append(answered.get(message["tool_call_id"]))
        following = [one for one in found if one is not None and _follows(one, cursor, of)]
        if not following:
            return cursor, at
        cursor = following[0]
    return cursor, len(view)


def _follows(place: Place, cursor: Place | None, of: Callable[[int], Begun]) -> bool:
    """Return whether a message is below another one in the tree."""
    if cursor is None:
        return True
    if place.branch == cursor.branch:
        return place.depth > cursor.depth
    return is_on(of(place.branch).stretches, cursor.branch, cursor.depth)


def is_recent(session: Session, branch: int, depth: int) -> bool:
    """Return whether a place is on the active path, as far back as the model's window."""
    return is_on(active(session, session.stretches), branch, depth)


def active(session: Session, before: Stretches) -> Stretches:
    """Return what the active path consists of: `before` its branch, and that to its end."""
    last = Stretch(
        branch=session.branch,
        from_seq=session.branch_seq,
        upto_seq=session.seq,
        upto_depth=session.head.depth if session.head else 0,
    )
    return (*before, last)


def ranges(session: Session, from_seq: int) -> tuple[tuple[int, int], ...]:
    """Return which events hold the messages of the active path from `from_seq` on, in order.

    The last range goes on to the newest event of all.
    """
    found = [
        (max(one.from_seq, from_seq), one.upto_seq)
        for one in session.stretches
        if one.upto_seq >= from_seq
    ]
    return (*found, (max(session.branch_seq, from_seq), session.seq))


# ---- a whole log at hand


def forks(events: Numbered) -> Iterator[tuple[int, Fork]]:
    """Yield where branches begin, with the numbers of the events."""
    for seq, event in events:
        if isinstance(event, MessageNew | HeadMoved) and event.private.fork is not None:
            yield seq, event.private.fork


def branches_of(events: Numbered) -> dict[int, Begun]:
    """Return how each branch of a log begins."""
    return {fork.branch: Begun(seq, fork.stretches) for seq, fork in forks(events)}


def places_of(events: Numbered) -> dict[str, Place]:
    """Return where each message of a log stands, by its id."""
    return {
        event.id: Place(event.id, seq, event.private.branch, event.private.depth)
        for seq, event in events
        if isinstance(event, MessageNew)
    }


def path_to(events: Numbered, node_id: str | None) -> tuple[PathMessage, ...]:
    """Return the messages from the root to one of them; none for no message."""
    return path_within(events, node_id, 1)


def path_within(events: Numbered, node_id: str | None, from_seq: int) -> tuple[PathMessage, ...]:
    """Return the messages that lead to one of them, from event `from_seq` on."""
    nodes = {event.id: (seq, event) for seq, event in events if isinstance(event, MessageNew)}
    path: list[PathMessage] = []
    while node_id in nodes:
        seq, event = nodes[node_id]
        if seq < from_seq:
            break
        is_error = bool(event.private.is_error)
        path.append(PathMessage(seq, event.message, event.private.size_bytes, is_error))
        node_id = event.parent_id
    return tuple(path[::-1])


def version_on(
    events: Numbered, kind: type[Version], stretches: Stretches
) -> tuple[int, Version] | None:
    """Return the version that holds at the end of a path: the one anchored nearest to it.

    Of several at one anchor the newest stands; one without anchor is on every path. Source: Z-2.
    """
    best: tuple[int, int, Version] | None = None
    for seq, event in events:
        if not isinstance(event, kind):
            continue
        anchor = event.anchor
        if anchor is not None and not is_on(stretches, anchor.branch, anchor.depth):
            continue
        depth = anchor.depth if anchor is not None else 0
        if best is None or depth >= best[0]:
            best = (depth, seq, event)
    return best[1:] if best is not None else None
