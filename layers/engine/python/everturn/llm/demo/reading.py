"""What the demo model reads off a request: its script, how far it is, what it has heard. Pure.

Source: docs/demo-model.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from everturn.protocol.llm import LlmRequest, ReasoningConfig
from everturn.protocol.message import DraftMessage, TextPart

INJECTED: Final = "[Everturn]"
"""How messages of the engine begin; they are never scripts. Source: vocabulary."""

SUMMARY: Final = "[Everturn] Summary"
"""How the message begins that stands for a compacted past."""

DEFAULT_LEVEL: Final = 50
"""Reasoning of a request that does not speak of it: the demo model's default effort, medium."""

_LEVELS: Final = {"none": 0, "minimal": 10, "low": 30, "medium": 50, "high": 80, "xhigh": 100}
"""Source: agent runs, section 6, and steps of ours for the two that it does not have."""

_BUDGETS: Final = ((32_768, "xhigh"), (16_384, "high"), (8_192, "medium"), (2_048, "low"))
"""Least `max_tokens` of an effort. Source: decision protocol W-6."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One request, read."""

    request: LlmRequest
    failed_tool_calls: frozenset[str]
    """Ids of calls whose result in the request is an error text."""

    script_at: int | None
    """Position of the message that holds the script."""

    @property
    def script_text(self) -> str:
        """The script; empty where nobody has said anything."""
        return "" if self.script_at is None else text_of(self.request.messages[self.script_at])

    @property
    def call_number(self) -> int:
        """Model calls since the script was given, from 0."""
        if self.script_at is None:
            return 0
        later = self.request.messages[self.script_at + 1 :]
        return sum(message.role == "assistant" for message in later)

    @property
    def may_call(self) -> bool:
        """Whether it is offered tools, and not told to call none."""
        return bool(self.request.tools) and self.request.tool_choice != "none"

    @property
    def level(self) -> int:
        """Effective reasoning, 0 to 100."""
        return reasoning_level(self.request.reasoning)

    @property
    def shows_thinking(self) -> bool:
        """Whether the caller gets to see reasoning."""
        reasoning = self.request.reasoning
        return self.level > 0 and not (reasoning and reasoning.exclude)


def hear(request: LlmRequest, failed_tool_calls: frozenset[str] = frozenset()) -> Heard:
    """Return `request`, read; the last user message not of the engine is its script."""
    places = [
        place
        for place, message in enumerate(request.messages)
        if message.role == "user" and not is_injected(message)
    ]
    return Heard(request, failed_tool_calls, places[-1] if places else None)


def is_injected(message: DraftMessage) -> bool:
    """Return whether the engine wrote the message: a nudge, a note, a summary, a checklist."""
    return text_of(message).startswith(INJECTED)


def text_of(message: DraftMessage) -> str:
    """Return the text of a message, its text parts put together."""
    match message.content:
        case None:
            return ""
        case str(text):
            return text
        case parts:
            return "".join(part.text for part in parts if isinstance(part, TextPart))


def reasoning_level(reasoning: ReasoningConfig | None) -> int:
    """Return how hard to think, 0 to 100; by effort, else by token budget, else the default."""
    if reasoning is None:
        return DEFAULT_LEVEL
    if reasoning.enabled is False:
        return 0
    if reasoning.effort is not None:
        return _LEVELS[reasoning.effort]
    if reasoning.max_tokens is None:
        return DEFAULT_LEVEL
    if reasoning.max_tokens == 0:
        return 0
    enough = (effort for least, effort in _BUDGETS if reasoning.max_tokens >= least)
    return _LEVELS[next(enough, "minimal")]
