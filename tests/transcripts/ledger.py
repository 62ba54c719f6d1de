"""The model requests of the test at hand: each is held against what providers take.

A test for which a rule cannot hold says so by `@pytest.mark.refused(rule, reason="...")`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from transcripts import anthropic, openai
from transcripts.judge import RULES, refused
from transcripts.openai import OpenAiRule
from transcripts.refusal import Refusal


class Refused(AssertionError):
    """A provider would not take a request."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What the engine is known to get wrong wherever it happens."""

    rule: str
    told: re.Pattern[str]
    """Fits what is told of it, and nothing else."""

    reason: str


GAPS: Final = (
    Gap(
        OpenAiRule.CALL_ID,
        re.compile(r"'call_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'"),
        "the engine's own call ids have 41 characters",
    ),
)


@dataclass(slots=True)
class Ledger:
    """What was found since it was opened."""

    _left_out: frozenset[str] = frozenset()
    _noted: list[Refusal] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)
    """Rules that were broken by what was judged at once."""

    def open(self, left_out: Collection[str] = ()) -> None:
        """Begin anew; `left_out` are rules that do not count in this test."""
        assert set(left_out) <= RULES, f"no such rules: {sorted(set(left_out) - RULES)}"
        self._left_out = frozenset(left_out)
        self._noted = []
        self._told = set()

    def note(self, request: Mapping[str, Any], failed: Collection[str] = frozenset()) -> None:
        """Judge a neutral request; what is wrong is told at the end, whoever sent it."""
        self._noted += refused(request, failed)

    def check(self, request: Mapping[str, Any], failed: Collection[str] = frozenset()) -> None:
        """Judge a neutral request at once. Raises `Refused`."""
        found = refused(request, failed)
        self._told.update(one.rule for one in found)
        self._raise(found)

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

    def close(self, *, always: bool = True) -> None:
        """Raise `Refused` for what counts; with `always`, also for what was left out in vain."""
        self._raise(self._noted)
        idle = self._left_out - self._told - {one.rule for one in self._noted}
        if always and idle:
            raise Refused(f"left out, and no request breaks it: {sorted(idle)}")

    def _raise(self, found: Iterable[Refusal]) -> None:
        told = {str(one) for one in found if one.rule not in self._left_out and not _known(one)}
        if told:
            raise Refused("; ".join(sorted(told)))


def _known(refusal: Refusal) -> bool:
    return any(gap.rule == refusal.rule and gap.told.fullmatch(refusal.told) for gap in GAPS)


LEDGER: Final = Ledger()
"""Of this process: one test runs at a time."""
