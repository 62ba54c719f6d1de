"""Collects the events of one command while the state evolves under them.

It has no rules of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

from everturn.protocol.json_text import compact
from everturn.session.events.messages import MessageNew, MessagePrivate, MessageSource
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.evolve import evolve
from everturn.session.facts import Facts, PathMessage, Stamp
from everturn.session.refs import Ref
from everturn.session.state import Session


class Journal:
    """Events so far, the session and the path they lead to. Lives inside one `decide`."""

    def __init__(self, session: Session, stamp: Stamp, facts: Facts) -> None:
        self.session = session
        self.now_ms = stamp.now_ms
        self.facts = facts
        self.path = list(facts.path)
        self.events: list[Event] = []
        self.stamp = stamp
        self._minted = 0

    def copy(self) -> Journal:
        """Return a journal that goes on from here, while this one stays as it is."""
        other = copy(self)
        other.path, other.events = list(self.path), list(self.events)
        return other

    def become(self, other: Journal) -> None:
        """Take over what a copy came to."""
        self.__dict__.update(other.__dict__)

    def add(self, event: Event) -> int:
        """Append `event`; return its number in the log."""
        self.events.append(event)
        self.session = evolve(self.session, event)
        return self.session.seq

    @property
    def anchor(self) -> Anchor | None:
        """Where the path ends now; `None` where it is empty. Source: decision-protocol V-1."""
        head = self.session.head
        return Anchor(branch=head.branch, depth=head.depth) if head else None

    def event(self, seq: int) -> Event | None:
        """Return an event of the log by its number, as far as what was read tells, or of ours."""
        own = seq - 1 - (self.session.seq - len(self.events))
        return self.events[own] if own >= 0 else self.facts.events.get(seq)

    def all_events(self) -> Iterator[tuple[int, Event]]:
        """Yield every event that was read, and ours after them, with their numbers."""
        yield from self.facts.events.items()
        yield from enumerate(self.events, start=self.session.seq - len(self.events) + 1)

    def mint(self) -> str:
        """Return a fresh id."""
        self._minted += 1
        return self.stamp.uuid(self._minted)

    def is_known(self, message_id: str) -> bool:
        """Return whether that message id is taken, as far as what was read tells."""
        return message_id in self.facts.taken or any(
            node.message.get("id") == message_id for node in self.path
        )

    def has_call(self, call_id: str) -> bool:
        """Return whether that tool call id is taken, as far as what was read tells."""
        return (
            call_id in self.facts.taken
            or self.was_asked(call_id)
            or any(
                made["id"] == call_id
                for node in self.path
                for made in node.message.get("tool_calls") or ()
            )
        )

    def was_asked(self, call_id: str) -> bool:
        """Return whether a call of that id was ever opened; it needs the whole log. X-6."""
        return self.session.call(call_id) is not None or any(
            isinstance(event, ToolCallRequested | ModelCallRequested) and event.id == call_id
            for _, event in self.all_events()
        )

    @property
    def turn_id(self) -> str | None:
        """The open turn's id."""
        return self.session.turn.id if self.session.turn else None

    def write(
        self,
        message: dict[str, Any],
        source: MessageSource,
        refs: dict[str, Ref],
        *,
        is_error: bool = False,
        blocks: Any = None,
    ) -> None:
        """Append `message` (whole, with its id) at the head.

        What `refs` names (`message`, `message.content`) is not stored again.
        """
        head = self.session.head
        size_bytes = len(compact(message).encode())
        seq = self.add(
            MessageNew(
                turn_id=self.turn_id,
                id=message["id"],
                message=_stored(message, refs),
                parent_id=head.id if head else None,
                private=MessagePrivate(
                    source=source,
                    branch=head.branch if head else 0,
                    depth=head.depth + 1 if head else 1,
                    parent_seq=head.seq if head else None,
                    size_bytes=size_bytes,
                    is_error=is_error or None,
                    blocks=blocks,
                ),
                refs=refs,
            )
        )
        self.path.append(PathMessage(seq, message, size_bytes, is_error))


def _stored(message: dict[str, Any], refs: dict[str, Ref]) -> dict[str, Any] | None:
    if "message" in refs:
        return None
    if "message.content" in refs:
        return {name: value for name, value in message.items() if name != "content"}
    return message
