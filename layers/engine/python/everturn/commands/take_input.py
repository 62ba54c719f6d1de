"""Takes any client input: one that opens a turn, or one that goes on with what is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from everturn.commands.answer_later import SettleCalls
from everturn.commands.interrupts import Interrupts
from everturn.commands.submit_input import SubmitInput, Submitted
from everturn.ports.callers import Caller
from everturn.protocol.client_input import (
    ClientActionInput,
    ClientMessageInput,
    ClientMessagesInput,
    InputRequest,
    InterruptResumeInput,
    ToolErrorInput,
    ToolResultInput,
)
from everturn.protocol.wire import to_json
from everturn.rejections import SchemaViolation


@dataclass(frozen=True, slots=True)
class Continued:
    """What became of an input that opens no turn. Source: decision-protocol O-22."""

    session_id: str
    resumed: bool | None = None
    """Whether an interrupt was open; of other inputs nothing."""


Taken = Submitted | Continued


class TakeInput:
    """The use case behind `POST /v1/sessions/input` and the `input` frame. Source: K-1."""

    def __init__(self, submit: SubmitInput, settle: SettleCalls, interrupts: Interrupts) -> None:
        self._submit = submit
        self._settle = settle
        self._interrupts = interrupts

    def __call__(self, caller: Caller, request: InputRequest) -> Taken:
        """Take an input; returns when it is recorded.

        Raises a `RejectedError` where it is refused, `StoreUnavailable` where nothing was written.
        """
        given = request.input
        match given:
            case ClientMessageInput() | ClientMessagesInput() | ClientActionInput():
                return self._submit(caller, request)
            case ToolResultInput() | ToolErrorInput():
                session_id = _named(request)
                self._settle(caller, session_id, _as_action(given), handlers=("client",))
                return Continued(session_id)
            case InterruptResumeInput(interrupt_id=interrupt_id, payload=payload):
                session_id = _named(request)
                resumed = self._interrupts.resume(caller, session_id, interrupt_id, payload)
                return Continued(session_id, resumed)
            case _:
                assert_never(given)


def _named(request: InputRequest) -> str:
    if request.session_id is None:
        raise SchemaViolation("/session_id: is needed for an input that continues a session")
    return request.session_id


def _as_action(given: ToolResultInput | ToolErrorInput) -> dict[str, Any]:
    """Return a client's answer as the settle action that it is; no result is null. Source: U-9."""
    action: dict[str, Any] = to_json(given)
    return action if given.type == "tool.error" else {"result": None, **action}
