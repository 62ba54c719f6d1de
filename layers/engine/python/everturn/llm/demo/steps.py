"""The words of the demo model's scripts: one dataclass a directive; no text is read here.

Source: docs/demo-model.md, "Directives".
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Say:
    """Assistant text."""

    text: str
    verbatim: bool = False
    """No placeholder in it counts."""


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with its raw argument text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """A pause."""

    ms: int


@dataclass(frozen=True, slots=True)
class Cut:
    """The first attempt's stream breaks off after that many deltas."""

    deltas: int


@dataclass(frozen=True, slots=True)
class Flaky:
    """The first `attempts` attempts fail with `error_class`."""

    attempts: int
    error_class: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The provider call fails."""

    error_class: str
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """The usage to report; None: count words. `cached` and `in` are disjoint."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The stop reason of the turn, in the words of `FinishReason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """`[[turn]]`; never part of a turn."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the planner answers; never part of a turn."""

    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the supervisor answers to one review; never part of a turn."""

    action: str
    text: str | None = None


Step = Say | Think | Call | Sleep | Cut | Flaky | Fail | Report | Finish
Directive = Step | TurnEnd | Plan | Verdict

Turn = tuple[Step, ...]
