"""How a tool call ends, and how its result enters the conversation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everturn.session.commands import ToolRefused
from everturn.session.decide.tool_result import (
    fail_tool,
    finish_tool,
    never_started,
    outcome_unknown,
    write_result,
)
from everturn.session.events.messages import MessageNew
from everturn.session.events.shape import Retry
from everturn.session.events.tool_calls import ToolCallErrored
from everturn.session.journal import Journal
from everturn.session.refs import same_as
from everturn.session.state import Call, CallStatus, Decision, Session
from unit.session.building import NOON_MS, Story, made, only, stamp, types


def running(retry: Retry | None = None) -> Journal:
    """Return a journal in which the call `c1` runs for the first time."""
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"))
    call = replace(story.session.calls[0], retry=retry or Retry())
    return Journal(replace(story.session, calls=(call,)), stamp(9), story.facts())


def test_a_result_stands_once_in_the_log() -> None:
    journal = running()
    before = journal.session.seq

    finish_tool(journal, journal.session.calls[0], "sent", "d1")

    message = only(MessageNew, journal.events)[0]
    assert message.refs == {"message.content": same_as(before + 1, "result")}
    assert journal.path[-1].message["content"] == "sent"
    assert "content" not in message.message


@pytest.mark.parametrize("text", ["", "null", "ü\n"])
def test_a_result_is_the_text_that_came(text: str) -> None:
    """U-9."""
    journal = running()

    finish_tool(journal, journal.session.calls[0], text, "d1")

    assert journal.path[-1].message["content"] == text


def test_the_message_of_a_result_has_the_same_id_whenever_it_is_made() -> None:
    """M-6, storage and commits: ids of a proposal depend on session, decision and position."""
    first, again, other = running(), running(), running()
    finish_tool(first, first.session.calls[0], "sent", "d1")
    finish_tool(again, again.session.calls[0], "sent", "d1")
    finish_tool(other, other.session.calls[0], "sent", "d2")

    ids = [journal.path[-1].message["id"] for journal in (first, again, other)]

    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize(
    ("retryable", "attempt", "again"),
    [(True, 1, True), (True, 2, True), (True, 3, False), (False, 1, False)],
)
def test_an_error_is_repeated_while_it_may_and_attempts_remain(
    retryable: bool, attempt: int, again: bool
) -> None:
    """R-2, R-3, U-10."""
    journal = running(Retry(max_retries=3, backoff_base_secs=2, backoff_max_secs=60))
    call = journal.session.calls[0]

    fail_tool(journal, call, ToolRefused("busy", retryable), attempt=attempt)

    errored = only(ToolCallErrored, journal.events)[0]
    wait_ms = 1000 * 2**attempt if again else None
    assert errored.retryable is again
    assert errored.next_attempt_at_ms == (NOON_MS + wait_ms if wait_ms else None)
    assert bool(only(MessageNew, journal.events)) is not again
    statuses = [one.status for one in journal.session.calls]
    assert statuses == ([CallStatus.RETRY_SCHEDULED] if again else [])


def test_an_unknown_outcome_is_an_error_that_is_never_repeated() -> None:
    """Agent-session 6."""
    journal = running(Retry(max_retries=3))

    outcome_unknown(journal, journal.session.calls[0], "d1")

    errored = only(ToolCallErrored, journal.events)[0]
    assert (errored.retryable, errored.detail) == (False, {"reason": "outcome_unknown"})


@pytest.mark.parametrize(
    ("attempt", "may_have_started", "never"),
    [(0, False, True), (1, False, True), (1, True, False), (2, False, False)],
)
def test_a_call_never_started_if_no_delivery_reached_the_worker(
    attempt: int, may_have_started: bool, never: bool
) -> None:
    call = Call("c1", "tool_call", 1, Retry(), attempt=attempt)
    decision = Decision("d1", "tool.execute", 2, "c1", may_have_started=may_have_started)

    assert never_started(call, decision) is never


def test_the_model_is_asked_only_at_the_end_of_an_open_step() -> None:
    """Q-4, TS-3: without a turn, a step, or with calls open, nothing follows."""
    open_call, no_turn = running(), Journal(Session(), stamp(), Story().facts())
    no_step = running()
    assert no_step.session.turn is not None
    turn = replace(no_step.session.turn, step_call="")
    no_step.session = replace(no_step.session, calls=(), turn=turn)

    for journal in (open_call, no_turn, no_step):
        write_result(journal)

    assert [types(journal.events) for journal in (open_call, no_turn, no_step)] == [[], [], []]
