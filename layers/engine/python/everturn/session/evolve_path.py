"""What the events of the message tree do: messages, moves, versions, pauses; it decides nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from everturn.session.events.interrupts import InterruptResumed, SessionInterrupted
from everturn.session.events.messages import AgentUpdated, MessageNew, StateUpdated
from everturn.session.events.tree import Fork, HeadMoved
from everturn.session.state import Head, Interrupt, Mark, Session, Spent, Window, is_on
from everturn.session.window import has_turn, with_message, with_turn


def with_path_event(
    session: Session,
    event: MessageNew
    | HeadMoved
    | AgentUpdated
    | StateUpdated
    | SessionInterrupted
    | InterruptResumed,
) -> Session:
    """Return `session` as a message, a move, a version or a pause leaves it."""
    match event:
        case HeadMoved(private=private):
            session = _forked(session, private.fork)
            head = Head(event.to, private.seq, private.branch, private.depth)
            return replace(session, head=head)
        case MessageNew(private=private):
            if private.fork is not None:
                session = _forked(session, private.fork)
            head = Head(event.id, session.seq, private.branch, private.depth)
            window = _with_mark(session) if private.source.kind == "user" else session.window
            return replace(session, head=head, window=with_message(window, private.size_bytes))
        case AgentUpdated(private=private):
            counts = private.has_session_budget and session.spent is None
            spent = Spent() if counts else session.spent
            return replace(session, agent_seq=session.seq, agent_sha=private.sha256, spent=spent)
        case StateUpdated():
            return replace(session, state_seq=session.seq)
        case SessionInterrupted() | InterruptResumed():
            return _interrupts(session, event)
        case _:
            assert_never(event)


def _forked(session: Session, fork: Fork) -> Session:
    """Return `session` on another path, at the place where a branch of it begins."""
    near = tuple(one for one in fork.stretches if one.upto_seq >= fork.window_from_seq)
    interrupts = tuple(
        replace(one, is_here=one.depth is None or is_on(fork.stretches, one.branch, one.depth))
        for one in session.interrupts
    )
    marks = tuple(Mark(one.seq, one.before_bytes) for one in fork.window_marks)
    return replace(
        session,
        branches=fork.branch,
        branch=fork.branch,
        branch_seq=session.seq,
        stretches=near,
        is_cut=len(near) < len(fork.stretches),
        interrupts=interrupts,
        window=Window(fork.window_from_seq, 0, fork.window_bytes, marks),
        agent_seq=fork.agent_seq,
        agent_sha=fork.agent_sha,
        state_seq=fork.state_seq,
    )


def _interrupts(session: Session, event: SessionInterrupted | InterruptResumed) -> Session:
    match event:
        case SessionInterrupted():
            raised = Interrupt(
                event.interrupt_id,
                session.seq,
                event.origin,
                event.turn_id or "",
                event.subject_call or "",
                event.anchor.branch if event.anchor else 0,
                event.anchor.depth if event.anchor else None,
            )
            return replace(session, interrupts=(*session.interrupts, raised))
        case InterruptResumed():
            left = tuple(one for one in session.interrupts if one.id != event.interrupt_id)
            return replace(session, interrupts=left)
        case _:
            assert_never(event)


def _with_mark(session: Session) -> Window:
    """Return the window with a mark where the open turn's first message is about to stand."""
    turn, window = session.turn, session.window
    if turn is None or has_turn(window, turn.first_seq):
        return window
    return with_turn(window, session.seq)
