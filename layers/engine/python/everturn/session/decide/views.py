"""Finds out what of a client's view is new, and where it stands; writes nothing. V-4 to V-7.

It must not know whether the session takes the view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from everturn.session.commands import SubmitInput
from everturn.session.decide.call_ids import with_own_call_ids
from everturn.session.facts import Place
from everturn.session.journal import Journal
from everturn.session.state import Session, is_on
from everturn.session.tree import reconcile, stretches_to


@dataclass(frozen=True, slots=True)
class View:
    """A client's view as the tree has it."""

    base: Place | None
    """The message that its news stand under, or that it ends with; `None` before every root."""

    news: tuple[dict[str, Any], ...]
    """What is not recorded of it, each message with its id."""

    stays: bool
    """Whether its base is the end of the active path."""

    last_role: str
    """Of its last message, empty where it has none."""


def read_view(journal: Journal, command: SubmitInput) -> View:
    """Return what the view of an input says. Raises `NeedsBranches`. Source: V-5, V-6."""
    head = head_place(journal.session)
    if command.input_type != "client.messages":
        news = command.view if command.input_type == "client.message" else ()
        return View(head, _own(journal, news), True, news[-1]["role"] if news else "")
    known = {one.id: one for one in command.known}
    base, at = reconcile(command.view, known, _answered(journal), journal.begun)
    own = _own(journal, command.view[at:])
    last_role = command.view[-1]["role"] if command.view else ""
    return View(base, own, is_same(base, head), last_role)


def head_place(session: Session) -> Place | None:
    """Return where the active path ends."""
    head = session.head
    return Place(head.id, head.seq, head.branch, head.depth) if head else None


def is_same(one: Place | None, other: Place | None) -> bool:
    """Return whether two places are one message, or both are before every root."""
    return (one.id if one else None) == (other.id if other else None)


def is_destination_paused(journal: Journal, view: View) -> bool:
    """Return whether the path that a view leads to is paused. Source: I-6, I-7."""
    if view.stays:
        return journal.session.is_paused
    stretches = stretches_to(view.base, journal.begun)
    return any(
        one.depth is None or is_on(stretches, one.branch, one.depth)
        for one in journal.session.interrupts
    )


def _own(journal: Journal, news: tuple[Mapping[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """Return new messages with ids, and with tool call ids, that nothing else has."""
    own: list[dict[str, Any]] = []
    renamed: dict[str, str] = {}
    for message in news:
        renumbered = with_own_call_ids(journal, message, renamed)
        own.append(_with_id(renumbered, {one["id"] for one in own}, journal))
    return tuple(own)


def _answered(journal: Journal) -> dict[str, Place]:
    """Return where the active path answers tool calls, by call id. Source: V-6."""
    session, head = journal.session, journal.session.head
    first = head.depth - len(journal.path) + 1 if head else 1
    found = {}
    for depth, node in enumerate(journal.path, start=first):
        if node.message["role"] == "tool":
            branch = next(
                (one.branch for one in session.stretches if depth <= one.upto_depth),
                session.branch,
            )
            place = Place(node.message["id"], node.seq, branch, depth)
            found[node.message["tool_call_id"]] = place
    return found


def _with_id(message: Mapping[str, Any], used: set[str], journal: Journal) -> dict[str, Any]:
    wanted = message.get("id")
    free = wanted and wanted not in used and not journal.is_known(wanted)
    return {**message, "id": wanted if free else journal.mint()}
