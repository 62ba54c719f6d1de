"""Tools that ask and tools that take long, where the worker decides."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.events import to_rfc3339
from everturn.session.commands import ResolveWait
from everturn.session.decide.waits import DECLINED
from everturn.session.events.decisions import DecisionErrored
from everturn.session.events.tool_calls import SettleIgnored, ToolCallErrored
from everturn.session.events.waits import WaitClosed, WaitExtended
from everturn.session.propose import propose
from everturn.session.state import status_of
from unit.session.building import NOON_MS, made, only, said, types
from unit.session.deciding import Deciding, Worker, echo
from unit.session.steps import until
from unit.session.waiting import TIMED, resolved

ASK = {"type": "tool.ask", "question": "Sure?", "continuation": {"step": 2}}
CLOSED = {**ASK, "choices": ["yes", "no"]}
TASK = {"type": "tool.task", "task_id": "job-7", "poll_interval_seconds": 60}
PENDING = {"type": "tool.pending"}
RESULT = {"type": "tool.result", "result": "done"}
BARE: dict[str, Any] = {"status": "valid", "value": {}}


def scripted(*answers: dict[str, Any]) -> Worker:
    """Return a worker whose tools answer so, one after another; the rest is as proposed."""
    left = list(answers)

    def answer(request: dict[str, Any]) -> dict[str, Any] | None:
        about_tools = request["trigger"]["type"] in {"tool.execute", "tool.poll"}
        return left.pop(0) if about_tools else echo(request)

    return answer


def acting(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an answer with these actions."""
    return {"actions": list(actions), **more}


def played(*answers: dict[str, Any], tool: str = "send_email", **more: Any) -> Deciding:
    """Return a session whose model calls one tool, whose worker answers so, as far as it goes."""
    replies = [said("", made("c1", tool))]
    story = Deciding(worker_=scripted(*answers), replies=replies, **{"config": TIMED, **more})
    story.submit()
    return story


def answer(story: Deciding, wait_id: str, text: str = "yes") -> tuple[Any, ...]:
    """Have the user answer, and let everything happen that follows."""
    events = story.do(lambda at, facts: ResolveWait(at, facts, wait_id, "answered", text))
    return (*events, *story.run())


def later(story: Deciding, after_s: float) -> tuple[Any, ...]:
    """Let time pass, and everything happen that follows."""
    return (*story.proceed(after_s), *story.run())


def asked_of_tools(story: Deciding) -> list[dict[str, Any]]:
    """Return the triggers about tools that the worker was sent."""
    triggers = [request["trigger"] for request in story.asked]
    return [one for one in triggers if one["type"] in {"tool.execute", "tool.poll"}]


def test_a_question_is_asked_answered_and_brought_to_the_tool() -> None:
    """O-12, agent-session.md 11."""
    story = played(acting(CLOSED), acting({**ASK, "continuation": None}), acting(RESULT))
    assert status_of(story.session) == "idle"

    answer(story, "c1-input-1")
    answer(story, "c1-input-2", "indeed")

    base: dict[str, Any] = {
        "type": "tool.execute",
        "id": "c1",
        "name": "send_email",
        "arguments": "{}",
    }
    base |= {"input": BARE, "attempt": 1}
    kept = {"continuation": {"step": 2}}
    assert asked_of_tools(story) == [
        base,
        {**base, **kept, "answers": [resolved(1, "yes")]},
        {**base, **kept, "answers": [resolved(1, "yes"), resolved(2, "indeed")]},
    ]
    assert story.session.last_outcome == "done"


def test_a_declined_question_is_reported_as_the_calls_end() -> None:
    """Q-4: and the model is asked again."""
    story = played(acting(ASK))

    story.do(lambda at, facts: ResolveWait(at, facts, "c1-input-1", "declined", ""))
    story.run()

    assert only(ToolCallErrored, story.log)[0].error == DECLINED
    assert story.triggers()[-2:] == ["tool.finished", "llm.finished"]


def test_a_task_is_polled_until_it_ends_with_a_question_inside() -> None:
    """Agent-session.md 12."""
    story = played(
        acting({**TASK, "continuation": 1}),
        acting({**PENDING, "poll_interval_seconds": 5}),
        acting(ASK, state={"seen": 1}),
        {},
        acting(RESULT),
        tool="set_alarm",
    )

    for after_s in (60, 5):
        later(story, after_s)
    answer(story, "c1-input-1")
    later(story, 5)

    key = asked_of_tools(story)[0]["idempotency_key"]
    base: dict[str, Any] = {
        "type": "tool.poll",
        "id": "c1",
        "name": "set_alarm",
        "task_id": "job-7",
    }
    base |= {"attempt": 1, "idempotency_key": key}
    step = {"step": 2}
    assert asked_of_tools(story)[1:] == [
        {**base, "continuation": 1},
        {**base, "continuation": 1},
        {**base, "continuation": step, "pending_answer": resolved(1, "yes")},
        {**base, "continuation": step},
    ]
    assert [one.poll_interval_seconds for one in only(WaitExtended, story.log)] == [5, 5]
    assert only(WaitClosed, story.log)[-1].outcome == "finished"
    assert story.session.last_outcome == "done"


def test_a_run_after_an_answer_has_its_deadline() -> None:
    """R-5, for each run of the tool."""
    story = played(acting(ASK), {}, tool="dig")
    later(story, 3600)

    answer(story, "c1-input-1")

    until_ms = NOON_MS + 3_620_000
    assert asked_of_tools(story)[-1]["deadline"] == to_rfc3339(until_ms)
    assert propose(story.session).next_due_ms == until_ms


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([acting(PENDING)], "/actions/0: tool.pending answers tool.poll, not tool.execute"),
        ([acting(TASK), acting(TASK)], "/actions/0: tool.task answers tool.execute, not tool.poll"),
        ([acting(ASK, ASK)], "/actions/0: tool.ask stands alone"),
        ([acting(RESULT, ASK)], "/actions/1: tool.ask stands alone"),
        ([acting({**RESULT, "id": "c1"}, TASK)], "/actions/1: tool.task stands alone"),
    ],
)
def test_an_answer_in_the_wrong_place_is_invalid(
    answers: list[dict[str, Any]], problem: str
) -> None:
    """D-8, P-3."""
    story = played(*answers[:-1], *[answers[-1]] * 3)

    later(story, 60)

    errored = only(DecisionErrored, story.log)
    assert (errored[0].code, errored[0].error[: len(problem)]) == ("schema_violation", problem)


def test_another_trigger_takes_no_question() -> None:
    """X-1 as O-12 opens it."""
    story = Deciding()
    story.do(story.submitting(decides="worker"))
    decision = until(story, "client.messages")

    events = story.respond(decision.id, acting(ASK), attempt=1)

    assert only(DecisionErrored, events)[0].error == (
        "/actions/0: tool.ask answers tool.execute and tool.poll, not client.messages"
    )


def test_a_question_about_a_call_that_has_ended_comes_too_late() -> None:
    """P-4."""
    story = Deciding(replies=[said("", made("c1", "send_email"))])
    story.do(story.submitting(decides="worker"))
    decision = until(story, "tool.execute")
    story.settle({**RESULT, "id": "c1"})

    events = story.respond(decision.id, acting(ASK), attempt=1)

    assert only(SettleIgnored, events) == [
        SettleIgnored(turn_id="t1", id="c1", reason="call_not_open")
    ]


def test_a_poll_about_a_call_that_has_ended_extends_nothing() -> None:
    story = played(acting(TASK))
    story.proceed(60)
    decision = until(story, "tool.poll")
    story.settle({**RESULT, "id": "c1"})

    assert "call.wait.extended" not in types(story.respond(decision.id, {}, attempt=1))


def test_an_outsider_may_end_a_call_that_waits() -> None:
    """U-6, U-12: it is open; what it waited for is closed, and the queued question dropped."""
    story = played(acting(ASK))
    story.do(lambda at, facts: ResolveWait(at, facts, "c1-input-1", "answered", "yes"))

    events = story.settle({**RESULT, "id": "c1"})

    assert types(events)[:2] == ["tool.call.completed", "decision.dropped"]


def test_an_outsider_withdraws_the_question_of_a_call_that_it_ends() -> None:
    story = played(acting(ASK))

    events = story.settle({**RESULT, "id": "c1"})

    assert [one.outcome for one in only(WaitClosed, events)] == ["withdrawn"]


def test_a_turn_that_is_done_gives_up_what_its_calls_wait_for() -> None:
    """T-10."""
    story = played(acting(ASK), acting({"type": "done"}))
    decision_id = story.asked[-1]["decision_id"]
    assert story.session.decision(decision_id) is None
    story.do(lambda at, facts: ResolveWait(at, facts, "c1-input-1", "answered", "yes"))

    story.run()

    assert (story.session.waits, story.session.turn) == ((), None)
