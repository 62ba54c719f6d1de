"""Makes ready what is to be done in other sessions; the carrier does it, the core notes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from everturn.commands.crossing import Child
from everturn.drive.holding import Holding, MakeCommand
from everturn.drive.machine import patiently
from everturn.drive.tools import Tools
from everturn.errors import DefectError, RejectedError, TransientError
from everturn.ports.sessions import SessionKey
from everturn.session.events.mail import MessageRequested
from everturn.session.events.sessions import Owner
from everturn.session.events.stored import Event
from everturn.session.mail_commands import NoteSent, NoteStart, StartFailed
from everturn.session.mailbox import Outgoing
from everturn.session.propose import SendOut, StartSubAgent
from everturn.session.reports import report_of

CROSSING_LIMIT_S: Final = 25.0
"""What a commit in another session may take, a busy table included."""

Run = Callable[[Callable[[], bool]], MakeCommand | None]

Whose = Callable[[], dict[str, Any]]
"""Reads the session's owner, where that is needed."""


def starting(effect: StartSubAgent, tools: Tools, holding: Holding, owner: Whose) -> Run:
    """Return what begins a child. Source: decision-protocol B-3, R-6."""
    call = holding.session.call(effect.call_id)
    if call is None:
        raise DefectError(f"there is no sub-agent call {effect.call_id}")
    child = _child(holding, call.session_id, call.name, call.id, owner)

    def run(_revoked: Callable[[], bool]) -> MakeCommand | None:
        try:
            failure = tools.crossing.start(child)
        except TransientError as error:
            failure = StartFailed(error.message, "provider_error", retryable=True)
        return lambda stamp, facts: NoteStart(
            stamp, facts, effect.call_id, effect.attempt, failure, tools.max_child_run_s
        )

    return run


def sending(effect: SendOut, tools: Tools, holding: Holding, owner: Whose) -> Run:
    """Return what carries an entry of the outbox; what nobody takes is noted as refused."""
    session = holding.session
    out = next(one for one in session.outbox if one.seq == effect.entry)
    carry = _carrying(out, tools, holding, owner)

    def run(revoked: Callable[[], bool]) -> MakeCommand | None:
        try:
            patiently(carry, revoked, tools.patience_s)
        except RejectedError as error:
            code = error.code
            return lambda stamp, facts: NoteSent(stamp, facts, effect.entry, "refused", code)
        return lambda stamp, facts: NoteSent(stamp, facts, effect.entry, "delivered")

    return run


def _carrying(out: Outgoing, tools: Tools, holding: Holding, owner: Whose) -> Callable[[], None]:
    key, crossing = SessionKey(holding.key.tenant, out.target), tools.crossing
    if out.kind == "cancel":
        child = _child(holding, out.target, out.agent_id, out.call_id, owner)
        return lambda: crossing.cancel(child)
    event = _event(tools, holding, out.seq)
    if isinstance(event, MessageRequested):
        owner_id = holding.session.owner_id
        return lambda: crossing.send(key, owner_id, event.message)
    report = report_of(event)
    if report is None:
        raise DefectError(f"event {out.seq} says nothing to a parent")
    child_id = holding.key.session
    return lambda: crossing.report(key, out.call_id, child_id, report)


def _child(holding: Holding, session_id: str, agent_id: str, call_id: str, owner: Whose) -> Child:
    session = holding.session
    return Child(
        SessionKey(holding.key.tenant, session_id),
        agent_id,
        Owner(**owner()),
        (*session.ancestry, session.session_id),
        call_id,
    )


def _event(tools: Tools, holding: Holding, seq: int) -> Event:
    """Return an event with its bodies; one that is at hand costs no request."""
    store, key = tools.store, holding.key
    at_hand = [one for one in holding.loaded.logged if one.first_seq <= seq <= one.last_seq]
    for commit in at_hand or store.materialise(key, store.log(key, seq, seq)):
        for number, event in commit.numbered():
            if number == seq:
                return event
    raise DefectError(f"there is no event {seq}")
