"""What a tool may say beside its result: an error, a question, a task; and the action for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from everturn.protocol.limits import KIB, MAX_POLICY_SECS, MIN_POLL_SECONDS

ERROR_CODES = frozenset(
    {"provider_error", "rate_limited", "refused", "budget_exceeded", "deadline_exceeded"}
)
"""The codes that the protocol knows; any other goes into `detail.reason`. Source: F-4."""

MAX_ERROR_BYTES = 64 * KIB
"""What is kept of an error's text: a model is to read it."""


class ToolError(Exception):
    """The tool cannot do what was asked; the model reads `message`.

    `retryable` asks for another attempt, within the policy of the tool. `code` is one of
    `ERROR_CODES` or a word of your own, which is shown as `detail.reason`. `detail` is any JSON.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        code: str | None = None,
        detail: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = str(message)
        self.retryable = retryable
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class AskUser:
    """Returned by a tool: ask its user, then run the tool again with the answer.

    Without `choices` the answer is free text; with them it is one of them, or free text as well
    where `allows_free_text`. `continuation` comes back in the context.
    """

    question: str
    choices: Sequence[str] = ()
    allows_free_text: bool | None = None
    continuation: Any = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for a question that nobody can answer."""
        if not self.question.strip():
            raise ValueError("a question needs a text")
        if self.allows_free_text is False and not self.choices:
            raise ValueError("a question without choices is answered in free text")


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """Returned by a tool: the work goes on elsewhere; the function under `poll` tells how far."""

    task_id: str
    poll_interval_seconds: float
    continuation: Any = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for a task without a name or polled too often."""
        if not self.task_id.strip():
            raise ValueError("a task needs an id")
        _check_interval(self.poll_interval_seconds)


@dataclass(frozen=True, slots=True)
class Pending:
    """Returned by a poll: not finished yet, ask again, by default after the same interval."""

    poll_interval_seconds: float | None = None
    continuation: Any = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for an interval that is too short."""
        if self.poll_interval_seconds is not None:
            _check_interval(self.poll_interval_seconds)


Reply = AskUser | TaskStarted | Pending


def to_action(reply: Reply) -> dict[str, Any]:
    """Return the action that says `reply`; `continuation` is as it was given. Source: O-12."""
    match reply:
        case AskUser(question, choices, allows_free_text, continuation):
            options = {"choices": list(choices)} if choices else {}
            free = {} if allows_free_text is None else {"allows_free_text": allows_free_text}
            action = {"type": "tool.ask", "question": question, **options, **free}
        case TaskStarted(task_id, seconds, continuation):
            action = {"type": "tool.task", "task_id": task_id, "poll_interval_seconds": seconds}
        case Pending(interval, continuation):
            every = {} if interval is None else {"poll_interval_seconds": interval}
            action = {"type": "tool.pending", **every}
    return action if continuation is None else {**action, "continuation": continuation}


def to_error_action(error: ToolError) -> dict[str, Any]:
    """Return the `tool.error` for `error`; its `detail` is as it was given. Source: U-10."""
    action: dict[str, Any] = {
        "type": "tool.error",
        "error": cut(error.message) or "the tool gave no reason",
        "retryable": bool(error.retryable),
    }
    if error.code in ERROR_CODES:
        action["code"] = error.code
    detail = error.detail
    if error.code is not None and error.code not in ERROR_CODES:
        inner = detail if isinstance(detail, dict) else {} if detail is None else {"value": detail}
        detail = {"reason": error.code, **inner}
    return action if detail is None else {**action, "detail": detail}


def cut(text: str) -> str:
    """Return `text` as UTF-8 can carry it, at most `MAX_ERROR_BYTES` long."""
    raw = text.encode("utf-8", "replace")
    return raw[:MAX_ERROR_BYTES].decode("utf-8", "ignore")


def _check_interval(seconds: float) -> None:
    if not MIN_POLL_SECONDS <= seconds <= MAX_POLICY_SECS:
        raise ValueError(f"a task is polled every {MIN_POLL_SECONDS} to {MAX_POLICY_SECS} s")
