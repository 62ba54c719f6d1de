"""Answers that keep a tool's call open: what is in order by itself, each limit at its edge."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.agent import read_agent
from everturn.protocol.limits import (
    MAX_CHOICE_BYTES,
    MAX_CHOICES,
    MAX_PAYLOAD_BYTES,
    MAX_POLICY_SECS,
    MAX_QUESTION_BYTES,
    MAX_TASK_ID_BYTES,
    MIN_POLL_SECONDS,
)
from everturn.rejections import SchemaViolation
from worker_answers import read_response

ASK: dict[str, Any] = {"type": "tool.ask", "question": "Sure?"}
TASK: dict[str, Any] = {"type": "tool.task", "task_id": "job-7", "poll_interval_seconds": 5}
PENDING: dict[str, Any] = {"type": "tool.pending"}
QUOTES = len('""')


def read(action: dict[str, Any]) -> None:
    """Read an answer with one action."""
    read_response({"actions": [action]}, decides="worker")


@pytest.mark.parametrize(
    "action",
    [
        ASK,
        {**ASK, "question": "é" * (MAX_QUESTION_BYTES // 2)},
        {**ASK, "choices": []},
        {**ASK, "allows_free_text": True},
        {**ASK, "choices": ["c" * MAX_CHOICE_BYTES] * MAX_CHOICES, "allows_free_text": False},
        {**ASK, "continuation": "c" * (MAX_PAYLOAD_BYTES - QUOTES)},
        {**TASK, "task_id": "t" * MAX_TASK_ID_BYTES, "continuation": None},
        {**TASK, "poll_interval_seconds": MIN_POLL_SECONDS},
        {**TASK, "poll_interval_seconds": 1.5},
        {**TASK, "poll_interval_seconds": MAX_POLICY_SECS},
        PENDING,
        {**PENDING, "poll_interval_seconds": MIN_POLL_SECONDS, "continuation": {"page": 2}},
    ],
)
def test_what_is_in_order_is_taken(action: dict[str, Any]) -> None:
    read(action)


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ({**ASK, "question": ""}, "/actions/0/question: is blank"),
        ({**ASK, "question": " \n"}, "/actions/0/question: is blank"),
        (
            {**ASK, "question": "é" * (MAX_QUESTION_BYTES // 2) + "e"},
            f"/actions/0/question: more than {MAX_QUESTION_BYTES} bytes",
        ),
        (
            {**ASK, "allows_free_text": False},
            "/actions/0/allows_free_text: is false, and there are no choices",
        ),
        ({**ASK, "choices": "yes"}, "/actions/0/choices: "),
        ({**ASK, "choices": [1]}, "/actions/0/choices/0: "),
        ({**ASK, "choices": ["yes", " "]}, "/actions/0/choices/1: is blank"),
        (
            {**ASK, "choices": ["c" * (MAX_CHOICE_BYTES + 1)]},
            f"/actions/0/choices/0: more than {MAX_CHOICE_BYTES} bytes",
        ),
        (
            {**ASK, "choices": ["c"] * (MAX_CHOICES + 1)},
            f"/actions/0/choices: more than {MAX_CHOICES} choices",
        ),
        (
            {**ASK, "continuation": "c" * (MAX_PAYLOAD_BYTES - QUOTES + 1)},
            f"/actions/0/continuation: more than {MAX_PAYLOAD_BYTES} bytes",
        ),
        ({**TASK, "task_id": " "}, "/actions/0/task_id: is blank"),
        (
            {**TASK, "task_id": "t" * (MAX_TASK_ID_BYTES + 1)},
            f"/actions/0/task_id: more than {MAX_TASK_ID_BYTES} bytes",
        ),
        ({**TASK, "poll_interval_seconds": 0.99}, "/actions/0/poll_interval_seconds: "),
        ({**TASK, "poll_interval_seconds": 0}, "/actions/0/poll_interval_seconds: "),
        ({**TASK, "poll_interval_seconds": "5"}, "/actions/0/poll_interval_seconds: "),
        ({**TASK, "poll_interval_seconds": None}, "/actions/0/poll_interval_seconds: "),
        ({**PENDING, "poll_interval_seconds": MAX_POLICY_SECS + 1}, "/actions/0/poll_interval"),
        ({**PENDING, "id": "c1"}, "/actions/0/id: "),
    ],
)
def test_what_is_not_says_where(action: dict[str, Any], problem: str) -> None:
    with pytest.raises(SchemaViolation) as refused:
        read(action)

    assert refused.value.message.startswith(problem)


@pytest.mark.parametrize(
    ("seconds", "is_taken"), [(0, False), (0.5, True), (31_536_000, True), (31_536_001, False)]
)
def test_questions_have_a_deadline_of_up_to_a_year(seconds: float, is_taken: bool) -> None:
    definition = {"model": "demo", "question_deadline_secs": seconds}

    if is_taken:
        assert read_agent(definition).question_deadline_secs == seconds
    else:
        with pytest.raises(SchemaViolation, match="/question_deadline_secs"):
            read_agent(definition)
