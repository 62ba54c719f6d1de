"""Architecture 7 and W-9: merged pieces say what the deltas said, at most one an interval."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from everturn.protocol.llm import StreamDelta, ToolCallDelta
from everturn.push.coalesce import MAX_CHARS, Coalescer, apart, merged

TEXTS = st.none() | st.text(max_size=12)
CHUNKS = st.builds(
    ToolCallDelta,
    id=st.sampled_from(["c1", "c2"]),
    name=st.sampled_from([None, "f"]),
    arguments=TEXTS,
)
DELTAS = st.builds(
    StreamDelta,
    text=TEXTS,
    reasoning=TEXTS,
    tool_calls=st.none() | st.lists(CHUNKS, max_size=3).map(tuple),
    finish_reason=st.none() | st.sampled_from(["stop", "length"]),
)


def shown(deltas: Sequence[StreamDelta]) -> tuple[object, ...]:
    """What a watcher shows after these: text, reasoning, calls in order, finish reason."""
    calls: dict[str, tuple[str | None, str]] = {}
    for chunk in (chunk for delta in deltas for chunk in delta.tool_calls or ()):
        name, arguments = calls.get(chunk.id, (None, ""))
        calls[chunk.id] = (name or chunk.name, arguments + (chunk.arguments or ""))
    finish_reasons = [delta.finish_reason for delta in deltas if delta.finish_reason]
    return (
        "".join(delta.text or "" for delta in deltas),
        "".join(delta.reasoning or "" for delta in deltas),
        list(calls.items()),
        finish_reasons[-1:],
    )


@given(deltas=st.lists(DELTAS, max_size=12), max_chars=st.integers(min_value=1, max_value=40))
def test_merged_pieces_say_what_the_deltas_said(deltas: list[StreamDelta], max_chars: int) -> None:
    pieces = merged(deltas, max_chars=max_chars)

    assert shown(pieces) == shown(deltas)
    assert all(len(piece.text or "") + len(piece.reasoning or "") <= max_chars for piece in pieces)
    assert [piece for piece in pieces[:-1] if piece.finish_reason] == []


@given(deltas=st.lists(DELTAS, max_size=12), cut=st.integers(min_value=0, max_value=12))
def test_merging_in_two_steps_is_merging_at_once(deltas: list[StreamDelta], cut: int) -> None:
    stepwise = merged([*merged(deltas[:cut]), *deltas[cut:]])

    assert stepwise == merged(deltas)


@given(
    timed=st.lists(
        st.tuples(DELTAS, st.floats(min_value=0, max_value=1), st.booleans(), st.booleans())
    )
)
def test_whatever_the_clock_and_the_caller_do_nothing_is_lost(
    timed: list[tuple[StreamDelta, float, bool, bool]],
) -> None:
    coalescer, now_s = Coalescer(), 100.0

    ready: list[StreamDelta] = []
    for delta, passed_s, flushes, takes_long in timed:
        now_s += passed_s
        ready += coalescer.offer(delta, now_s)
        if flushes and coalescer.due_in(now_s) is not None:
            ready += coalescer.flush(now_s)
        if takes_long:
            now_s += 1
            coalescer.rest(now_s)
    ready += coalescer.flush()

    assert shown(ready) == shown([delta for delta, *_ in timed])
    assert coalescer.due_in(now_s) is None


def test_the_first_delta_goes_at_once_and_then_one_an_interval() -> None:
    coalescer = Coalescer()

    ready = [
        coalescer.offer(StreamDelta(text="a"), 10.0),
        coalescer.offer(StreamDelta(text="b"), 10.125),
        coalescer.offer(StreamDelta(text="c"), 10.1875),
        coalescer.offer(StreamDelta(text="d"), 10.25),
        coalescer.offer(StreamDelta(text="e"), 10.375),
    ]

    assert ready == [[StreamDelta(text="a")], [], [], [StreamDelta(text="bcd")], []]
    assert coalescer.due_in(10.375) == 0.125
    assert coalescer.due_in(11.0) == 0.0
    assert coalescer.flush(10.5) == [StreamDelta(text="e")]
    assert coalescer.due_in(10.5) is None
    assert coalescer.offer(StreamDelta(text="f"), 10.625) == []


def test_the_interval_begins_when_what_was_ready_has_gone_out() -> None:
    coalescer = Coalescer()
    coalescer.offer(StreamDelta(text="a"), 10.0)
    coalescer.rest(13.0)

    ready = [coalescer.offer(StreamDelta(text="b"), 13.125)]
    ready += [coalescer.offer(StreamDelta(text="c"), 13.25)]

    assert ready == [[], [StreamDelta(text="bc")]]


def test_what_outgrows_a_frame_does_not_wait() -> None:
    coalescer = Coalescer()
    coalescer.offer(StreamDelta(text="a"), 0.0)

    ready = coalescer.offer(StreamDelta(text="b" * (MAX_CHARS + 5)), 0.1)

    assert ready == [StreamDelta(text="b" * MAX_CHARS)]
    assert coalescer.flush() == [StreamDelta(text="b" * 5)]


@given(deltas=st.lists(DELTAS, max_size=6))
def test_pieces_that_are_taken_apart_say_the_same_and_never_two_things(
    deltas: list[StreamDelta],
) -> None:
    pieces = merged(deltas)

    parts = [part for piece in pieces for part in apart(piece)]

    assert shown(parts) == shown(pieces)
    assert not [one for one in parts if one.reasoning and (one.text or one.tool_calls)]
