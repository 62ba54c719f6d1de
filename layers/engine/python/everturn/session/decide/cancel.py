"""Stops a turn, or ends a session: what is under way is given up in one commit, nobody is awaited.

It must not stop anything itself: whoever runs something sees that it was given up.
Source: decision-protocol S-8, T-12, T-16, O-19, O-20.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from everturn.rejections import SessionCancelled
from everturn.session.commands import CancelSession, CancelTurn, NoteAborted
from everturn.session.decide.branches import end_parked
from everturn.session.decide.children import result_place
from everturn.session.decide.client_answers import CANCELLED_BEFORE_RESULT
from everturn.session.decide.inbox import discard, discard_all
from everturn.session.decide.questions import EXECUTES, turn_of
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN, never_started
from everturn.session.decide.turn_end import (
    Closing,
    answer_open_tool_calls,
    complete_turn,
    void_call,
)
from everturn.session.events.children import SubAgentErrored, SubAgentTurnCompleted
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.model_calls import ModelCallAborted
from everturn.session.events.sessions import SessionCancelled as Cancelled
from everturn.session.events.sessions import TurnCancelRequested
from everturn.session.events.tool_calls import ToolCallCompleted, ToolCallErrored
from everturn.session.journal import Journal
from everturn.session.refs import same_as
from everturn.session.retries import may_repeat
from everturn.session.state import Call, CallStatus, Decision, Session

NEVER_STARTED: Final = '{"status":"cancelled","reason":"turn_cancelled_by_user"}'
"""What the model reads of a call that was cancelled before it began. Source: vocabulary, "Ids"."""


def cancel_turn(journal: Journal, command: CancelTurn) -> None:
    """End the turn of that id as cancelled; one that is not open changes nothing. Source: T-12.

    One that waits in the inbox never opens.
    """
    turn = journal.session.turn
    for parked in journal.session.parked:
        if parked.id == command.turn_id:
            journal.add(TurnCancelRequested(turn_id=parked.id, cause=command.cause))
            end_parked(journal, parked, "cancelled")
    for waiting in journal.session.inbox:
        if waiting.turn_id == command.turn_id:
            discard(journal, waiting, "turn_cancelled")
    if turn is None or turn.id != command.turn_id:
        return
    journal.add(TurnCancelRequested(turn_id=turn.id, cause=command.cause))
    calls = [call for call in journal.session.calls if call.turn_id in {"", turn.id}]
    if not command.keep_inbox:
        discard_all(journal, "turn_cancelled")
    _give_up(journal, calls, _decisions_of(journal, turn.id, calls), "turn_cancelled")
    complete_turn(journal, "cancelled")


def _decisions_of(journal: Journal, turn_id: str, calls: Iterable[Call]) -> list[Decision]:
    """Return the questions of a turn, and those about its calls."""
    ids = {call.id for call in calls}
    return [
        one
        for one in journal.session.decisions
        if turn_of(journal, one) == turn_id or (one.call_id in ids and one.trigger in EXECUTES)
    ]


def cancel_session(journal: Journal, command: CancelSession) -> None:
    """End the session for good; once more changes nothing. Source: S-8."""
    session = journal.session
    if session.is_cancelled:
        return
    discard_all(journal, "session_cancelled")
    _give_up(journal, session.calls, session.decisions, "session_cancelled")
    complete_turn(journal, "cancelled")
    for parked in journal.session.parked:
        end_parked(journal, parked, "abandoned")
    journal.add(Cancelled(cause=command.cause))


def check_not_cancelled(session: Session) -> None:
    """Refuse what comes after a session's end. Raises `SessionCancelled`. Source: S-8."""
    if session.is_cancelled:
        raise SessionCancelled("The session was cancelled for good; start a new one.")


def note_aborted(journal: Journal, command: NoteAborted) -> None:
    """Keep the last words of a model call, once. Source: storage-and-commits, "Cancel"."""
    for one in journal.session.aborting:
        if one.id == command.call_id:
            journal.add(
                ModelCallAborted(
                    turn_id=one.turn_id or None,
                    id=one.id,
                    attempt=one.attempt,
                    partial_text=command.partial_text,
                    usage=command.usage,
                )
            )


def _give_up(
    journal: Journal, calls: Iterable[Call], decisions: Iterable[Decision], reason: str
) -> None:
    """Drop the questions, void the calls, and give every tool call of the path its result."""
    has_run = {call.id: _may_have_run(journal.session, call) for call in calls}
    texts = {call.id: _closing_text(call, has_run=has_run[call.id]) for call in calls}
    for decision in decisions:
        turn_id = turn_of(journal, decision)
        journal.add(DecisionDropped(turn_id=turn_id, id=decision.id, reason=reason))
    for call in calls:
        void_call(journal, call, reason, has_run=has_run[call.id])
    ended = {
        event.id: (seq, event)
        for seq, event in journal.all_events()
        if isinstance(event, ToolCallCompleted | SubAgentTurnCompleted)
        or (isinstance(event, ToolCallErrored | SubAgentErrored) and not event.retryable)
    }

    def closing(call_id: str) -> Closing:
        match ended.get(call_id):
            case (seq, ToolCallCompleted(result=text)):
                place = {"message.content": same_as(seq, "result")}
                return Closing(text or "", place, is_error=False)
            case (seq, ToolCallErrored(error=text)):
                return Closing(text or "", {"message.content": same_as(seq, "error")})
            case (seq, SubAgentTurnCompleted(result=text) as end):
                return Closing(text or "", result_place(seq, end), is_error=False)
            case (seq, SubAgentErrored(error=text) as end):
                return Closing(text or "", result_place(seq, end))
            case _:
                return Closing(texts.get(call_id, NEVER_STARTED))

    answer_open_tool_calls(journal, closing)


def _closing_text(call: Call, *, has_run: bool) -> str:
    """Source: O-20."""
    if not has_run:
        return NEVER_STARTED
    may_go_again = call.kind == "sub_agent" or may_repeat(call.effect)  # a child is cancelled, too
    return CANCELLED_BEFORE_RESULT if may_go_again else OUTCOME_UNKNOWN


def _may_have_run(session: Session, call: Call) -> bool:
    """Return whether somebody may have begun `call`: not while all of its deliveries wait."""
    if call.status is CallStatus.QUEUED:
        return False
    about = [one for one in session.decisions if one.call_id == call.id and one.trigger in EXECUTES]
    unsent = [one for one in about if one.status in {"queued", "retry_scheduled"}]
    return not about or any(one not in unsent or not never_started(call, one) for one in about)
