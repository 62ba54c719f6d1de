"""Plays sessions to a given age and measures single turns of them; it knows no bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, Literal

from bench.sorting import TURN
from bench.stage import Stage
from bench.subscriber import Subscriber
from bench.tape import Entry
from everturn_local.usage import Line, Usage

Kind = Literal["plain", "one-tool"]
KINDS: Final[tuple[Kind, ...]] = ("plain", "one-tool")

CALL: Final = '[[call:clock {"timezone":"Asia/Tokyo"}]]'
PAUSED: Final = "[[say:Word by word ]][[sleep:500]][[say:it goes on, ]][[sleep:500]]"
QUICK: Final[dict[Kind, str]] = {
    "plain": "[[say:Hello there.]]",
    "one-tool": f"{CALL}[[say:It is {{{{result}}}}.]]",
}
PACED: Final[dict[Kind, str]] = {
    "plain": f"{PAUSED}{PAUSED}[[say:and ends.]]",
    "one-tool": f"{PAUSED}{CALL}{PAUSED}[[say:and ends with {{{{result}}}}.]]",
}
"""Each pauses for two seconds in all; what is said weighs next to nothing."""

PROSE_BYTES: Final = 7_500
"""Some pages of text; small enough to stay in the log."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one turn used."""

    kind: Kind
    number: int
    """Of the turn in its session."""

    watched: bool
    usage: Usage
    window_bytes: int
    """What a model was shown of the session in the end."""

    entries: tuple[Entry, ...] = ()

    @property
    def itself(self) -> Line:
        """The turn without what is listed apart."""
        total = Line()
        for each in TURN:
            total = total.plus(self.usage.total(category=each))
        return total.minus(self.stream_polls)

    @property
    def stream_polls(self) -> Line:
        """The event source's reads of the table's stream, which Lambda does not charge for."""
        return self.usage.total(category="source", operation="dynamodbstreams.")


def session_turns(here: Stage, kind: Kind, ages: Sequence[int]) -> Iterator[Measured]:
    """Yield the turns of those ages of one new session, and behind each one that is watched.

    A first turn that is watched is another session's. The turns between are played quickly.
    """
    yield measure(here, kind, 1, None, watched=True)[0]
    session_id: str | None = None
    for number in range(1, max(ages) + 2):
        if number in ages or number - 1 in ages[1:]:
            measured, session_id = measure(
                here, kind, number, session_id, watched=number not in ages
            )
            yield measured
        else:
            turn = here.send(QUICK[kind], session_id)
            here.wait(turn)
            session_id = turn.session_id


def measure(
    here: Stage,
    kind: Kind,
    number: int,
    session_id: str | None,
    *,
    watched: bool,
    quick: bool = False,
) -> tuple[Measured, str]:
    """Return what one turn used, and its session; who watches an old one is there before."""
    with ExitStack() as stack:
        if watched and session_id is not None:
            seq, _ = here.window(session_id)
            stack.enter_context(Subscriber(here.access, session_id, seq))
        here.settle()
        before, mark = here.tape.snapshot(), here.tape.mark()
        turn = here.send((QUICK if quick else PACED)[kind], session_id)
        if watched and session_id is None:
            stack.enter_context(Subscriber(here.access, turn.session_id, 0))
        here.wait(turn)
        here.settle()
        usage = here.tape.snapshot().minus(before)
        entries = here.tape.since(mark)
    _, window_bytes = here.window(turn.session_id)
    return Measured(kind, number, watched, usage, window_bytes, entries), turn.session_id


def long_turns(here: Stage, numbers: Iterable[int]) -> Iterator[Measured]:
    """Yield turns of a session whose messages are pages long, so that it outgrows its window."""
    wanted = frozenset(numbers)
    session_id: str | None = None
    for number in range(1, max(wanted) + 1):
        text = f"[[say:Read.]] {pages(number)}"
        if number in wanted:
            here.settle()
        before, mark = here.tape.snapshot(), here.tape.mark()
        turn = here.send(text, session_id)
        here.wait(turn)
        session_id = turn.session_id
        if number in wanted:
            here.settle()
            usage = here.tape.snapshot().minus(before)
            _, window_bytes = here.window(session_id)
            yield Measured("plain", number, False, usage, window_bytes, here.tape.since(mark))


def pages(number: int) -> str:
    """Return pages of digits, others for each turn; compressed they take about half."""
    state = number
    words: list[str] = []
    while len(words) * 10 < PROSE_BYTES:
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        words.append(f"{state >> 32:09x}"[:9])
    return " ".join(words)
