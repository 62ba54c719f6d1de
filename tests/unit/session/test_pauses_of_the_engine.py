"""Pauses that the engine raises itself where an agent asks for them: failures, cut-off replies."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import SessionInterrupted
from everturn.session.commands import RaiseInterrupt, ResumeInterrupt
from everturn.session.events.interrupts import SessionInterrupted as Interrupted
from everturn.session.events.model_calls import ModelCallErrored
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.stored import Event
from everturn.session.propose import propose
from everturn.session.state import is_quiescent, status_of
from unit.session.building import CONFIG, Story, made, only, types

PAUSING: dict[str, Any] = {**CONFIG, "on_failure": "interrupt", "on_truncated": "interrupt"}


def paused(**failure: Any) -> Story:
    """Return a session whose model failed for good."""
    story = Story(config=PAUSING)
    story.submit()
    story.fail_model("no such model", retryable=False, **failure)
    return story


def cut_off(*calls: dict[str, Any]) -> Story:
    """Return a session whose model was cut off."""
    story = Story(config=PAUSING)
    story.submit()
    story.answer("half an ans", *calls, finish="length")
    return story


def resume(story: Story, payload: Any = None) -> tuple[Event, ...]:
    """Let an owner clear the newest interrupt."""
    interrupt_id = story.session.interrupts[-1].id
    return story.do(lambda at, facts: ResumeInterrupt(at, facts, interrupt_id, "frontend", payload))


def test_a_model_that_failed_for_good_pauses_the_session() -> None:
    """8.7, O-4, I-11: by an interrupt that its owner may resume."""
    story = paused(detail={"status": 404})

    (raised,) = only(Interrupted, story.log)
    (errored,) = only(ModelCallErrored, story.log)
    assert types(story.log[-5:]) == [
        "llm.call.errored",
        "step.ended",
        "decision.queued",
        "decision.completed",
        "session.interrupted",
    ]
    assert (raised.reason, raised.origin) == ("llm_failed", "frontend")
    assert raised.payload == {
        "call_id": errored.id,
        "error": "no such model",
        "code": "provider_error",
        "detail": {"status": 404},
    }


def test_a_paused_turn_is_open_and_waits_for_nobody_but_people() -> None:
    """S-6, T-8: no wake-up, no timer, no sweep."""
    story = paused()

    proposals = propose(story.session)

    assert status_of(story.session) == "interrupted"
    assert story.session.turn is not None
    assert not is_quiescent(story.session)
    assert (proposals.effects, proposals.next_due_ms, proposals.is_ready) == ((), None, False)


def test_attempts_that_are_left_come_first() -> None:
    """R-3: a pause is what follows the last one."""
    story = Story(config=PAUSING)
    story.submit()

    story.fail_model()

    assert only(Interrupted, story.log) == []
    assert story.model_call.next_attempt_at_ms is not None


def test_a_paused_session_takes_no_input() -> None:
    """I-6."""
    story = paused()

    with pytest.raises(SessionInterrupted) as refused:
        story.submit("Hello?", "t2")

    (interrupt,) = story.session.interrupts
    assert refused.value.fields == {
        "interrupts": [{"interrupt_id": interrupt.id, "origin": "frontend"}]
    }


def test_a_resume_asks_the_model_again() -> None:
    """I-14: the failed call stays failed, a new one is made."""
    story = paused()

    events = types(resume(story))

    assert events[:3] == ["session.interrupt_resumed", "decision.queued", "decision.completed"]
    assert events[-3:] == ["llm.call.requested", "llm.call.dispatched", "step.started"]
    story.answer("Hi.")
    assert story.session.last_outcome == "done"
    assert [message["role"] for message in story.messages()] == ["user", "assistant"]


def test_a_reply_that_was_cut_off_is_not_recorded() -> None:
    """8.7, G-4: nothing of it is in the conversation, all of it is in the payload."""
    story = cut_off()

    (raised,) = [v for v in story.values if v["type"] == "session.interrupted"]
    reply = next(v for v in story.values if v["type"] == "llm.call.completed")
    assert raised["reason"] == "llm_truncated"
    assert raised["payload"] == {"call_id": reply["id"], "message": reply["message"]}
    assert [message["role"] for message in story.messages()] == ["user"]


def test_the_reply_stands_once_in_the_log() -> None:
    """storage-and-commits: a body stands once."""
    story = cut_off()

    (raised,) = only(Interrupted, story.log)
    assert set(raised.payload) == {"call_id"}
    assert set(raised.refs) == {"payload.message"}


def test_tools_of_a_reply_that_was_cut_off_do_not_run() -> None:
    """Field case F20."""
    story = cut_off(made("c1"))

    assert "tool.call.requested" not in types(story.log)
    assert story.session.calls == ()


def test_a_whole_reply_after_the_resume_ends_a_turn_that_is_not_truncated() -> None:
    """8.7, I-14."""
    story = cut_off()

    resume(story)
    story.answer("All of it.")

    (ended,) = only(TurnCompleted, story.log)
    assert (ended.outcome, ended.truncated, ended.data) == ("done", None, None)
    assert [message["content"] for message in story.messages()] == ["Hello.", "All of it."]


def test_each_pause_has_an_interrupt_of_its_own() -> None:
    """I-5."""
    story = paused()
    resume(story)

    story.fail_model("again", retryable=False)

    first, second = only(Interrupted, story.log)
    assert first.interrupt_id != second.interrupt_id
    assert [one.id for one in story.session.interrupts] == [second.interrupt_id]


def test_an_agent_may_ask_for_one_of_the_two() -> None:
    """O-4: each has its own default where the engine decides."""
    failing = Story(config={**CONFIG, "on_truncated": "interrupt"})
    cut = Story(config={**CONFIG, "on_failure": "interrupt"})
    failing.submit()
    cut.submit()

    failing.fail_model(retryable=False)
    cut.answer("half", finish="length")

    assert (failing.session.last_outcome, cut.session.last_outcome) == ("failed", "done")


def test_a_view_that_answers_a_client_tool_waits_for_the_resume() -> None:
    """I-6, P-6: the answer is recorded, the model is asked once nothing pauses the path."""
    story = Story(config=PAUSING)
    story.submit()
    story.answer("", made("c1", "look_around"), made("c2", "look_around"))
    story.proceed()
    story.do(lambda at, facts: RaiseInterrupt(at, facts, "int-1", "frontend", "wait"))

    answers = [
        {"role": "tool", "tool_call_id": call, "name": "look_around", "content": "a wall"}
        for call in ("c1", "c2")
    ]
    story.submit(view=(*story.messages(), *answers), turn_id="t1")
    held = types(story.log).count("llm.call.requested")
    resume(story)

    assert held == 1
    assert types(story.log).count("llm.call.requested") == 2
