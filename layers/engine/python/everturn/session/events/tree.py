"""Where in the message tree the head goes, when it goes anywhere but one message further.

A branch is a part of the tree that stands in one piece of the log: it begins when the head goes
elsewhere, and ends when it goes elsewhere again. Branches are numbered; the first one is 0.
Source: storage-and-commits, "Items".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer

from everturn.session.events.shape import Part, Stored


class Stretch(NamedTuple):
    """The part of a branch that is on a path: its messages up to one of them. Four numbers."""

    branch: int
    from_seq: int
    """The event with which the branch begins."""

    upto_seq: int
    """The last of its messages on the path."""

    upto_depth: int


def packed(stretches: tuple[Stretch, ...]) -> list[int]:
    """Return a path as it is stored: four numbers a stretch, each counted from the one before it.

    Paths of hundreds of stretches are small that way, once they are compressed.
    """
    numbers: list[int] = []
    before = Stretch(0, 0, 0, 0)
    for one in stretches:
        numbers += [
            one.branch - before.branch,
            one.from_seq - before.upto_seq,
            one.upto_seq - one.from_seq,
            one.upto_depth - before.upto_depth,
        ]
        before = one
    return numbers


def unpacked(value: Any) -> Any:
    """Return what `packed` was given; anything else as it is."""
    if not isinstance(value, list) or not all(isinstance(one, int) for one in value):
        return value
    stretches: list[Stretch] = []
    before = Stretch(0, 0, 0, 0)
    for branch, start, length, depth in zip(*[iter(value)] * 4, strict=True):
        from_seq = before.upto_seq + start
        before = Stretch(
            before.branch + branch, from_seq, from_seq + length, before.upto_depth + depth
        )
        stretches.append(before)
    return tuple(stretches)


Path = Annotated[
    tuple[Stretch, ...], BeforeValidator(unpacked), PlainSerializer(packed, return_type=list[int])
]


class WindowMark(Part):
    """A turn's first message, and how many bytes of messages the window has before it."""

    seq: int
    before_bytes: int


class Fork(Part):
    """A path that begins elsewhere than at the head: what holds there, as a fold needs it."""

    branch: int
    """The branch that begins with this event."""

    stretches: Path = ()
    """What the path consists of until there, root first; nothing for a new root."""

    window_from_seq: int = 1
    window_bytes: int = 0
    """All messages from there on, together."""

    window_marks: tuple[WindowMark, ...] = ()
    """Places where the model's window may begin later."""

    agent_seq: int = 0
    agent_sha: str = ""
    state_seq: int = 0


class MovedPrivate(Part):
    """Where the message is that the head moves to."""

    seq: int
    branch: int = 0
    depth: int
    fork: Fork


class HeadMoved(Stored):
    """The head goes to a message that is there already. Source: decision-protocol V-5."""

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["head.moved"] = "head.moved"
    from_: str | None = Field(default=None, alias="from")
    to: str
    private: MovedPrivate
