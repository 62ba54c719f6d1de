"""Architecture 7: the frames of events and deltas, and what is too large for one."""

from __future__ import annotations

import json
from dataclasses import replace

from everturn.protocol.limits import WEBSOCKET_OUTBOUND_BYTES
from everturn.protocol.llm import StreamDelta, ToolCallDelta
from everturn.push.coalesce import MAX_CHARS
from everturn.push.frames import DeltaPush, EventPush, delta_frame, event_frame, joined

ENVELOPE = {
    "session_id": "s1",
    "seq": 7,
    "occurred_at": "2026-08-05T18:04:00.000Z",
    "payload": {"type": "message.new", "message": {"id": "m1", "role": "user", "content": "grüß"}},
}
EVENT = EventPush(
    subscription="sub-1", session_id="s1", seq=7, prev_seq=5, cursor="7.4-2", envelope=ENVELOPE
)
DELTA = DeltaPush(
    subscription="sub-1",
    session_id="s1",
    cursor="7.6-1",
    agent_id="poet",
    turn_id="t1",
    call_id="c1",
    attempt=2,
    seq=1,
    delta=StreamDelta(text="hel"),
)


def test_an_event_frame_carries_its_place_and_its_envelope() -> None:
    frame = event_frame(EVENT)

    assert json.loads(frame) == {
        "type": "event",
        "id": "sub-1",
        "session_id": "s1",
        "seq": 7,
        "prev_seq": 5,
        "cursor": "7.4-2",
        "event": ENVELOPE,
    }


def test_an_event_becomes_a_reference_one_byte_over_the_limit() -> None:
    spare = WEBSOCKET_OUTBOUND_BYTES - len(event_frame(EVENT)) - len(',"pad":""')

    fits = event_frame(replace(EVENT, envelope={**ENVELOPE, "pad": "x" * spare}))
    over = event_frame(replace(EVENT, envelope={**ENVELOPE, "pad": "x" * (spare + 1)}))

    assert len(fits) == WEBSOCKET_OUTBOUND_BYTES
    assert json.loads(over) == {
        "type": "event_ref",
        "id": "sub-1",
        "session_id": "s1",
        "seq": 7,
        "prev_seq": 5,
        "cursor": "7.4-2",
        "event_type": "message.new",
    }


def test_a_delta_frame_says_whose_piece_it_is() -> None:
    frames = [delta_frame(DELTA), delta_frame(replace(DELTA, turn_id=None))]

    assert [json.loads(frame) for frame in frames] == [
        {
            "type": "delta",
            "id": "sub-1",
            "session_id": "s1",
            "cursor": "7.6-1",
            "prev_n": 0,
            "delta": {
                "type": "llm.token.delta",
                "session_id": "s1",
                "agent_id": "poet",
                **turn,
                "call_id": "c1",
                "attempt": 2,
                "seq": 1,
                "text": "hel",
            },
        }
        for turn in ({"turn_id": "t1"}, {})
    ]


def test_the_largest_piece_fits_a_frame_even_where_every_character_is_escaped() -> None:
    frame = delta_frame(replace(DELTA, delta=StreamDelta(text="\x01" * MAX_CHARS)))

    assert len(frame) <= WEBSOCKET_OUTBOUND_BYTES


def test_pieces_of_one_answer_are_joined_at_the_place_of_the_later() -> None:
    chunk = ToolCallDelta(id="t", name="f", arguments="{")
    later = replace(DELTA, cursor="7.6-2", seq=2, delta=StreamDelta(text="lo", tool_calls=(chunk,)))

    both = joined(DELTA, later)

    whole = StreamDelta(text="hello", tool_calls=(chunk,))
    assert both == replace(later, delta=whole, prev_n=0)


def test_pieces_of_different_answers_or_readers_stay_apart() -> None:
    others = [
        replace(DELTA, call_id="c2"),
        replace(DELTA, attempt=3),
        replace(DELTA, subscription="sub-2"),
        replace(DELTA, session_id="s2"),
        replace(DELTA, delta=StreamDelta(text="x" * MAX_CHARS)),
    ]

    assert [joined(DELTA, other) for other in others] == [None] * 5
