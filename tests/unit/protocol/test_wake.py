"""The wake-up."""

from typing import Any

import pytest
from pydantic import ValidationError

from everturn.protocol.ids import DecisionId, SessionId, TenantId
from everturn.protocol.wake import UNREADABLE_ANSWER, WAKE, Settles, WakeUp, read_wake
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
    {
        "step": "tool",
        "tenant": "t",
        "session": "s",
        "version": 3,
        "subject": "d1",
        "settles": {"decision_id": "d1", "attempt": 1, "answer": {"state": 12345678901234567890}},
    },
    {
        "step": "tool",
        "tenant": "t",
        "session": "s",
        "version": 3,
        "settles": {"decision_id": "d1", "attempt": 1, "answer": None},
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


@pytest.mark.parametrize(
    "change",
    [
        {"step": "nap"},
        {"version": "1"},
        {"version": -1},
        {"settles": {"decision_id": "d1", "attempt": 1}},
        {"settles": {"decision_id": "d1", "attempt": 1, "answer": {}, "error": "KeyError"}},
        {"settles": {"decision_id": "d1", "attempt": 0, "answer": {}}},
    ],
)
def test_a_wake_up_that_cannot_be_read_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WAKE.validate_python(WAKES[0] | change)


ABOUT = '{"step":"tool","tenant":"t","session":"s","version":3,"settles":'


@pytest.mark.parametrize(
    "answer", ['{"a":"\\ud800"}', "NaN", "[" * 500 + "]" * 500], ids=["surrogate", "NaN", "deep"]
)
def test_an_answer_that_cannot_be_read_does_not_stop_the_wake_up(answer: str) -> None:
    body = f'{ABOUT}{{"decision_id":"d1","attempt":2,"answer":{answer}}}}}'

    settles = read_wake(body).settles

    assert settles is not None
    assert settles.attempt == 2
    assert answer == "NaN" or settles.error == UNREADABLE_ANSWER


@pytest.mark.parametrize(
    "body", ["", "[", "7", "{}", f'{ABOUT}{{"answer":"\\ud800"}}}}', f'{ABOUT}{{"error":7}}}}']
)
def test_what_is_no_wake_up_is_none(body: str) -> None:
    with pytest.raises(ValidationError):
        read_wake(body)


def test_what_is_kept_of_a_wake_up_is_no_content() -> None:
    wake = WAKE.validate_python(WAKES[4])

    kept = wake.without_content()

    assert wake.settles == Settles(
        decision_id=DecisionId("d1"), attempt=1, answer={"state": 12345678901234567890}
    )
    assert to_json(kept) == {name: WAKES[4][name] for name in WAKES[4] if name != "settles"}
