"""Logs of runs, and what their streams are told with. No test lives here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from everturn.ports.sessions import Logged
from everturn.ports.streams import Delta
from everturn.runs.frames import RunFrame
from everturn.runs.outcome import outcome_of
from everturn.runs.telling import Telling, frames_of
from everturn.session.events.guards import LoopDetected
from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallDispatched,
    ModelCallErrored,
    ModelCallRequested,
    RequestHeader,
    RequestPrivate,
)
from everturn.session.events.sessions import StepStarted, TurnCompleted, TurnStalled, TurnStarted
from everturn.session.events.shape import Retry
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import (
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
)

RUN = "r1"
SESSION = "s1"
HEADER = {"config": {"provider": "demo", "model": "large", "reasoning": {"effort": "xhigh"}}}


def logged(*commits: Sequence[Event], first_seq: int = 1) -> tuple[Logged, ...]:
    """Return commits of these events, numbered on."""
    made = []
    for events in commits:
        last_seq = first_seq + len(events) - 1
        made.append(Logged(first_seq, last_seq, "id", 0, "driver:1", 1, "created", tuple(events)))
        first_seq = last_seq + 1
    return tuple(made)


def started() -> TurnStarted:
    return TurnStarted(turn_id=RUN)


def asked(call_id: str, header_seq: int = 1) -> ModelCallRequested:
    private = RequestPrivate(header_seq=header_seq, derivation=1, request_sha256="")
    return ModelCallRequested(
        turn_id=RUN, id=call_id, model="demo:large", retry=Retry(), private=private
    )


def header() -> RequestHeader:
    return RequestHeader(turn_id=RUN, header=HEADER, reason="initial", sha256="")


def dispatched(call_id: str, step: int, attempt: int = 1) -> tuple[Event, Event]:
    return (
        ModelCallDispatched(turn_id=RUN, id=call_id, attempt=attempt),
        StepStarted(turn_id=RUN, step=step, call_id=call_id, attempt=attempt),
    )


def replied(
    call_id: str, text: str = "", *tools: str, attempt: int = 1, reason: str | None = "stop"
) -> ModelCallCompleted:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tools:
        message["tool_calls"] = [
            {"id": one, "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}
            for one in tools
        ]
    return ModelCallCompleted(
        turn_id=RUN, id=call_id, attempt=attempt, message=message, finish_reason=reason
    )


def broke(call_id: str, attempt: int = 1) -> ModelCallErrored:
    return ModelCallErrored(turn_id=RUN, id=call_id, attempt=attempt, error="no", retryable=True)


def tool(call_id: str, handler: Any = "worker", arguments: str = '{"at":1}') -> ToolCallRequested:
    return ToolCallRequested(
        turn_id=RUN, id=call_id, name="look", arguments=arguments, handler=handler, retry=Retry()
    )


def begun(call_id: str, attempt: int = 1) -> ToolCallDispatched:
    return ToolCallDispatched(turn_id=RUN, id=call_id, attempt=attempt)


def found(call_id: str, result: str = "42", turn_id: str = RUN) -> ToolCallCompleted:
    return ToolCallCompleted(turn_id=turn_id, id=call_id, name="look", attempt=1, result=result)


def refused(call_id: str, error: str = "no", *, again: bool = False) -> ToolCallErrored:
    return ToolCallErrored(
        turn_id=RUN, id=call_id, name="look", attempt=1, error=error, retryable=again
    )


def looping(count: int = 3) -> LoopDetected:
    return LoopDetected(turn_id=RUN, consecutive_count=count, hard_cutoff=False, tools=("look",))


def done(**how: Any) -> TurnCompleted:
    return TurnCompleted(**{"turn_id": RUN, "outcome": "done", "data": "Hi"} | how)


def delta(dispatch_seq: int, n: int, turn_id: str = RUN, **body: Any) -> Delta:
    return Delta(dispatch_seq, n, "m1", 1, turn_id, body or {"text": f"{dispatch_seq}/{n}"})


def telling(commits: Sequence[Logged], deltas: Iterable[Delta] = ()) -> Telling:
    """Return how the run of these commits is told."""
    kept = tuple(deltas)

    def behind(dispatch_seq: int, after_n: int) -> list[Delta]:
        return [d for d in kept if d.dispatch_seq == dispatch_seq and d.n > after_n]

    return Telling(
        RUN,
        SESSION,
        lambda name: {"kind": "mcp_local", "mcpToolName": name},
        lambda: outcome_of(RUN, commits),
        behind,
    )


def told(commits: Sequence[Logged], deltas: Iterable[Delta] = (), after: int = 0) -> list[RunFrame]:
    """Return the frames behind a cursor."""
    return [*frames_of(telling(commits, deltas), commits, after)]


def kinds(frames: Iterable[RunFrame]) -> list[tuple[int, str]]:
    return [(frame.seq, frame.type) for frame in frames]


def data_of(frames: Iterable[RunFrame], kind: str) -> list[dict[str, Any]]:
    return [frame.data for frame in frames if frame.type == kind]


FLIPS = st.booleans()
OTHERS: tuple[Event, ...] = (
    TurnStalled(turn_id="other"),
    found("elsewhere", turn_id="other"),
    ModelCallDispatched(turn_id="other", id="theirs", attempt=1),
    ModelCallCompleted(turn_id="other", id="theirs", attempt=1, message={"content": "Not ours"}),
    TurnCompleted(turn_id="other", outcome="cancelled"),
)
"""What else a session's log may have between the events of a run."""


@st.composite
def runs(draw: st.DrawFn) -> tuple[tuple[Logged, ...], list[Delta]]:
    """Return a whole run and what its model calls streamed.

    Its tools end at any time, also while the model is called again; others write in between.
    """
    parts: list[tuple[Event, ...]] = [(*OTHERS,), (started(), header())]
    streamed: list[tuple[int, int]] = []
    late: list[Event] = []
    step = 0

    def others() -> None:
        parts.extend((one,) for one in draw(st.lists(st.sampled_from(OTHERS), max_size=2)))
        parts.extend((looping(),) for _ in range(draw(st.integers(0, 1))))

    for number in range(draw(st.integers(1, 3))):
        call_id, attempts = f"m{number}", draw(st.integers(1, 2))
        parts.append((asked(call_id, 7),))
        for attempt in range(1, attempts + 1):
            step += 1
            streamed.append((len(parts), draw(st.integers(0, 3))))
            parts.append(dispatched(call_id, step, attempt))
            others()
            while draw(FLIPS) and late:
                parts.append((late.pop(),))
            if attempt < attempts:
                parts.append((broke(call_id, attempt),))
        tools = [f"{call_id}t{one}" for one in range(draw(st.integers(0, 3)))]
        parts.append((replied(call_id, "Hm", *tools, attempt=attempts),))
        for one in tools:
            parts.append((tool(one, draw(st.sampled_from(["worker", "client"]))),))
            if draw(FLIPS):
                parts.append((begun(one),))
            late.append(found(one) if draw(FLIPS) else refused(one))
        others()
        while draw(FLIPS) and late:
            parts.append((late.pop(),))
    parts.append((done(),))
    commits = _committed(parts, draw)
    numbers = _numbers(parts)
    deltas = [delta(numbers[at], n) for at, count in streamed for n in range(1, count + 1)]
    return commits, deltas


def _numbers(parts: Sequence[Sequence[Event]]) -> list[int]:
    numbers, seq = [], 1
    for part in parts:
        numbers.append(seq)
        seq += len(part)
    return numbers


def _committed(parts: Sequence[Sequence[Event]], draw: st.DrawFn) -> tuple[Logged, ...]:
    commits: list[list[Event]] = [[]]
    for part in parts:
        if draw(FLIPS) and commits[-1]:
            commits.append([])
        commits[-1] += part
    return logged(*commits)
