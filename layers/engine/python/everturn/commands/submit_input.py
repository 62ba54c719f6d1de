"""Accepts a client's input: load, decide, append, wake. It never waits and calls nobody outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from everturn.commands.attempts import Attempts
from everturn.commands.reading import SessionReader, no_such_session, unreadable_hidden
from everturn.commands.second_look import looked_at_again
from everturn.commands.vanishing import vanishing
from everturn.errors import EverturnError
from everturn.llm.catalogue import Catalogue
from everturn.observability import logger
from everturn.ports.callers import Caller, Who
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, NewCommit, Owner, SessionKey, TurnRecord
from everturn.ports.wake import Wake
from everturn.protocol.client_input import (
    ClientMessageInput,
    ClientMessagesInput,
    InputRequest,
)
from everturn.protocol.ids import check_new_turn_id
from everturn.protocol.message import DraftMessage
from everturn.protocol.wire import to_json
from everturn.rejections import NotYetSupported, SchemaViolation, UnknownSession
from everturn.session.commands import KnownMessage
from everturn.session.commands import SubmitInput as Submit
from everturn.session.decide.entry import decide
from everturn.session.events.sessions import Owner as SessionOwner
from everturn.session.facts import Facts, Stamp
from everturn.session.propose import due_epoch_s
from everturn.session.state import Session
from everturn.store.codec import refusal

KeepUploads = Callable[[str, Sequence[Mapping[str, Any]]], None]
"""Keeps the files of a tenant for good that messages refer to."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of an input."""

    session_id: str
    turn_id: str
    duplicate: bool = False
    turn_status: Literal["running", "completed"] | None = None


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
        self._wake = wake
        self._clock = clock
        self._by = by
        self._runnable_s = runnable_s
        self._check_route = check_route
        self._attempts = attempts
        self._keep_uploads = keep_uploads

    def __call__(self, caller: Caller, request: InputRequest) -> Submitted:
        """Record the input, or find that it is recorded already.

        Raises a `RejectedError` where it is refused, `StoreUnavailable` where nothing was written.
        """
        owner = _owner(caller, request)
        client_input = request.input
        if not isinstance(client_input, ClientMessageInput | ClientMessagesInput):
            raise NotYetSupported(f"Inputs of type {client_input.type} are not taken yet.")
        if isinstance(client_input, ClientMessagesInput) and client_input.client is not None:
            raise NotYetSupported("client: client context is not taken yet; leave it out.")
        stamp = self._stamp()
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
            stream=bool(client_input.stream),
        )
        with looked_at_again(self._wake, self._clock, key):
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
        self._check_route(key.tenant, facts)
        known = self._known_messages(wanted, head)
        stamp = self._stamp()
        session = head.session if head else Session()
        command = Submit(
            stamp=stamp,
            facts=replace(facts, taken=taken | {node.id for node in known}),
            session_id=key.session,
            agent_id=wanted.agent_id,
            owner=wanted.owner,
            turn_id=wanted.turn_id,
            input_type=wanted.input_type,
            view=wanted.view,
            known=known,
            stream=wanted.stream,
            is_frontend=wanted.caller.privilege is Who.FRONTEND,
        )
        decided = decide(session, command)
        self._keep_uploads(key.tenant, _new_ones(wanted, known))
        before = head.owner.epoch if head and head.owner else 0
        committed = self._store.append(
            NewCommit(
                key=key,
                before=head,
                after=decided.session,
                events=decided.events,
                commit_id=stamp.uuid(0),
                at_ms=stamp.now_ms,
                by=self._by,
                wake="llm" if decided.session.calls else None,
                owner=Owner(before, ""),
                due_epoch_s=due_epoch_s(
                    decided.session,
                    stamp.now_ms,
                    self._runnable_s,
                    head.due_epoch_s if head else None,
                ),
                created=head.created if head else stamp.uuid(3),
            )
        )
        if decided.session.calls:
            self._send_wake(key, committed)
        return Submitted(key.session, wanted.turn_id)

    def _known_messages(self, wanted: _Submit, head: Head | None) -> tuple[KnownMessage, ...]:
        ids = [message["id"] for message in wanted.view if message.get("id")]
        if head is None or not ids or wanted.input_type == "client.message":
            return ()
        places = self._store.nodes(wanted.key, ids)
        return tuple(KnownMessage(p.id, p.seq, p.branch, p.depth) for p in places.values())

    def _send_wake(self, key: SessionKey, head: Head) -> None:
        """Tell a driver at once; if that fails, the table's stream will. Source: architecture 2."""
        try:
            dedup = f"{head.created}.{head.version}"
            self._wake.now(key, head.created, "llm", head.version, dedup)
        except EverturnError as error:  # the input is recorded: whatever it is, the answer is 202
            code = getattr(error, "code", type(error).__name__)
            logger.warning("wake-up could not be sent; the stream will send it", reason=code)

    def _stamp(self) -> Stamp:
        return Stamp(self._clock.now_ms(), self._clock.entropy())


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
    input_type: Literal["client.message", "client.messages"]
    view: tuple[Mapping[str, Any], ...]
    stream: bool


def _owner(caller: Caller, request: InputRequest) -> SessionOwner:
    """Return the token's owner, or whom a key acts for: `identity` or `default`. Source: O-13.

    Raises `SchemaViolation` for an identity beside a token. Source: O-22.
    """
    if caller.owner is not None:
        if request.identity is not None:
            raise SchemaViolation("/identity: a client token has an owner already; leave it out")
        return caller.owner
    if request.identity is None:
        return SessionOwner(id="default")
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


def _view(client_input: ClientMessageInput | ClientMessagesInput) -> tuple[dict[str, Any], ...]:
    messages: Sequence[DraftMessage] = (
        (client_input.message,)
        if isinstance(client_input, ClientMessageInput)
        else client_input.messages
    )
    return tuple(to_json(message) for message in messages)


def _new_ones(wanted: _Submit, known: tuple[KnownMessage, ...]) -> tuple[Mapping[str, Any], ...]:
    """Return the messages of an input that the session does not have yet."""
    ids = {node.id for node in known}
    return tuple(message for message in wanted.view if message.get("id") not in ids)


def _known_turn(head: Head | None, record: TurnRecord | None, wanted: _Submit) -> Submitted | None:
    """Return the answer for a turn id that the session has had. Source: decision-protocol T-4."""
    if head is None:
        return None
    turn = head.session.turn
    if turn is not None and turn.id == wanted.turn_id:
        return Submitted(wanted.key.session, turn.id, True, "running")
    if record is not None:
        name = record.alias_of or record.turn_id
        return Submitted(wanted.key.session, name, True, "completed")
    return None


def demo_allowed(
    catalogue: Catalogue, tenant_record: Callable[[str], Mapping[str, Any]]
) -> Callable[[str, Facts], None]:
    """Return the check that a tenant may use the provider that its agent names."""

    def check(tenant: str, facts: Facts) -> None:
        off = tenant_record(tenant).get("demo_provider") == "off"
        if facts.route.provider == "demo" and (off or catalogue.route("demo") is None):
            raise NotYetSupported(
                "The demo provider is switched off here; give the agent another model."
            )

    return check
