"""The wake-up."""

from typing import Any

import pytest
from pydantic import ValidationError

from everturn.protocol.ids import SessionId, TenantId
from everturn.protocol.wake import WAKE, WakeUp
from everturn.protocol.wire import to_json

WAKES: list[dict[str, Any]] = [
    {"step": "decision", "tenant": "t", "session": "s", "version": 0},
    {"step": "llm", "tenant": "t", "session": "s", "version": 3},
    {"step": "tool", "tenant": "t", "session": "s", "version": 3, "subject": "c1"},
    {
        "step": "timer",
        "tenant": "t",
        "session": "s",
        "version": 3,
        "due": "2030-01-01T00:00:00.000Z",
        "subject": "w1",
    },
]


@pytest.mark.parametrize("data", WAKES)
def test_every_wake_up_is_read_and_written_alike(data: dict[str, Any]) -> None:
    wake = WAKE.validate_python(data)

    assert to_json(wake) == data
    assert WAKE.validate_json(wake.model_dump_json()) == wake


def test_a_field_of_next_year_is_ignored() -> None:
    wake = WAKE.validate_json('{"step":"llm","tenant":"t","session":"s","version":1,"priority":9}')

    assert wake == WakeUp(step="llm", tenant=TenantId("t"), session=SessionId("s"), version=1)


@pytest.mark.parametrize("change", [{"step": "nap"}, {"version": "1"}, {"version": -1}])
def test_a_wake_up_that_cannot_be_read_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WAKE.validate_python(WAKES[0] | change)
