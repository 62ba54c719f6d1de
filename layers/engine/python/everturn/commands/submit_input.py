"""Accepts a client's input: load, decide, append, wake. It never waits and calls nobody outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from everturn.commands.attempts import Attempts
from everturn.commands.change import ChangeSession
from everturn.commands.destinations import Destinations
from everturn.commands.reading import SessionReader, no_such_session, unreadable_hidden
from everturn.commands.readings import settlement_reading
from everturn.commands.second_look import looked_at_again
from everturn.commands.turns import TurnStatus, known_turn
from everturn.commands.vanishing import vanishing
from everturn.errors import DefectError
from everturn.ports.callers import Caller, Who
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey, TurnRecord
from everturn.ports.wake import Wake
from everturn.protocol.client_input import (
    ClientActionInput,
    ClientMessageInput,
    ClientMessagesInput,
    InputRequest,
)
from everturn.protocol.ids import check_new_turn_id
from everturn.protocol.message import DraftMessage
from everturn.protocol.wire import to_json
from everturn.rejections import SchemaViolation, UnknownSession
from everturn.session.commands import SubmitInput as Submit
from everturn.session.decide.entry import Decided, decide
from everturn.session.events.sessions import DEFAULT_OWNER, TurnContinued
from everturn.session.events.sessions import Owner as SessionOwner
from everturn.session.facts import Begun, Facts, Place
from everturn.session.state import Session
from everturn.store.codec import refusal

Submits = ClientMessageInput | ClientMessagesInput | ClientActionInput
"""Inputs that open a turn, or go on with one by a view."""

KeepUploads = Callable[[str, Sequence[Mapping[str, Any]]], None]
"""Keeps the files of a tenant for good that messages refer to."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of an input."""

    session_id: str
    turn_id: str
    duplicate: bool = False
    turn_status: TurnStatus | None = None
    is_continued: bool = False
    """It went on with the turn that was open. Source: T-3.2."""


class SubmitInput:
    """The use case behind `POST /v1/sessions/input` and the `input` frame."""

    def __init__(  # noqa: PLR0913  # each of its ports
        self,
        store: SessionStore,
        reader: SessionReader,
        wake: Wake,
        clock: Clock,
        *,
        by: str,
        runnable_s: int,
        check_route: Callable[[str, Facts], None],
        attempts: Callable[[], Attempts],
        keep_uploads: KeepUploads = lambda _tenant, _messages: None,
    ) -> None:
        self._store = store
        self._reader = reader
        self._change = ChangeSession(store, reader, wake, clock, by, runnable_s, attempts)
        self._check_route = check_route
        self._attempts = attempts
        self._keep_uploads = keep_uploads

    def __call__(self, caller: Caller, request: InputRequest) -> Submitted:
        """Record the input, or find that it is recorded already.

        Raises a `RejectedError` where it is refused, `StoreUnavailable` where nothing was written.
        """
        owner = _owner(caller, request)
        client_input = request.input
        if not isinstance(client_input, Submits):
            raise DefectError(f"{client_input.type} opens no turn")
        stamp = self._change.stamp()
        if client_input.turn_id:
            check_new_turn_id(client_input.turn_id)
        key = SessionKey(caller.tenant, request.session_id or stamp.uuid(1))
        turn_id = client_input.turn_id or stamp.uuid(2)
        command = _Submit(
            caller=caller,
            key=key,
            is_new=request.session_id is None,
            turn_id=turn_id,
            is_minted=not client_input.turn_id,
            agent_id=client_input.agent_id,
            owner=owner,
            input_type=client_input.type,
            view=_view(client_input),
            stream=bool(getattr(client_input, "stream", None)),
            client=_client(client_input),
            action=_action(client_input),
        )
        with looked_at_again(self._change.wake, self._change.clock, key):
            return self._submit(command)

    def _submit(self, wanted: _Submit) -> Submitted:
        taken: frozenset[str] = frozenset()
        attempts = self._attempts()
        while True:
            with unreadable_hidden(wanted.caller):
                head, record = self._read(wanted)
            _check_owner(head, wanted)
            known = _known_turn(head, record, wanted)
            if known is not None:
                return known
            with attempts.once() as lost:
                return self._open_turn(wanted, head, taken)
            taken |= lost.taken

    def _read(self, wanted: _Submit) -> tuple[Head | None, TurnRecord | None]:
        """Return the head, and what is known of the turn where its id is the client's."""
        if wanted.is_new:
            return None, None
        if wanted.is_minted:
            return self._store.head(wanted.key), None
        return self._store.head_and_turn(wanted.key, wanted.turn_id)

    def _open_turn(self, wanted: _Submit, head: Head | None, taken: frozenset[str]) -> Submitted:
        key = wanted.key
        if head is not None and head.quarantined is not None:
            raise refusal(key, head.quarantined)
        if head is None:
            facts = self._reader.for_new_session(key.tenant, wanted.agent_id)
        else:
            with vanishing(self._store, key):
                facts = self._reader.load(key, head).facts
        charged = head.session.charged if head else ()
        facts = self._reader.with_budgets(facts, key.tenant, wanted.owner.id, charged)
        self._check_route(key.tenant, facts)
        known, branches = self._known_messages(wanted, head)
        stamp = self._change.stamp()
        session = head.session if head else Session()
        facts = replace(facts, taken=taken | {node.id for node in known}, branches=branches)
        command = Submit(
            stamp=stamp,
            facts=facts,
            session_id=key.session,
            agent_id=wanted.agent_id,
            owner=wanted.owner,
            turn_id=wanted.turn_id,
            input_type=wanted.input_type,
            view=wanted.view,
            known=known,
            stream=wanted.stream,
            is_frontend=wanted.caller.privilege is Who.FRONTEND,
            decides=facts.agent.decides,
            client=wanted.client,
            action=wanted.action,
            readings=_readings(wanted.view, session, facts),
        )
        decided = Destinations(self._store, self._reader).with_what_is_needed(
            key, head, facts, lambda enough: decide(session, replace(command, facts=enough))
        )
        self._keep_uploads(key.tenant, _new_ones(wanted, known))
        self._change.append(key, head, decided, stamp)
        continued = session.turn.id if session.turn and _is_continued(decided) else ""
        return Submitted(key.session, continued or wanted.turn_id, is_continued=bool(continued))

    def _known_messages(
        self, wanted: _Submit, head: Head | None
    ) -> tuple[tuple[Place, ...], dict[int, Begun]]:
        """Return where the messages of a view stand, and the path to the last of them."""
        ids = [message["id"] for message in wanted.view if message.get("id")]
        if head is None or not ids or wanted.input_type == "client.message":
            return (), {}
        found = self._store.nodes(wanted.key, ids).values()
        places = tuple(Place(one.id, one.seq, one.branch, one.depth) for one in found)
        last = max(places, key=lambda one: one.depth, default=None)
        here = {0, head.session.branch} | {one.branch for one in head.session.stretches}
        if last is None or (last.branch in here and not head.session.is_cut):
            return places, {}
        return places, self._reader.begun(wanted.key, {last.branch} - {0})


@dataclass(frozen=True, slots=True)
class _Submit:
    caller: Caller
    key: SessionKey
    is_new: bool
    turn_id: str
    is_minted: bool
    """Nobody has had the turn's id before."""

    agent_id: str
    owner: SessionOwner
    input_type: Literal["client.message", "client.messages", "client.action"]
    view: tuple[Mapping[str, Any], ...]
    stream: bool
    client: Mapping[str, Any] | None
    action: Mapping[str, Any] | None


def _owner(caller: Caller, request: InputRequest) -> SessionOwner:
    """Return the token's owner, or whom a key acts for: `identity` or `default`. Source: O-13.

    Raises `SchemaViolation` for an identity beside a token. Source: O-22.
    """
    if caller.owner is not None:
        if request.identity is not None:
            raise SchemaViolation("/identity: a client token has an owner already; leave it out")
        return caller.owner
    if request.identity is None:
        return DEFAULT_OWNER
    return SessionOwner(id=request.identity.id, metadata=request.identity.metadata)


def _check_owner(head: Head | None, wanted: _Submit) -> None:
    """Accept an input to a new session, or to one of the owner that it acts for.

    Raises `UnknownSession`. Source: A-6 as O-13 reads it, O-22.
    """
    if head is None or head.session.owner_id == wanted.owner.id:
        return
    if wanted.caller.owner is not None:
        raise no_such_session()
    raise UnknownSession(
        "There is no such session of this identity.",
        hint="Name the session's owner in `identity`; left out, it is default.",
    )


def _client(client_input: Submits) -> dict[str, Any] | None:
    given = getattr(client_input, "client", None)
    return to_json(given) if given is not None else None


def _action(client_input: Submits) -> dict[str, Any] | None:
    if not isinstance(client_input, ClientActionInput):
        return None
    named: dict[str, Any] = {"name": client_input.name}
    return named if client_input.args is None else {**named, "args": client_input.args}


def _readings(view: Sequence[Mapping[str, Any]], session: Session, facts: Facts) -> dict[str, str]:
    """Return which answers to the client's own tools break their schemas. Source: U-8."""
    found: dict[str, str] = {}
    for message in view:
        call_id = message.get("tool_call_id") or ""
        action = {"type": "tool.result", "result": message.get("content")}
        problem = settlement_reading(action, call_id, session, facts) if call_id else None
        if isinstance(problem, str):
            found[call_id] = problem
    return found


def _is_continued(decided: Decided) -> bool:
    return any(isinstance(event, TurnContinued) for event in decided.events)


def _view(client_input: Submits) -> tuple[dict[str, Any], ...]:
    if isinstance(client_input, ClientActionInput):
        return ()
    messages: Sequence[DraftMessage] = (
        client_input.messages
        if isinstance(client_input, ClientMessagesInput)
        else (client_input.message,)
    )
    return tuple(to_json(message) for message in messages)


def _new_ones(wanted: _Submit, known: tuple[Place, ...]) -> tuple[Mapping[str, Any], ...]:
    """Return the messages of an input that the session does not have yet."""
    ids = {node.id for node in known}
    return tuple(message for message in wanted.view if message.get("id") not in ids)


def _known_turn(head: Head | None, record: TurnRecord | None, wanted: _Submit) -> Submitted | None:
    """Return the answer for a turn id that the session has had. Source: decision-protocol T-4."""
    if head is None:
        return None
    known = known_turn(head.session, wanted.turn_id, record)
    if known is None:
        return None
    name, status = known
    return Submitted(wanted.key.session, name, True, status)
