"""The model requests of the test at hand: each is held against what providers take."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from transcripts import anthropic, openai
from transcripts.judge import refused
from transcripts.refusal import Refusal


class Refused(AssertionError):
    """A provider would not take a request."""


@dataclass(slots=True)
class Ledger:
    """What was found since it was opened."""

    _noted: list[Refusal] = field(default_factory=list)

    def open(self) -> None:
        """Begin anew."""
        self._noted = []

    def note(self, request: Mapping[str, Any], failed: Collection[str] = frozenset()) -> None:
        """Judge a neutral request; what is wrong is told at the end, whoever sent it."""
        self._noted += refused(request, failed)

    def check(self, request: Mapping[str, Any], failed: Collection[str] = frozenset()) -> None:
        """Judge a neutral request at once. Raises `Refused`."""
        _raise(refused(request, failed))

    def note_question(self, question: Mapping[str, Any]) -> None:
        """Judge the model call that a worker is asked to run, if it is asked for one."""
        trigger = question["trigger"]
        match trigger.get("format") if trigger["type"] == "llm.execute" else "none":
            case None:
                self.note(trigger["request"])
            case "openai":
                self._noted += openai.refusals(trigger["request"])
            case "anthropic":
                self._noted += anthropic.refusals(trigger["request"])

    def close(self) -> None:
        """Raise `Refused` for what was noted."""
        _raise(self._noted)


def _raise(found: Iterable[Refusal]) -> None:
    if told := {str(one) for one in found}:
        raise Refused("; ".join(sorted(told)))


LEDGER: Final = Ledger()
"""Of this process: one test runs at a time."""
