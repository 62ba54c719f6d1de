"""What a tool may know about its call beside the arguments; it reads a request, checks none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

KEPT: Final = object()
"""Stands for the state of a tool that set none."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The owner of the session, as the client or its token named it."""

    id: str = "default"
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """The answer to an `AskUser`; `resolution` is answered, declined or deadline_passed."""

    question: str = ""
    answer: str = ""
    resolution: str = "answered"


@dataclass(slots=True)
class Context:
    """The call at hand. A parameter with this annotation gets it and is no part of the schema.

    Every field has a default, so that a test of a tool makes the context that it needs.
    """

    session_id: str = ""
    agent_id: str = ""
    call_id: str = ""
    tool: str = ""
    turn_id: str | None = None
    attempt: int = 1
    """Of the call, from 1."""

    delivery: int = 1
    """How often this attempt was sent, from 1; above 1 it may be running already."""

    deadline: datetime | None = None
    """When nobody waits for the answer any more."""

    identity: Identity = field(default_factory=Identity)
    idempotency_key: str | None = None
    """The same for every attempt and delivery of an `idempotent_write`."""

    state: Any = None
    """What a tool of this agent set last in this session; None if nothing."""

    task_id: str | None = None
    """In a poll: the task."""

    continuation: Any = None
    """What the tool said with its question, or its task."""

    answers: Sequence[UserAnswer] = ()
    """What the user answered to this call so far, oldest first; in a poll only the newest."""

    request: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The whole decision request as it came."""

    may_set_state: bool = field(default=True, repr=False)
    new_state: Any = field(default=KEPT, init=False, repr=False)

    @property
    def owner(self) -> str:
        """The id of the session's owner."""
        return self.identity.id

    def set_state(self, state: Any) -> None:
        """Answer with `state`, any JSON, which replaces the old one; None clears it.

        Raises `RuntimeError` in a tool that may overlap with others: the engine refuses that.
        """
        if not self.may_set_state:
            raise RuntimeError(
                f"{self.tool} may overlap with other calls and so cannot set the state; "
                "declare it with overlap=False"
            )
        self.new_state = state


def to_context(request: Mapping[str, Any], *, may_set_state: bool) -> Context:
    """Return the context of a `tool.execute` or `tool.poll`; what is missing has its default."""
    trigger = request["trigger"]
    return Context(
        session_id=text(request.get("session_id")),
        agent_id=text(request.get("agent_id")),
        call_id=text(trigger.get("id")),
        tool=text(trigger.get("name")),
        turn_id=request.get("turn_id"),
        attempt=count(trigger.get("attempt")),
        delivery=count(request.get("attempts")),
        deadline=earliest(request.get("deadline"), trigger.get("deadline")),
        identity=to_identity(request.get("identity")),
        idempotency_key=trigger.get("idempotency_key"),
        state=request.get("state"),
        task_id=trigger.get("task_id"),
        continuation=trigger.get("continuation"),
        answers=to_answers(trigger),
        request=request,
        may_set_state=may_set_state,
    )


def to_identity(given: Any) -> Identity:
    """Return the identity that a request names."""
    match given:
        case {"id": str() as name, "metadata": dict() as metadata}:
            return Identity(name, metadata)
        case {"id": str() as name}:
            return Identity(name)
        case _:
            return Identity()


def to_answers(trigger: Mapping[str, Any]) -> tuple[UserAnswer, ...]:
    """Return the user's answers that a trigger brings, if it brings any."""
    newest = trigger.get("pending_answer")
    given = [newest] if newest is not None else trigger.get("answers") or ()
    return tuple(to_answer(one) for one in given)


def to_answer(given: Any) -> UserAnswer:
    """Return one answer, whether it came with its question or as bare text."""
    if not isinstance(given, dict):
        return UserAnswer(answer=text(given))
    return UserAnswer(
        question=text(given.get("question")),
        answer=text(given.get("answer")),
        resolution=text(given.get("resolution")) or "answered",
    )


def earliest(*instants: Any) -> datetime | None:
    """Return the earliest of some RFC 3339 instants; None where there is none to be read."""
    found = [moment for one in instants if (moment := _instant(one)) is not None]
    return min(found, default=None)


def text(value: Any) -> str:
    """Return `value` if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """Return `value` if it is a number of times, else 1."""
    return value if isinstance(value, int) and value > 0 else 1


def _instant(value: Any) -> datetime | None:
    read: Callable[[str], datetime] = datetime.fromisoformat
    try:
        moment = read(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
