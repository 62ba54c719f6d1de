"""What a tool call asked and was told so far, read from its events; it decides nothing.

A call's own questions and answers hold for all its attempts; what a task said ends with the task.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import ToolCallErrored
from everturn.session.events.waits import WaitClosed, WaitExtended, WaitOpened


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What the worker is told with the next question about the call."""

    answers: tuple[dict[str, Any], ...] = ()
    """To the questions that the tool itself asked: `{interrupt_id, question, answer, resolution}`.

    Source: the agent-session reference, `QuestionAnswer`.
    """

    continuation: Any = None
    """What the worker said last with a question or a task."""

    task_id: str = ""
    pending_answer: dict[str, Any] | None = None
    """How the question of the task was resolved, until a poll has brought it there."""


@dataclass(slots=True)
class _Reading:
    told: Dialogue = field(default_factory=Dialogue)
    own: Any = None
    """The continuation that holds without the task."""

    question: str = ""


def dialogue_of(events: Iterable[Event], call_id: str) -> Dialogue:
    """Return the dialogue of a call; `events` has all of its events, their bodies in place."""
    reading = _Reading()
    for event in events:
        match event:
            case WaitOpened(call_id=of) if of == call_id:
                _opened(reading, event)
            case WaitExtended(call_id=of) if of == call_id:
                _continue(reading, event.private.continuation)
                reading.told = replace(reading.told, pending_answer=None)
            case WaitClosed(call_id=of, kind="question") if of == call_id:
                _closed(reading, event)
            case ToolCallErrored(id=of) if of == call_id:  # the next attempt knows no task
                reading.told = Dialogue(reading.told.answers, reading.own)
            case _:
                pass
    return reading.told


def _opened(reading: _Reading, event: WaitOpened) -> None:
    if event.kind == "task":
        reading.own = reading.told.continuation
        reading.told = replace(reading.told, task_id=event.task_id or "")
    else:
        reading.question = event.question or ""
        reading.told = replace(reading.told, pending_answer=None)
    _continue(reading, event.private.continuation)


def _continue(reading: _Reading, continuation: Any) -> None:
    if continuation is None:
        return
    reading.told = replace(reading.told, continuation=continuation)
    if not reading.told.task_id:
        reading.own = continuation


def _closed(reading: _Reading, event: WaitClosed) -> None:
    told = reading.told
    answer = {
        "interrupt_id": event.id,
        "question": reading.question,
        "answer": event.answer or "",
        "resolution": event.outcome,
    }
    if told.task_id:
        reading.told = replace(told, pending_answer=answer)
    else:
        reading.told = replace(told, answers=(*told.answers, answer))
