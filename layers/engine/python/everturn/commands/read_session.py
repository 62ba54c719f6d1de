"""Reads a session as its users see it; writes nothing."""

from __future__ import annotations

from typing import Any

from everturn.commands.reading import SessionReader, seen_by, unreadable_hidden
from everturn.commands.vanishing import vanishing
from everturn.errors import DefectError
from everturn.ports.callers import Caller
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey
from everturn.protocol.events import to_rfc3339
from everturn.session.events.interrupts import SessionInterrupted
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.events.waits import WaitOpened
from everturn.session.facts import PathMessage
from everturn.session.state import Call, Session, Wait, is_on, status_of

Shown = list[dict[str, Any]]

NEWEST_NODES = 200
"""Messages that a read answers. Source: storage-and-commits, "Streams"."""


class ReadSession:
    """The use case behind `GET /v1/sessions/{id}`."""

    def __init__(self, store: SessionStore, reader: SessionReader) -> None:
        self._store = store
        self._reader = reader

    def __call__(
        self, caller: Caller, session_id: str, *, tree: bool = False, before: int | None = None
    ) -> dict[str, Any]:
        """Return `{session_id, agent_id, status, turn_id?, interrupts, messages, calls, …}`.

        `messages` are the newest 200 of the path, or those before event `before`; `before_seq` in
        the answer, where there may be more, is what to ask with next. Of a session that is
        quarantined those are left out that cannot be read. Raises `UnknownSession`.
        """
        key = SessionKey(caller.tenant, session_id)
        with unreadable_hidden(caller):
            head = seen_by(caller, self._store.head(key))
        with vanishing(self._store, key):
            nodes, has_older, calls, waits = self._contents(key, head, before)
            branches = self._tree(key, head, before) if tree else None
        session = head.session
        messages = [dict(node.message) for node in nodes]
        answer: dict[str, Any] = {
            "session_id": session_id,
            "agent_id": session.agent_id,
            "status": status_of(session),
            "seq": session.seq,
            "interrupts": self._interrupts(key, head),
            "messages": messages,
            "calls": calls,
            "waits": waits,
        }
        if session.inbox:
            answer["inbox"] = [
                {"item_id": one.id, "turn_id": one.turn_id, "wakeup": one.wakes}
                for one in session.inbox
            ]
        if session.ancestry:
            answer["ancestry"] = list(session.ancestry)
        if head.quarantined is not None:
            at = to_rfc3339(head.quarantined.at_ms)
            answer["quarantined"] = {"reason": head.quarantined.reason, "at": at}
        if session.turn is not None:
            answer["turn_id"] = session.turn.id
        elif session.last_outcome:
            answer["last_outcome"] = session.last_outcome
        if nodes and has_older:
            answer["before_seq"] = nodes[0].seq
        return answer if branches is None else {**answer, **branches}

    def _tree(self, key: SessionKey, head: Head, before: int | None) -> dict[str, Any]:
        """Return a page of the tree, of all branches, and how the messages of the path go on."""
        upto = head.session.seq if before is None else before - 1
        try:
            found, has_older = self._reader.nodes(key, upto, NEWEST_NODES)
        except DefectError:
            if head.quarantined is None:
                raise
            found, has_older = (), False
        nodes = [
            {
                "message": dict(event.message),
                **({"parent_id": event.parent_id} if event.parent_id else {}),
            }
            for _, event in found
        ]
        path = self._reader.active(key, head.session)
        where = {"head_id": head.session.head.id} if head.session.head else {}
        page: dict[str, Any] = {"message_tree": {"nodes": nodes, **where}}
        on_path = [
            dict(event.message)
            for _, event in found
            if is_on(path, event.private.branch, event.private.depth)
        ]
        older = {"before_seq": found[0][0]} if found and has_older else {}
        return {**page, "messages": on_path, **older}

    def _interrupts(self, key: SessionKey, head: Head) -> list[dict[str, Any]]:
        """Return what pauses the session. Source: decision-protocol I-1."""
        return [
            shown_interrupt(event)
            for one in head.session.interrupts
            for logged in self._store.materialise(key, self._store.log(key, one.seq, one.seq))
            for seq, event in logged.numbered()
            if seq == one.seq and isinstance(event, SessionInterrupted)
        ]

    def _waits(self, key: SessionKey, head: Head) -> list[dict[str, Any]]:
        """Return what its open calls wait for."""
        session = head.session
        if not session.waits:
            return []
        seqs = [one.seq for one in session.waits]
        logged = self._store.materialise(key, self._store.log(key, min(seqs), max(seqs)))
        opened = {
            event.id: event
            for commit in logged
            for _, event in commit.numbered()
            if isinstance(event, WaitOpened)
        }
        return [shown_wait(session, one, opened[one.id]) for one in session.waits]

    def _contents(
        self, key: SessionKey, head: Head, before: int | None
    ) -> tuple[tuple[PathMessage, ...], bool, Shown, Shown]:
        try:
            nodes, has_older = self._nodes(key, head, before)
            return nodes, has_older, self._calls(key, head), self._waits(key, head)
        except DefectError:
            if head.quarantined is None:
                raise
            return (), False, [], []

    def _nodes(
        self, key: SessionKey, head: Head, before: int | None
    ) -> tuple[tuple[PathMessage, ...], bool]:
        upto = head.session.seq if before is None else before - 1
        return self._reader.newest(key, head.session, upto, NEWEST_NODES)

    def _calls(self, key: SessionKey, head: Head) -> list[dict[str, Any]]:
        arguments = self._reader.tool_calls(key, head)
        return [as_call(call, arguments.get(call.id)) for call in head.session.calls]


def shown_interrupt(event: SessionInterrupted) -> dict[str, Any]:
    """Return an open interrupt as its readers see it. Source: decision-protocol I-1."""
    shown: dict[str, Any] = {
        "interrupt_id": event.interrupt_id,
        "reason": event.reason,
        "origin": event.origin,
    }
    for name in ("payload", "turn_id", "subject_call"):
        if getattr(event, name) is not None:
            shown[name] = getattr(event, name)
    return shown


def shown_wait(session: Session, wait: Wait, opened: WaitOpened) -> dict[str, Any]:
    """Return an open wait as its readers see it; the continuation is the worker's alone."""
    shown: dict[str, Any] = {
        "id": wait.id,
        "kind": wait.kind,
        "call_id": wait.call_id,
        "name": opened.name,
    }
    due_ms = session.wait_due_ms(wait)
    if wait.kind == "task":
        poll = {} if due_ms is None else {"next_poll_at": to_rfc3339(due_ms)}
        return {**shown, "task_id": opened.task_id, **poll}
    shown |= {
        "question": opened.question,
        "choices": list(opened.choices or ()),
        "allows_free_text": opened.allows_free_text,
    }
    return shown if due_ms is None else {**shown, "deadline": to_rfc3339(due_ms)}


def as_call(call: Call, asked: ToolCallRequested | None = None) -> dict[str, Any]:
    """Return an open call as the protocol's `Call`. Source: decision-protocol Q-6."""
    shown: dict[str, Any] = {
        "id": call.id,
        "kind": call.kind,
        "status": str(call.status),
        "attempt": max(call.attempt, 1),
    }
    if call.kind == "sub_agent":
        return {**shown, "agent_id": call.name, "session_id": call.session_id}
    shown["handler"] = call.handler
    if call.deadline_ms is not None:
        shown["deadline"] = to_rfc3339(call.deadline_ms)
    if call.kind == "llm_call":
        return {**shown, "stream": call.stream}
    if asked is not None and asked.arguments is not None:
        shown["arguments"] = asked.arguments
    return {**shown, "name": call.name}
