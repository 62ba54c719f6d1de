"""The demo model: a script language instead of a language model, streamed like a provider's answer.

It needs no key and no network, knows no clock and keeps nothing between two calls.
Source: docs/demo-model.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Final, Literal, TypedDict, Unpack, assert_never

from everturn.llm.catalogue import ModelFacts, Prices, ReasoningEffort, Route
from everturn.llm.chunks import (
    Chunk,
    Finished,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from everturn.llm.demo.performance import Delta, Piece, perform
from everturn.llm.demo.reading import Heard, hear, is_injected, text_of
from everturn.llm.demo.script import Script, parse
from everturn.llm.demo.steps import Say, Sleep, Turn
from everturn.llm.demo.turns import turn_to_play
from everturn.llm.failure import ModelFailed
from everturn.ports.model import NOTHING_BESIDE, Beside
from everturn.protocol.json_text import compact
from everturn.protocol.llm import LlmRequest

Purpose = Literal["conversation", "compaction", "session_title", "task_planning", "supervisor"]
"""What a call is for; all but the first are the engine's own. Source: session-log RH-8."""

WAIT_SLICE_S: Final = 0.1
"""How often a pause looks whether it is still wanted."""

MIN_PLAN_STEPS: Final = 2
"""Fewer steps are no plan: the planner declines."""

TITLE_WORDS: Final = 5

DEMO_ROUTE: Final = Route(
    id="demo",
    name="Demo",
    models=(
        ModelFacts(
            provider="demo",
            id="demo",
            name="Demo script model",
            description="Plays the script in the user's message; without one it echoes.",
            context_window_tokens=128_000,
            efforts=tuple(
                ReasoningEffort(effort, effort.capitalize())
                for effort in ("medium", "low", "high", "minimal", "xhigh", "none")
            ),
            default_effort="medium",
            prices=Prices(input_usd=Decimal(0), output_usd=Decimal(0)),
        ),
    ),
)


class Aside(TypedDict, total=False):
    """What the engine tells the demo model beside the request."""

    purpose: Purpose
    """Default `conversation`."""

    review: int
    """Number of this review by the supervisor in its turn, from 0 (the default)."""


class DemoModel:
    """`Model` that plays scripts.

    `sleep` waits that many seconds, as `threading.Event().wait` does; a true answer means that
    waiting is over for good. `pace_s` is slept before each delta, or `stream_s` is spread over all
    deltas of an answer.
    """

    def __init__(
        self,
        sleep: Callable[[float], object],
        *,
        pace_s: float = 0.0,
        stream_s: float | None = None,
    ) -> None:
        self._sleep = sleep
        self._pace_s = pace_s
        self._stream_s = stream_s

    def stream(
        self,
        request: LlmRequest,
        *,
        attempt: int,
        cancelled: Callable[[], bool],
        failed_tool_calls: frozenset[str] = frozenset(),
        beside: Beside = NOTHING_BESIDE,  # noqa: ARG002  it has no account and replays nothing
        **aside: Unpack[Aside],
    ) -> Iterator[Chunk]:
        """Yield the chunks of one attempt; the same request and attempt give the same ones.

        Ends with `Finished("aborted")` once `cancelled()` is true, and without any `Finished` where
        the script cuts the stream. Raises `ModelFailed` where the script says so.
        """
        heard = hear(request, failed_tool_calls)
        pieces = perform(turn_for(heard, **aside), heard, attempt)
        pace_s = self._pace_of(pieces)
        for piece in pieces:
            if self._is_over(pause_of(piece, pace_s), cancelled):
                yield Finished(FinishReason.ABORTED)
                return
            match piece:
                case ModelFailed():
                    raise piece
                case Sleep():
                    continue
                case chunk:
                    yield chunk

    def _pace_of(self, pieces: tuple[Piece, ...]) -> float:
        if self._stream_s is None:
            return self._pace_s
        return self._stream_s / max(1, sum(isinstance(piece, Delta) for piece in pieces))

    def _is_over(self, pause_s: float, cancelled: Callable[[], bool]) -> bool:
        """Wait, in slices; return whether the answer is no longer wanted."""
        left_s = pause_s
        while left_s > 0 and not cancelled():
            slice_s = min(left_s, WAIT_SLICE_S)
            if self._sleep(slice_s):
                return True
            left_s -= slice_s
        return cancelled()


def pause_of(piece: Piece, pace_s: float) -> float:
    """Return how many seconds pass before `piece`."""
    match piece:
        case Sleep(ms=ms):
            return ms / 1000
        case TextDelta() | ReasoningDelta() | ToolCallDelta():
            return pace_s
        case _:
            return 0.0


def turn_for(heard: Heard, *, purpose: Purpose = "conversation", review: int = 0) -> Turn:
    """Return what is played for `heard`."""
    script = parse(heard.script_text)
    match purpose:
        case "conversation":
            return turn_to_play(
                script,
                heard.call_number,
                tools_offered=heard.may_call,
                output_schema=heard.request.output_schema,
            )
        case "compaction":
            return (Say(f"summary of {summed_up(heard)} messages", verbatim=True),)
        case "session_title":
            return (Say(title_of(heard), verbatim=True),)
        case "task_planning":
            steps = script.plan if len(script.plan) >= MIN_PLAN_STEPS else ()
            return (Say(compact({"steps": steps}), verbatim=True),)
        case "supervisor":
            return (Say(verdict_of(script, review), verbatim=True),)
        case _:
            assert_never(purpose)


def summed_up(heard: Heard) -> int:
    """Return how many messages a summary is about: system and engine ones are left out."""
    return sum(
        message.role != "system" and not is_injected(message) for message in heard.request.messages
    )


def title_of(heard: Heard) -> str:
    """Return the first words that a user said."""
    users = (message for message in heard.request.messages if message.role == "user")
    first = next((text_of(message) for message in users if not is_injected(message)), "")
    return " ".join(first.split()[:TITLE_WORDS]) or "untitled"


def verdict_of(script: Script, review: int) -> str:
    """Return the answer to a review as JSON `{action, text?}`; past the last one all is well."""
    if review >= len(script.verdicts):
        return compact({"action": "on_track"})
    verdict = script.verdicts[review]
    text = {} if verdict.text is None else {"text": verdict.text}
    return compact({"action": verdict.action, **text})
