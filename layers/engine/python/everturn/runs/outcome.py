"""How far a run is and what came of it, folded from its turn; nothing is read here.

Source: vocabulary, "Session and turn"; agent-runs 4.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, assert_never

from everturn.ports.sessions import Logged
from everturn.protocol.json_text import compact
from everturn.runs.failures import RunFailure, failure_of, truncation
from everturn.runs.frames import Told
from everturn.runs.model_frames import text_in
from everturn.runs.reasoning import NONE, STRENGTH, word_of
from everturn.session.events.mail import InboxDiscarded, InboxEnqueued
from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallRequested,
    RequestHeader,
)
from everturn.session.events.sessions import (
    SessionCancelled,
    StepStarted,
    TurnCompleted,
    TurnStarted,
)
from everturn.session.events.shape import Usage
from everturn.session.events.stored import Event

RunStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]

EFFORTS: Final[dict[str, str]] = {
    NONE: "off",
    **{effort: word_of(level) for effort, level in STRENGTH.items()},
}
"""Source: agent-runs 4.8.1, `reasoningEffort`."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A run as it stands; what follows the status says something once it is over."""

    status: RunStatus
    final_text: str | None = None
    failure: RunFailure | None = None
    cancelled_for: str = "user"
    tokens: Mapping[str, int] = field(default_factory=dict)
    turns: int = 0
    """Model calls that were made, each attempt counted."""

    model: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether nothing will follow."""
        return self.status not in {"queued", "running"}

    def told(self) -> Told:
        """Return the frame that ends the run."""
        spent = {"tokens": dict(self.tokens), "turns": self.turns, "model": dict(self.model)}
        if self.failure is not None:
            return "error", {**self.failure.data(), **spent}
        if self.status == "cancelled":
            return "cancelled", {"reason": self.cancelled_for}
        done = {"subtype": "success", "ok": True, "text": self.final_text or ""}
        return "result", {**done, **spent}

    def shown(self) -> dict[str, Any]:
        """Return what `GET /agent-runs/{id}` says of it."""
        return {
            "status": self.status,
            "finalText": self.final_text,
            "error": self.failure.error if self.failure else None,
            "failureReason": self.failure.reason() if self.failure else None,
            "tokens": dict(self.tokens) if self.is_over else None,
            "turns": self.turns if self.is_over else None,
            "model": dict(self.model) if self.is_over else None,
        }


def outcome_of(run_id: str, commits: Iterable[Logged]) -> RunOutcome:
    """Return how a run stands after `commits`: all of its turn, bodies in their places.

    The request header of its last model call may be before them, and is to be among them, too.
    """
    fold = _Fold(run_id)
    for commit in commits:
        ends = any(isinstance(event, SessionCancelled) for event in commit.events)
        for seq, event in commit.numbered():
            fold.take(seq, event, ends_session=ends)
    return fold.outcome()


def tokens_of(usage: Usage) -> dict[str, int]:
    """Return counts as the runs view has them. Source: vocabulary, "Usage"."""
    return {
        "inputTokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "cachedTokens": usage.cache_read_tokens,
        "reasoningTokens": usage.reasoning_tokens,
        "outputTokens": usage.output_tokens,
    }


def shown_model(selector: str, header: Any) -> dict[str, str]:
    """Return which model a call was made with; empty texts where none was.

    `selector` is how the config names it, `header` what its request said beside the history.
    """
    config = (header or {}).get("config") or {}
    model = {
        "id": selector,
        "provider": config.get("provider") or "",
        "vendorModelId": config.get("model") or "",
    }
    reasoning = config.get("reasoning") or {}
    effort = "none" if reasoning.get("enabled") is False else reasoning.get("effort")
    return {**model, "reasoningEffort": EFFORTS[effort]} if effort in EFFORTS else model


class _Fold:
    """What of a turn's events counts for its end; the last one of a kind wins."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._status: RunStatus = "queued"
        self._turns = 0
        self._said = ""
        self._headers: dict[int, Any] = {}
        self._asked: ModelCallRequested | None = None
        self._end: TurnCompleted | InboxDiscarded | None = None
        self._reason = "user"

    def take(self, seq: int, event: Event, *, ends_session: bool) -> None:
        """Take an event of the session in."""
        if isinstance(event, RequestHeader):  # those of others count as well: it may be theirs
            self._headers[seq] = event.header
        if event.turn_id != self._run_id or self._end is not None:
            return
        match event:
            case InboxEnqueued():
                self._status = "queued"
            case TurnStarted():
                self._status = "running"
            case StepStarted(step=step):
                self._turns = max(self._turns, step)
            case ModelCallRequested():
                self._asked = event
            case ModelCallCompleted(message=message):
                self._said = text_in(message)
            case TurnCompleted() | InboxDiscarded():
                self._end = event
                self._reason = _reason(event, ends_session=ends_session)
            case _:
                pass

    def outcome(self) -> RunOutcome:
        """Return what it all comes to."""
        match self._end:
            case None:
                return RunOutcome(self._status)
            case InboxDiscarded():
                return self._ended("cancelled", Usage(), None)
            case TurnCompleted(outcome="done" | "quiescent", usage=usage) as end:
                text = self._final_text(end)
                if end.truncated:
                    return self._ended("failed", usage, text, truncation(text))
                return self._ended("succeeded", usage, text)
            case TurnCompleted(outcome="failed" | "blocked", error=error, usage=usage):
                failure = failure_of(error, self._said)
                return self._ended("failed", usage, failure.partial_text, failure)
            case TurnCompleted(usage=usage):
                return self._ended("cancelled", usage, None)
            case _:
                assert_never(self._end)

    def _final_text(self, end: TurnCompleted) -> str:
        """A worker may end a turn with any value; a turn that came to rest by itself has none."""
        if end.outcome == "quiescent":
            return self._said
        match end.data:
            case None:
                return ""
            case str() as text:
                return text
            case value:
                return compact(value)

    def _ended(
        self,
        status: RunStatus,
        usage: Usage,
        final_text: str | None,
        failure: RunFailure | None = None,
    ) -> RunOutcome:
        asked = self._asked
        header = self._headers.get(asked.private.header_seq) if asked else None
        return RunOutcome(
            status,
            final_text,
            failure,
            self._reason,
            tokens_of(usage),
            self._turns,
            shown_model(asked.model if asked else "", header),
        )


def _reason(end: TurnCompleted | InboxDiscarded, *, ends_session: bool) -> str:
    """Return why a run was cancelled.

    `user`: somebody cancelled it, or a turn that it waited for. `session_ended`: its session is
    over. Otherwise the turn's outcome: it was given up for something else (`steered`,
    `abandoned`, `interrupted`).
    """
    if ends_session:
        return "session_ended"
    if isinstance(end, TurnCompleted) and end.outcome != "cancelled":
        return end.outcome
    return "user"
