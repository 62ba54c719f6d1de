"""Why a run failed, in the words of the runs API. Source: vocabulary, "Failures"; agent-runs 4.8.

It must not decide that a run failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from everturn.llm.failure import CONSEQUENCES
from everturn.session.events.sessions import TurnFailure

UNKNOWN: Final = "unknown"
TRUNCATED: Final = "The model's answer was cut off: it reached the most that a reply may have."

CLASS_OF_REASON: Final = {
    **{str(code).lower(): means.error_class for code, means in CONSEQUENCES.items()},
    "unsupported_content": "invalid_request",
    "unknown_upload": "invalid_request",
    "local_timeout": "local_timeout",
    "upstream_deadline": "upstream_deadline",
    "output_invalid": UNKNOWN,
}
"""By `detail.reason` of a failure, which says more than its code."""

CLASS_OF_CODE: Final = {
    "rate_limited": "rate_limit",
    "provider_error": "server",
    "deadline_exceeded": "timeout",
    "refused": UNKNOWN,
    "budget_exceeded": UNKNOWN,
}

_RETRYABLE: Final = {
    **{str(code).lower(): means.retryable for code, means in CONSEQUENCES.items()},
    "local_timeout": False,
    "upstream_deadline": False,
}
_RETRYABLE_CODES: Final = {
    "rate_limited": True,
    "refused": False,
    "budget_exceeded": False,
    "deadline_exceeded": True,
}


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run failed, and what it had said by then."""

    error: str
    code: str
    error_class: str = UNKNOWN
    finish_reason: str | None = None
    partial_text: str | None = None
    retryable: bool | None = None

    def data(self) -> dict[str, Any]:
        """Return what the `error` frame says of it."""
        about = {
            "error": self.error,
            "code": self.code,
            "errorClass": self.error_class,
            "finishReason": self.finish_reason,
            "partialText": self.partial_text,
            "retryable": self.retryable,
        }
        return {name: value for name, value in about.items() if value is not None}

    def reason(self) -> dict[str, Any]:
        """Return `failureReason` of `GET /agent-runs/{id}`. Source: agent-runs 7."""
        about = {"errorClass": self.error_class, "finishReason": self.finish_reason}
        if self.code != self.error_class:
            about["code"] = self.code
        return {name: value for name, value in about.items() if value is not None}


QUARANTINED: Final = RunFailure(
    "The run's session is put aside until an operator looks after it.",
    "session_quarantined",
    retryable=False,
)
"""Of a run that goes on once an operator says so; until then nobody may wait for it."""


def truncation(partial_text: str) -> RunFailure:
    """Return the failure of a run whose last reply was cut off."""
    return RunFailure(TRUNCATED, "truncation", "truncation", "max_tokens", partial_text, False)


def failure_of(turn: TurnFailure | None, said: str) -> RunFailure:
    """Return why a turn failed; `said` is the last whole reply of the model, empty for none."""
    if turn is None:
        return RunFailure("The run failed.", "error")
    detail = turn.detail if isinstance(turn.detail, dict) else {}
    reason, code = str(detail.get("reason") or ""), turn.code or ""
    error_class = CLASS_OF_REASON.get(reason) or CLASS_OF_CODE.get(code, UNKNOWN)
    named = {"output_invalid": reason}.get(reason, code or "error")
    return RunFailure(
        error=turn.message,
        code=named if error_class == UNKNOWN else error_class,
        error_class=error_class,
        finish_reason="refusal" if code == "refused" else None,
        partial_text=_partial(detail, code, said),
        retryable=_RETRYABLE.get(reason, _RETRYABLE_CODES.get(code)),
    )


def _partial(detail: dict[str, Any], code: str, said: str) -> str | None:
    attempt = detail.get("last_attempt")
    if isinstance(attempt, str):
        return attempt
    return said if said and code == "budget_exceeded" else None
