"""The checks of answers that keep a tool's call open: a question, a task, a task that goes on.

It must not know whether the call takes them.
"""

from everturn.protocol.action import ToolAskAction, ToolPendingAction, ToolTaskAction
from everturn.protocol.json_text import compact
from everturn.protocol.limits import (
    MAX_CHOICE_BYTES,
    MAX_CHOICES,
    MAX_PAYLOAD_BYTES,
    MAX_QUESTION_BYTES,
    MAX_TASK_ID_BYTES,
)
from everturn.protocol.wire import Json
from everturn.rejections import SchemaViolation


def check_held(action: ToolAskAction | ToolTaskAction | ToolPendingAction, *, at: str = "") -> None:
    """Accept an answer that is in order by itself; `at` begins every path.

    Raises `SchemaViolation`. Source: decision-protocol O-12, agent-session.md 11 and 12.
    """
    match action:
        case ToolAskAction():
            check_text(action.question, MAX_QUESTION_BYTES, f"{at}/question")
            _check_choices(action, at)
        case ToolTaskAction():
            check_text(action.task_id, MAX_TASK_ID_BYTES, f"{at}/task_id")
        case ToolPendingAction():
            pass
    _check_continuation(action.continuation, f"{at}/continuation")


def check_text(text: str, limit_bytes: int, path: str) -> None:
    """Accept a text that says something. Raises `SchemaViolation`."""
    if not text.strip():
        raise SchemaViolation(f"{path}: is blank")
    if len(text.encode()) > limit_bytes:
        raise SchemaViolation(f"{path}: more than {limit_bytes} bytes")


def _check_choices(action: ToolAskAction, at: str) -> None:
    choices = action.choices or ()
    if not choices and action.allows_free_text is False:
        raise SchemaViolation(f"{at}/allows_free_text: is false, and there are no choices")
    if len(choices) > MAX_CHOICES:
        raise SchemaViolation(f"{at}/choices: more than {MAX_CHOICES} choices")
    for position, choice in enumerate(choices):
        check_text(choice, MAX_CHOICE_BYTES, f"{at}/choices/{position}")


def _check_continuation(value: Json, path: str) -> None:
    if value is not None and len(compact(value).encode()) > MAX_PAYLOAD_BYTES:
        raise SchemaViolation(f"{path}: more than {MAX_PAYLOAD_BYTES} bytes")
