"""Has messages wait for turns of their own, changes and removes them; it opens no turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from everturn.commands.change import ChangeSession
from everturn.commands.reading import seen_by, unreadable_hidden
from everturn.commands.submit_input import KeepUploads
from everturn.commands.turns import TurnStatus, known_turn
from everturn.ports.callers import Caller
from everturn.ports.sessions import SessionKey
from everturn.protocol.ids import check_new_turn_id
from everturn.protocol.inbox import INBOX_EDIT, INBOX_REQUEST, InboxRequest
from everturn.protocol.message import check_message
from everturn.protocol.wire import parse, to_json
from everturn.rejections import NotYetSupported, RoleNotAllowed
from everturn.session.commands import Command
from everturn.session.events.mail import InboxEnqueued
from everturn.session.facts import Facts, Stamp
from everturn.session.inbox_commands import DropItem, EditItem, EnqueueItem
from everturn.session.state import Session


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of a message."""

    turn_id: str
    item_id: str | None
    """None where its turn has begun, or is over."""

    duplicate: TurnStatus | None = None
    """Where the turn's id was known: how that turn is."""


class _IsKnown(Exception):
    """The message came before."""

    def __init__(self, enqueued: Enqueued) -> None:
        super().__init__(enqueued.turn_id)
        self.enqueued = enqueued


class Inbox:
    """The use cases behind `/v1/sessions/{id}/inbox`. Source: session-log IB-1 to IB-5, IB-9."""

    def __init__(
        self,
        change: ChangeSession,
        keep_uploads: KeepUploads = lambda _tenant, _messages: None,
    ) -> None:
        self._change = change
        self._keep_uploads = keep_uploads

    def enqueue(self, caller: Caller, session_id: str, body: Any) -> Enqueued:
        """Have a message wait for its turn.

        Raises `SchemaViolation`, `InvalidMessage`, `RoleNotAllowed`, `InboxFull`, `UnknownSession`,
        `SessionCancelled`, `NotYetSupported`.
        """
        given = parse(INBOX_REQUEST, body)
        if given.target == "next-step":
            raise NotYetSupported("/target: a message within the running turn is not taken yet.")
        check_message(given.message)
        if given.message.role != "user":
            raise RoleNotAllowed("/message/role: a message that opens a turn is a user's.")
        if given.turn_id is not None:
            check_new_turn_id(given.turn_id)
        try:
            return self._enqueue(caller, session_id, given)
        except _IsKnown as found:
            return found.enqueued

    def _enqueue(self, caller: Caller, session_id: str, given: InboxRequest) -> Enqueued:
        message: Mapping[str, Any] = to_json(given.message)
        turn_id, seen_seq = given.turn_id or self._change.stamp().uuid(1), 0
        if given.turn_id is not None:
            seen_seq = self._check_unknown(caller, session_id, turn_id)

        def make(stamp: Stamp, facts: Facts, session: Session) -> Command:
            if given.turn_id is not None and session.seq != seen_seq:
                self._check_unknown(caller, session_id, turn_id)  # it may have come meanwhile
            self._keep_uploads(caller.tenant, [message])
            return EnqueueItem(stamp, facts, message, turn_id, given.wakeup)

        decided = self._change(caller, session_id, make)
        items = [one.item_id for one in decided.events if isinstance(one, InboxEnqueued)]
        return Enqueued(turn_id, items[0]) if items else Enqueued(turn_id, None, "queued")

    def edit(self, caller: Caller, session_id: str, item_id: str, body: Any) -> None:
        """Replace the content of a message that waits. Raises `UnknownItem`. Source: IB-5."""
        content = to_json(parse(INBOX_EDIT, body))["content"]

        def make(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            self._keep_uploads(caller.tenant, [{"content": content}])
            return EditItem(stamp, facts, item_id, content)

        self._change(caller, session_id, make)

    def drop(self, caller: Caller, session_id: str, item_id: str) -> None:
        """Remove a message that waits. Raises `UnknownItem`. Source: IB-5."""

        def make(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            return DropItem(stamp, facts, item_id)

        self._change(caller, session_id, make)

    def _check_unknown(self, caller: Caller, session_id: str, turn_id: str) -> int:
        """Accept the id of a turn that never was; return the last event that was seen.

        Raises `_IsKnown`. Source: decision-protocol T-4.
        """
        key = SessionKey(caller.tenant, session_id)
        with unreadable_hidden(caller):
            found, record = self._change.store.head_and_turn(key, turn_id)
            session = seen_by(caller, found).session
        known = known_turn(session, turn_id, record)
        if known is None:
            return session.seq
        name, status = known
        items = [one.id for one in session.inbox if one.turn_id == name]
        raise _IsKnown(Enqueued(name, items[0] if items else None, status))
