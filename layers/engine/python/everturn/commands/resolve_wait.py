"""Answers what an open call asks its user, or declines to. It never waits for the tool."""

from __future__ import annotations

from typing import Any

from everturn.commands.change import ChangeSession
from everturn.errors import DefectError
from everturn.ports.callers import Caller
from everturn.ports.sessions import SessionKey
from everturn.protocol.held import check_text
from everturn.protocol.limits import MAX_ANSWER_BYTES, MAX_REASON_BYTES
from everturn.protocol.outside import RESOLUTION, Resolution
from everturn.protocol.wire import parse
from everturn.rejections import InvalidAnswer, SchemaViolation, UnknownWait
from everturn.session.commands import Command
from everturn.session.commands import ResolveWait as Resolve
from everturn.session.events.waits import WaitClosed, WaitOpened
from everturn.session.facts import Facts, Stamp
from everturn.session.state import Session

_SHOWN_CHOICES = 10
"""Choices that a hint repeats; the wait has them all."""


class ResolveWait:
    """The use case behind `POST /v1/sessions/{id}/approvals/{id}`. Source: vocabulary."""

    def __init__(self, change: ChangeSession) -> None:
        self._change = change

    def __call__(self, caller: Caller, session_id: str, wait_id: str, body: Any) -> bool:
        """Take an answer or a decline; returns whether the question was over already.

        Raises `SchemaViolation`, `UnknownSession`, `UnknownWait`, `InvalidAnswer`.
        """
        given = parse(RESOLUTION, body)
        _check(given)
        key = SessionKey(caller.tenant, session_id)

        def resolve(stamp: Stamp, facts: Facts, session: Session) -> Command:
            opened = self._opened(key, session, wait_id)
            if session.wait(wait_id) is not None:
                _check_allowed(given, opened)
            if given.answer is not None:
                return Resolve(stamp, facts, wait_id, "answered", given.answer)
            return Resolve(stamp, facts, wait_id, "declined", (given.message or "").strip())

        events = self._change(caller, session_id, resolve).events
        outcomes = {one.outcome for one in events if isinstance(one, WaitClosed)}
        return not outcomes & {"answered", "declined"}

    def _opened(self, key: SessionKey, session: Session, wait_id: str) -> WaitOpened:
        """Return what the wait asks; one that is over is looked for in the whole log."""
        wait = session.wait(wait_id)
        first, last = (wait.seq, wait.seq) if wait else (1, session.seq)
        store = self._change.store
        logged = store.log(key, first, last)
        for commit in store.materialise(key, logged) if wait else logged:
            for _, event in commit.numbered():
                if isinstance(event, WaitOpened) and event.id == wait_id:
                    return event
        if wait is not None:
            raise DefectError(f"the wait {wait_id} is not at event {wait.seq}")
        raise UnknownWait("The session never had such a wait.")


def _check(given: Resolution) -> None:
    if given.answer is not None:
        check_text(given.answer, MAX_ANSWER_BYTES, "/answer")
    if len((given.message or "").encode()) > MAX_REASON_BYTES:
        raise SchemaViolation(f"/message: more than {MAX_REASON_BYTES} bytes")


def _check_allowed(given: Resolution, opened: WaitOpened) -> None:
    """Source: the agent-session reference, `AnswerQuestionRequest`."""
    if opened.kind != "question":
        raise InvalidAnswer(
            "The call waits for a task, which only its worker ends.",
            hint="Read the session: waits of the kind question can be answered.",
        )
    is_free = opened.allows_free_text or given.answer is None
    if not is_free and given.answer not in (opened.choices or ()):
        raise InvalidAnswer(
            "The question has closed choices, and the answer is none of them.",
            hint=f"Answer one of: {', '.join((opened.choices or ())[:_SHOWN_CHOICES])}",
        )
