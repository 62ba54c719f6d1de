"""A turn is stopped, a session is ended: what is given up, what the model reads, what follows."""

from __future__ import annotations

import json

import pytest

from everturn.rejections import SessionCancelled
from everturn.session.commands import LeftOpen
from everturn.session.decide.cancel import NEVER_STARTED
from everturn.session.decide.client_answers import CANCELLED_BEFORE_RESULT
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import ModelCallAborted, ModelCallDispatched
from everturn.session.events.sessions import SessionCancelled as Cancelled
from everturn.session.events.sessions import TurnCancelRequested, TurnCompleted
from everturn.session.events.tool_calls import CallVoided
from everturn.session.formats import format_of
from everturn.session.propose import DeliverToWorker, NoteLastWords, propose
from everturn.session.state import Aborting, is_quiescent, status_of
from unit.session.building import CONFIG, Story, made, only, said, types, usage
from unit.session.deciding import Deciding, running
from unit.session.steps import acting, begun, interrupted, resumed, silent, until

pending = silent("llm.execute")


def results(story: Story) -> dict[str, str]:
    """Return what the model reads of each tool call of the path."""
    return {m["tool_call_id"]: m["content"] for m in story.messages() if m["role"] == "tool"}


def test_a_stopped_turn_gives_up_what_is_under_way_in_one_commit() -> None:
    """T-12, T-16, O-20: each call is closed by how far it had come, in call order."""
    story = Story()
    story.submit()
    names = ("get_weather", "send_email", "send_email", "look_around", "get_weather")
    story.answer("", *(made(f"c{n}", name) for n, name in enumerate(names)), usage=usage(1))
    story.worker("c4", "sunny")

    events = story.cancel()

    assert types(events) == [
        "turn.cancel_requested",
        *["decision.dropped"] * 2,
        *["call.voided"] * 4,
        *["message.new"] * 4,
        "step.ended",
        "turn.completed",
    ]
    assert only(TurnCancelRequested, events)[0].cause == "user"
    assert {one.reason for one in only(DecisionDropped, events)} == {"turn_cancelled"}
    assert [(v.id, v.reason, v.private.outcome_unknown) for v in only(CallVoided, events)] == [
        ("c0", "turn_cancelled", False),
        ("c1", "turn_cancelled", True),
        ("c2", "turn_cancelled", False),
        ("c3", "turn_cancelled", True),
    ]
    assert results(story) == {
        "c0": CANCELLED_BEFORE_RESULT,
        "c1": OUTCOME_UNKNOWN,
        "c2": NEVER_STARTED,
        "c3": OUTCOME_UNKNOWN,
        "c4": "sunny",
    }
    assert all(one.private.is_error for one in only(MessageNew, events))
    ended = only(TurnCompleted, events)[0]
    assert (ended.outcome, ended.usage) == ("cancelled", usage(1))
    assert (status_of(story.session), propose(story.session).effects) == ("idle", ())


def test_the_fixed_result_of_a_call_that_never_started_is_the_documented_json() -> None:
    """Vocabulary, "Ids and fixed words"."""
    assert json.loads(NEVER_STARTED) == {
        "status": "cancelled",
        "reason": "turn_cancelled_by_user",
    }


def test_after_a_stop_the_next_message_runs_at_once() -> None:
    """F11: the stop is a change of stored state; it needs nobody who is still alive."""
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"))
    story.cancel()

    events = story.submit("Something else.")

    assert only(ModelCallDispatched, events)[0].attempt == 1
    assert [m["role"] for m in story.requests()[-1]["messages"]][-3:] == [
        "assistant",
        "tool",
        "user",
    ]


def test_what_a_broken_off_model_call_had_said_is_kept_after_the_turn_is_over() -> None:
    """Storage-and-commits, "Cancel": `llm.call.aborted` follows `turn.completed`."""
    story = Story()
    story.submit()
    call = story.model_call

    events = story.cancel()

    assert types(events) == [
        "turn.cancel_requested",
        "call.voided",
        "step.ended",
        "turn.completed",
    ]
    assert story.session.aborting == (Aborting(call.id, 1, call.seq, "t1"),)
    assert propose(story.session).effects == (NoteLastWords(call.id, 1, call.seq),)
    assert propose(story.session).runs_here
    assert story.note_aborted("another call", "Twice") == ()
    noted = story.note_aborted(call.id, "Once upon", usage=usage(2))
    assert noted == (
        ModelCallAborted(
            turn_id="t1", id=call.id, attempt=1, partial_text="Once upon", usage=usage(2)
        ),
    )
    assert propose(story.session).effects == ()
    assert story.note_aborted(call.id, "Once upon") == ()


def test_the_usage_of_a_broken_off_call_is_not_the_next_turns() -> None:
    """Y-3: a turn has the usage of its own calls."""
    story = Story()
    story.submit()
    call = story.model_call
    story.cancel()
    story.submit("Again.")

    story.note_aborted(call.id, "", usage=usage(5))
    ended = story.answer("Yes.", usage=usage(1))

    assert only(TurnCompleted, ended)[0].usage == usage(1)


def test_a_model_call_that_only_waits_for_its_next_attempt_has_no_last_words() -> None:
    story = Story()
    story.submit()
    story.fail_model()

    events = story.cancel()

    assert [one.private.aborts for one in only(CallVoided, events)] == [False]
    assert story.session.aborting == ()


def test_stopping_a_turn_that_is_not_open_changes_nothing() -> None:
    """Agent-session 14, invariant 5."""
    story = Story()
    story.submit()
    story.answer("Hello.")
    ended = story.cancel("t1")
    story.submit("More.")

    other = story.cancel("t1")

    assert (ended, other) == ((), ())
    assert story.session.turn is not None


def test_a_late_result_of_a_stopped_turn_is_refused() -> None:
    """D-12, U-12: nothing is recorded."""
    story = Story()
    story.submit()
    story.answer("", made("c1", "get_weather"))
    delivery = story.delivery("c1")
    story.worker("c1", LeftOpen())
    story.cancel()

    assert story.session.call("c1") is None
    assert story.session.decision(delivery.id) is None


def test_a_delivery_that_nobody_was_sent_yet_is_no_unknown_outcome() -> None:
    """O-20: it waits for its next attempt, and nothing was sent in the first one."""
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"))
    story.lose("c1", started="no")

    events = story.cancel()

    assert only(CallVoided, events)[0].private.outcome_unknown is False
    assert results(story) == {"c1": NEVER_STARTED}


def test_a_stop_clears_the_pause_of_its_turn() -> None:
    """T-12: an interrupted turn can be stopped."""
    story = Story()
    story.submit()
    interrupted(story)

    story.cancel()

    assert story.session.interrupts == ()
    assert status_of(story.session) == "idle"
    assert resumed(story) == []


def test_a_pause_keeps_what_the_model_call_had_said() -> None:
    """I-4: the call is voided, its words are noted."""
    story = Story()
    story.submit()
    call = story.model_call

    interrupted(story)

    assert propose(story.session).effects == (NoteLastWords(call.id, 1, call.seq),)
    assert types(story.note_aborted(call.id, "Half")) == ["llm.call.aborted"]
    assert status_of(story.session) == "interrupted"


def test_the_worker_that_decides_is_not_asked_about_a_stopped_turn_any_more() -> None:
    """T-12, D-11, D-13: the live question is dropped; a late answer to it is a no-op."""
    story = begun()
    asked = until(story, "client.messages")

    events = story.cancel()
    late = story.respond(asked.id, {"actions": [{"type": "done"}]}, attempt=1)

    assert types(events) == ["turn.cancel_requested", "decision.dropped", "turn.completed"]
    assert late == ()
    assert story.session.decisions == ()


def test_the_start_of_a_session_is_still_decided_after_its_first_turn_was_stopped() -> None:
    """T-11: `session.start` belongs to no turn."""
    story = begun()
    until(story, "session.start")

    story.cancel()
    story.run()
    story.submit("Hello again.")

    assert story.triggers() == ["session.start", "client.messages", "llm.finished"]
    assert story.session.last_outcome == "done"


def test_a_result_that_was_recorded_and_not_told_yet_stays_the_result() -> None:
    """T-16 closes what has no result; this one has."""
    calls = [made("c1", "get_weather"), made("c2", "get_weather"), made("c3", "get_weather")]
    story = Deciding(worker_=silent("tool.execute"))
    story.replies = [said("", *calls)]
    story.submit()
    story.settle({"type": "tool.result", "id": "c2", "result": "cloudy"})
    story.settle({"type": "tool.error", "id": "c3", "error": "no such place"})

    events = story.cancel()

    assert results(story) == {
        "c1": CANCELLED_BEFORE_RESULT,
        "c2": "cloudy",
        "c3": "no such place",
    }
    assert [bool(one.private.is_error) for one in only(MessageNew, events)] == [True, False, True]


def test_an_order_that_waits_its_turn_never_started() -> None:
    """O-20: worker-decided tools are dispatched together and delivered one by one."""
    effects = [{**tool, "effect": "non_idempotent_write"} for tool in CONFIG["tools"]]
    story = Deciding(config={**CONFIG, "tools": effects}, worker_=running())
    story.replies = [said("", made("c1", "send_email"), made("c2", "send_email"))]
    story.do(story.submitting(decides="worker"))
    until(story, "tool.execute")

    events = story.cancel()

    assert [(v.id, v.private.outcome_unknown) for v in only(CallVoided, events)] == [
        ("c1", True),
        ("c2", False),
    ]
    assert results(story) == {"c1": OUTCOME_UNKNOWN, "c2": NEVER_STARTED}


def test_a_model_call_of_an_earlier_turn_survives_the_stop_of_the_next_one() -> None:
    """T-10, T-12: a turn's stop voids its own calls."""
    worker = acting("client.messages", {"type": "llm.call"}, {"type": "done"}, also=pending)
    story = Deciding(worker_=worker, config={**CONFIG, "handler": "worker"})
    story.submit()
    survivor = story.model_call
    story.submit("Something else.")

    events = story.cancel("t2")

    assert survivor.id not in {one.id for one in only(CallVoided, events)}
    assert story.session.call(survivor.id) is not None


def test_a_cancelled_session_takes_no_input_and_is_left_alone() -> None:
    """S-7, S-8."""
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"))

    events = story.cancel_session(cause="parent")

    assert types(events)[-2:] == ["turn.completed", "session.cancelled"]
    assert only(Cancelled, events)[0].cause == "parent"
    assert [one.reason for one in only(CallVoided, events)] == ["session_cancelled"]
    assert status_of(story.session) == "cancelled"
    assert format_of(story.session) == 2
    assert propose(story.session).effects == ()
    assert story.cancel_session() == ()
    with pytest.raises(SessionCancelled):
        story.submit("Anybody there?")


def test_a_cancelled_session_takes_nothing_else_either() -> None:
    """S-8: any later input is refused."""
    story = Deciding()
    story.submit()
    story.cancel_session()

    for refused in (
        lambda: story.settle({"type": "tool.result", "id": "c1", "result": 1}),
        lambda: interrupted(story),
        lambda: resumed(story),
    ):
        with pytest.raises(SessionCancelled):
            refused()


def test_cancelling_an_idle_session_needs_no_turn() -> None:
    """S-8."""
    story = Story()
    story.submit()
    story.answer("Hello.")

    events = story.cancel_session()

    assert types(events) == ["session.cancelled"]
    assert not is_quiescent(story.session)


def test_cancelling_a_session_clears_every_interrupt() -> None:
    """S-8."""
    story = Story()
    story.submit()
    interrupted(story, "one")
    interrupted(story, "two")

    story.cancel_session()

    assert story.session.interrupts == ()
    assert status_of(story.session) == "cancelled"


def test_a_driver_that_vanished_leaves_the_last_words_to_its_successor() -> None:
    """F11: who takes over has the same to note, and nothing else to replace."""
    story = Story()
    story.submit()
    call = story.model_call
    story.cancel()

    assert story.take_over() == ()
    assert propose(story.session).effects == (NoteLastWords(call.id, 1, call.seq),)


def test_a_refusal_of_a_tool_after_the_stop_is_nobodys() -> None:
    """Invariant 6: the attempt that was given up cannot be answered."""
    story = Story()
    story.submit()
    story.answer("", made("c1", "get_weather"))
    wanted = propose(story.session).effects
    story.cancel()

    assert isinstance(wanted[0], DeliverToWorker)
    assert wanted[0] not in propose(story.session).effects
