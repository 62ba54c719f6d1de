"""A path that is paused: who pauses it, what waits, how it goes on."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import InsufficientPrivilege, NoActiveTurn, SessionInterrupted
from everturn.session.commands import ModelFailure, RaiseInterrupt, ResumeInterrupt
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.interrupts import Origin
from everturn.session.events.interrupts import SessionInterrupted as Interrupted
from everturn.session.state import is_quiescent, status_of
from unit.session.building import made, only, said, types
from unit.session.deciding import Deciding, echo
from unit.session.test_deciding import told

PAUSE = {"type": "interrupt", "interrupt_id": "int-1", "reason": "asks", "payload": {"q": 1}}


def resume(
    story: Deciding, interrupt_id: str = "int-1", origin: Origin = "frontend", payload: Any = None
) -> list[str]:
    """Clear an interrupt, and let everything happen that follows."""
    events = story.do(lambda at, facts: ResumeInterrupt(at, facts, interrupt_id, origin, payload))
    return types((*events, *story.run()))


def interrupt(story: Deciding, interrupt_id: str = "int-9", origin: Origin = "machine") -> None:
    """Have somebody outside pause the path."""
    story.do(lambda at, facts: RaiseInterrupt(at, facts, interrupt_id, origin, "stop"))


def pausing(request: dict[str, Any]) -> dict[str, Any]:
    """Ask somebody before a tool runs; run it with what they say."""
    match request["trigger"]["type"]:
        case "tool.execute":
            return {"actions": [PAUSE]}
        case "interrupt.resumed":
            result = request["trigger"].get("payload")
            return {"actions": [{"type": "tool.result", "result": result}] if result else []}
        case _:
            return echo(request)


def paused(*calls: str) -> Deciding:
    """Return a session that a worker paused when it was to run a tool."""
    story = Deciding(worker_=pausing)
    story.replies = [said("", *(made(one, "send_email") for one in calls or ("c1",))), said("ok")]
    story.submit()
    return story


def test_a_worker_asks_before_it_runs_a_tool_and_settles_it_without_its_id() -> None:
    """Conformance 25: I-11, I-13, X-4, 8.9."""
    story = paused()

    raised = only(Interrupted, story.log)[0]
    assert (raised.origin, raised.subject_call, status_of(story.session)) == (
        "frontend",
        "c1",
        "interrupted",
    )
    assert not is_quiescent(story.session)
    resume(story, payload="go")

    assert told(story)[2:] == [("tool", "go"), ("assistant", "ok")]
    assert story.session.last_outcome == "done"


def test_an_interrupt_is_resumed_once() -> None:
    """Conformance 25: I-8."""
    story = paused()

    first = resume(story, payload="go")
    again = [*resume(story), *resume(story, "never")]

    assert first[0] == "session.interrupt_resumed"
    assert again == []


def test_an_id_is_raised_once() -> None:
    """I-5."""
    story = paused()

    interrupt(story, "int-1")

    assert len(only(Interrupted, story.log)) == 1


def test_a_paused_session_takes_no_input() -> None:
    """Conformance 26: I-6."""
    story = paused()

    with pytest.raises(SessionInterrupted) as refused:
        story.submit("Hello?", "t2")

    assert refused.value.fields == {"interrupts": [{"interrupt_id": "int-1", "origin": "frontend"}]}


def test_a_result_is_recorded_and_its_question_held() -> None:
    """Conformance 26: I-6, D-16."""
    story = paused("c1", "c2")
    before = len(story.asked)

    story.settle({"type": "tool.result", "id": "c2", "result": "sent"})
    story.run()
    held = len(story.asked)
    resume(story, payload="go")

    assert held == before
    order = [r["trigger"]["type"] for r in story.asked[before:]]
    assert order[:2] == ["interrupt.resumed", "tool.finished"]
    assert story.session.last_outcome == "done"


def test_a_pause_gives_up_model_calls_and_no_tools() -> None:
    """Conformance 27: I-4."""
    story = Deciding(worker_=lambda r: {} if r["trigger"]["type"] == "tool.execute" else echo(r))
    story.replies = [said("", made("c1", "send_email"))]
    story.do(story.submitting(decides="worker"))
    while not any(call.kind == "llm_call" for call in story.session.calls):
        story.proceed()
        for decision in story.session.decisions:
            if decision.status == "live":
                asked = story.question(decision.id)
                story.respond(decision.id, echo(asked), attempt=decision.attempt)

    interrupt(story)

    assert "call.voided" in types(story.log)
    assert story.session.calls == ()
    resume(story, "int-9", "machine")
    assert story.session.call("c1") is not None


def test_a_pause_takes_back_the_questions_about_model_calls_that_a_worker_runs() -> None:
    """Conformance 27: I-4."""

    def two(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] == "llm.execute":
            return None
        calls = [{"type": "llm.call", "id": name, "handler": "worker"} for name in ("a", "b")]
        asks = request["trigger"]["type"] == "client.messages"
        return {**echo(request), "actions": calls} if asks else echo(request)

    story = Deciding(worker_=two)
    story.submit()
    asked = [one.call_id for one in story.session.decisions]

    interrupt(story)

    assert set(asked) == {"a", "b"}
    dropped = only(DecisionDropped, story.log)
    assert [one.reason for one in dropped] == ["interrupted", "interrupted"]
    assert (story.session.calls, story.session.decisions) == ((), ())


def test_calls_of_the_response_that_pauses_wait_for_the_resume() -> None:
    """Conformance 27: P-6, I-14; the resume does not double them."""

    def both(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "client.messages":
            return {
                **echo(request),
                "actions": [
                    {"type": "tool.call", "id": "t", "name": "send_email", "arguments": {}},
                    PAUSE,
                ],
            }
        return {} if request["trigger"]["type"] == "tool.execute" else echo(request)

    story = Deciding(worker_=both)
    story.submit()

    assert "tool.call.dispatched" not in types(story.log)
    resume(story)

    assert types(story.log).count("tool.call.dispatched") == 1
    assert "llm.call.requested" not in types(story.log)


def test_a_frontend_does_not_resume_what_others_raised() -> None:
    """Conformance 28: A-1, I-10."""
    story = paused()
    interrupt(story, "int-2", "machine")
    interrupt(story, "int-3", "system")

    for interrupt_id, origin in (("int-2", "frontend"), ("int-3", "machine")):
        with pytest.raises(InsufficientPrivilege):
            resume(story, interrupt_id, origin)  # type: ignore[arg-type]  # told by the pairs


def test_two_interrupts_are_answered_in_the_order_of_their_clearing() -> None:
    """I-2, I-9: several may be open at once."""
    story = paused()
    interrupt(story, "int-2", "machine")
    before = len(story.asked)

    first = resume(story, "int-2", "machine")
    still = len(story.asked)
    resume(story, payload="go")

    assert "decision.dispatched" not in first
    assert still == before
    ids = [r["trigger"].get("interrupt_id") for r in story.asked[before : before + 2]]
    assert ids == ["int-2", "int-1"]


def test_nobody_interrupts_a_session_without_a_turn() -> None:
    """I-12."""
    story = Deciding()
    story.submit()

    with pytest.raises(NoActiveTurn):
        interrupt(story)


def test_a_model_that_fails_for_good_pauses_and_is_tried_again_on_resume() -> None:
    """8.7, O-4, I-14."""
    story = Deciding()
    story.replies = [failed()]

    story.submit()
    reason = only(Interrupted, story.log)[0].reason
    resume(story, story.session.interrupts[0].id)

    assert reason == "llm_failed"
    assert told(story) == [("user", "Hello."), ("assistant", "All is well.")]


def failed() -> Any:
    """Return a failure that no repetition would change."""
    return ModelFailure("no such model", "provider_error", retryable=False)


def test_a_reply_that_was_cut_off_pauses_and_is_not_recorded() -> None:
    """8.7, G-4; field case F20."""
    story = Deciding()
    story.replies = [said("half an ans", finish="length")]

    story.submit()

    assert only(Interrupted, story.log)[0].reason == "llm_truncated"
    assert told(story) == [("user", "Hello.")]


def test_an_agent_that_does_not_want_pauses_fails_or_records() -> None:
    """O-4: `on_failure: fail`, `on_truncated: record`."""
    config = {"model": "demo:echo", "on_failure": "fail", "on_truncated": "record"}
    cut, broken = Deciding(config=config), Deciding(config=config)
    cut.replies = [said("half", made("c1"), finish="length")]
    broken.replies = [failed()]

    cut.submit()
    broken.submit()

    assert (cut.session.last_outcome, broken.session.last_outcome) == ("done", "failed")
    assert [role for role, _ in told(cut)] == ["user", "assistant", "tool"]
    assert "tool.call.requested" not in types(cut.log)
