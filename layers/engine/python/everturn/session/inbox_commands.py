"""Commands about sessions that begin without a turn and turns that wait for theirs, as values.

Source: agent-runs 8.6; session-log, section 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from everturn.session.events.sessions import Owner
from everturn.session.facts import Facts, Stamp


@dataclass(frozen=True, slots=True)
class RunOrder:
    """Settings that one turn is to have, whatever the session has. Source: agent-runs 2.2, 8.6."""

    run: Mapping[str, Any]
    """`{spec, metadata?, name?}`, as the caller wrote them, without the messages."""

    config: Mapping[str, Any] | None = None
    """The `AgentConfig` that the turn goes by, as JSON; none where a worker decides."""

    client: Mapping[str, Any] | None = None
    """Where a worker decides: the `ClientContext` that its question carries."""


@dataclass(frozen=True, slots=True)
class BeginSession:
    """Make a session that has no turn yet, with settings that its runs fall back to."""

    stamp: Stamp
    facts: Facts
    session_id: str
    agent_id: str
    owner: Owner
    description: Mapping[str, Any]
    """`{spec, metadata?, name?}`, as the caller wrote them."""


@dataclass(frozen=True, slots=True)
class EnqueueItem:
    """Have a message wait for a turn of its own. Source: session-log IB-1, IB-9."""

    stamp: Stamp
    facts: Facts
    message: Mapping[str, Any]
    """A `DraftMessage` as JSON; it gets an id where it has none, or one that is taken."""

    turn_id: str
    """Of the turn that it will open."""

    wakes: bool = True


@dataclass(frozen=True, slots=True)
class EditItem:
    """Replace the content of a message that waits. Source: session-log IB-5."""

    stamp: Stamp
    facts: Facts
    item_id: str
    content: Any


@dataclass(frozen=True, slots=True)
class DropItem:
    """Take a message that waits out of the inbox. Source: session-log IB-5."""

    stamp: Stamp
    facts: Facts
    item_id: str


InboxCommand = BeginSession | EnqueueItem | EditItem | DropItem
