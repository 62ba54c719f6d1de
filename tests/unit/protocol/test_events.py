"""The public envelope and the two spellings of a moment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.protocol.events import EVENT_ENVELOPE, from_rfc3339, to_rfc3339
from everturn.protocol.wire import parse, to_json
from everturn.rejections import SchemaViolation

FIRST_MS = -62_135_596_800_000
LAST_MS = 253_402_300_799_999


@given(at_ms=st.integers(min_value=FIRST_MS, max_value=LAST_MS))
def test_a_moment_survives_both_conversions(at_ms: int) -> None:
    text = to_rfc3339(at_ms)

    assert from_rfc3339(text) == at_ms
    assert len(text) == len("2030-01-01T00:00:00.000Z")


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (FIRST_MS, "0001-01-01T00:00:00.000Z"),
        (LAST_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_has_exactly_three_fraction_digits(at_ms: int, text: str) -> None:
    assert (to_rfc3339(at_ms), from_rfc3339(text)) == (text, at_ms)


@pytest.mark.parametrize(
    "text",
    [
        "1970-01-01T00:00:01Z",
        "1970-01-01t00:00:01z",
        "1970-01-01T00:00:01.0Z",
        "1970-01-01T02:00:01.00+02:00",
        "1969-12-31T23:30:01.000-00:30",
    ],
)
def test_other_spellings_of_a_moment_are_read(text: str) -> None:
    assert from_rfc3339(text) == 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01 00:00:00Z",
        "1970-01-01T00:00:00.0001Z",
        "1970-02-30T00:00:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00+24:00",
        "0000-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z\n",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="moment"):
        from_rfc3339(text)


@pytest.mark.parametrize("at_ms", [FIRST_MS - 1, LAST_MS + 1, 10**30])
def test_a_moment_outside_the_calendar_is_refused(at_ms: int) -> None:
    with pytest.raises(ValueError, match="years"):
        to_rfc3339(at_ms)


def test_an_envelope_is_read_and_written_alike() -> None:
    data = {
        "session_id": "s1",
        "seq": 1,
        "occurred_at": "2030-01-01T00:00:00.000Z",
        "payload": {"type": "session.done", "cause": None},
    }

    envelope = parse(EVENT_ENVELOPE, data)

    assert to_json(envelope) == data
    with pytest.raises(SchemaViolation, match="/seq: should be greater"):
        parse(EVENT_ENVELOPE, data | {"seq": 0})
