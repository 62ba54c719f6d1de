"""Sessions whose worker decides: the whole loop, what it is asked, what its answers do."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.errors import RejectedError
from everturn.rejections import (
    CallNotOpen,
    DecisionNotLive,
    StaleAttempt,
    TurnAlreadyActive,
    UnknownCall,
    UnknownDecision,
    WrongHandler,
)
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.tool_calls import ToolCallErrored
from everturn.session.propose import propose
from everturn.session.state import status_of
from unit.session.building import CONFIG, Story, made, only, said, types
from unit.session.deciding import Deciding, echo, running

SEND = {
    "type": "message.send",
    "session_id": "nobody",
    "message": {"role": "user", "content": "Are you there?"},
}


def told(story: Story) -> list[tuple[str, Any]]:
    """Return role and content of the path."""
    return [(message["role"], message.get("content")) for message in story.messages()]


def later(request: dict[str, Any]) -> dict[str, Any]:
    """Leave tool executions open, echo the rest."""
    return {} if request["trigger"]["type"] == "tool.execute" else echo(request)


# ---- the loop


def test_an_echo_worker_gives_user_assistant_done() -> None:
    """Conformance 1 and 2: S-4, S-5, T-11, 8.2, 8.7, L-1."""
    story = Deciding()

    events = story.submit("Hello.")

    assert story.triggers() == ["session.start", "client.messages", "llm.finished"]
    assert [request["turn_id"] for request in story.asked] == [None, "t1", "t1"]
    assert types(events)[:4] == [
        "session.created",
        "turn.started",
        "decision.queued",
        "decision.queued",
    ]
    assert told(story) == [("user", "Hello."), ("assistant", "All is well.")]
    ended = [value for value in story.values if value["type"] == "turn.completed"]
    assert [(one["outcome"], one["data"]) for one in ended] == [("done", "All is well.")]
    assert story.messages()[-1]["id"] == only(ModelCallRequested, events)[0].id


def test_the_next_turn_starts_without_session_start() -> None:
    story = Deciding()
    story.submit("One.")

    story.submit("Two.")

    assert story.triggers()[3:] == ["client.messages", "llm.finished"]
    assert [role for role, _ in told(story)] == ["user", "assistant", "user", "assistant"]


def test_a_worker_that_returns_what_is_proposed_is_like_none() -> None:
    """Section 8: the same script through both kinds of agent."""
    replies = [said("", made("c1"), made("c2", "send_email")), said("It is sunny.")]
    asked = Deciding(worker_=running("sunny", "sent"))
    asked.replies = list(replies)
    alone = Story()

    asked.submit("How is it?")
    alone.submit("How is it?")
    alone.answer("", made("c1"), made("c2", "send_email"))
    alone.worker("c1", "sunny")
    alone.worker("c2", "sent")
    alone.answer("It is sunny.")

    assert told(asked) == told(alone)
    assert asked.session.last_outcome == alone.session.last_outcome == "done"
    assert [r["messages"][-1]["content"] for r in asked.requests()] == [
        r["messages"][-1]["content"] for r in alone.requests()
    ]


def test_a_body_stands_in_the_log_once() -> None:
    """storage-and-commits: the news, the reply, the result and the declared config."""
    story = Deciding(worker_=running("a result of some length"))
    story.replies = [said("", made("c1")), said("an answer of some length")]

    story.submit("a question of some length")

    text = "\n".join(event.model_dump_json() for event in story.log)
    for body in ("a question of", "a result of", "an answer of", "You answer briefly."):
        assert text.count(body) == (2 if body == "You answer briefly." else 1), body


def test_several_tools_of_one_reply_end_in_one_model_call() -> None:
    """Q-4, U-13."""
    story = Deciding(worker_=running("a", "b", "c"))
    story.replies = [said("", made("c1"), made("c2"), made("c3")), said("done")]

    events = story.submit()

    assert types(events).count("llm.call.requested") == 2
    pending = [r["pending_calls"] for r in story.asked if r["trigger"]["type"] == "tool.finished"]
    assert pending == [2, 1, 0]


# ---- turns


def test_an_action_that_nothing_follows_leaves_a_turn_that_yields() -> None:
    """Conformance 5: T-9, T-3.4, 8.3."""
    story = Deciding()
    events = story.submit(input_type="client.action", view=(), action={"name": "hi", "args": 1})

    assert types(events)[-1] == "turn.stalled"
    assert story.asked[-1]["trigger"] == {"type": "client.action", "name": "hi", "args": 1}
    assert status_of(story.session) == "idle"
    again = story.submit("Hello.", "t2")

    assert [one.outcome for one in only(TurnCompleted, again)] == ["quiescent", "done"]


def test_a_second_input_waits_for_its_turn() -> None:
    """T-2."""
    story = Deciding(worker_=later)
    story.replies = [said("", made("c1"))]
    story.submit()

    with pytest.raises(TurnAlreadyActive):
        story.submit("Another one.", "t2")


def test_done_with_a_model_call_in_flight_lets_it_finish_without_a_turn() -> None:
    """Conformance 35: T-10, T-11, 8.7."""

    def hasty(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "client.messages":
            actions = [{"type": "llm.call"}, {"type": "done", "data": 1}]
            return {**echo(request), "actions": actions}
        return echo(request)

    story = Deciding(worker_=hasty)

    story.submit()

    late = story.asked[-1]
    assert (late["trigger"]["type"], late["turn_id"], late["proposed"]) == (
        "llm.finished",
        None,
        {},
    )
    assert told(story) == [("user", "Hello.")]
    assert story.session.turn is None


def test_done_gives_up_the_tools_that_still_run() -> None:
    """T-10."""

    def ends(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "tool.execute":
            return {"actions": [{"type": "done"}]}
        return echo(request)

    story = Deciding(worker_=ends)
    story.replies = [said("", made("c1", "send_email"), made("c2", "send_email"))]

    events = story.submit()

    assert types(events).count("call.voided") == 2
    assert (story.session.calls, story.session.decisions) == ((), ())
    assert story.session.last_outcome == "done"


# ---- calls that are settled later


def test_tools_settled_while_the_first_question_is_open_ask_the_model_once() -> None:
    """Conformance 6: Q-4."""
    story = Deciding(worker_=lambda r: None if r["trigger"]["type"] == "tool.execute" else echo(r))
    story.replies = [said("", *(made(f"c{n}", "send_email") for n in range(3))), said("done")]
    story.submit()

    for n in range(3):
        story.settle({"type": "tool.result", "id": f"c{n}", "result": str(n)})
    held = next(one for one in story.session.decisions if one.status == "deferred")
    story.respond(held.id, {})
    story.run()

    assert types(story.log).count("llm.call.requested") == 2
    assert told(story)[-1] == ("assistant", "done")


def test_an_asynchronous_tool_is_settled_once() -> None:
    """Conformance 9: N-1, U-12."""
    story = Deciding(worker_=later)
    story.replies = [said("", made("c1")), said("done")]
    story.submit()

    assert status_of(story.session) == "active"
    story.settle({"type": "tool.result", "id": "c1", "result": {"sky": "clear"}})
    with pytest.raises(CallNotOpen):
        story.settle({"type": "tool.result", "id": "c1", "result": "again"})
    story.run()

    assert told(story)[2:] == [("tool", '{"sky":"clear"}'), ("assistant", "done")]


def test_who_may_settle_what() -> None:
    """U-6, U-12."""
    story = Deciding(worker_=later)
    story.replies = [said("", made("c1"), made("c2", "look_around"))]
    story.submit()

    with pytest.raises(UnknownCall):
        story.settle({"type": "tool.result", "id": "no", "result": 1})
    with pytest.raises(UnknownCall):
        story.settle({"type": "llm.error", "id": "c1", "error": "no"})
    with pytest.raises(WrongHandler):
        story.settle({"type": "tool.result", "id": "c1", "result": 1}, "client")
    with pytest.raises(StaleAttempt) as stale:
        story.settle({"type": "tool.result", "id": "c1", "attempt": 2, "result": 1})
    assert stale.value.fields == {"attempt": 1}
    story.settle({"type": "tool.result", "id": "c2", "result": "a hill"}, "client")


def test_an_attempt_that_lapses_is_repeated_with_backoff_and_then_final() -> None:
    """Conformance 10: R-2, R-4, R-5, R-7."""
    retry = {
        "timeout_secs": 1,
        "max_retries": 3,
        "backoff_base_secs": 2,
        "backoff_max_secs": 60,
    }
    tools = [{"name": "wait", "retry": retry}]
    story = Deciding(config={**CONFIG, "tools": tools}, worker_=later)
    story.replies = [said("", made("c1", "wait"))]
    story.submit()
    began, at = story.now_ms, []

    for _ in range(8):
        if story.session.call("c1") is None:
            break
        due = propose(story.session).next_due_ms
        assert due is not None
        story.proceed((due - story.now_ms) / 1000)
        at.append(story.now_ms - began)
        story.run()

    assert at == [1_000, 3_000, 4_000, 8_000, 9_000]
    errors = only(ToolCallErrored, story.log)
    assert [(one.attempt, one.retryable, one.code) for one in errors] == [
        (1, True, "deadline_exceeded"),
        (2, True, "deadline_exceeded"),
        (3, False, "deadline_exceeded"),
    ]
    assert errors[-1].error == "attempt 3 passed its deadline"


def test_a_stale_answer_is_skipped_while_the_rest_applies() -> None:
    """Conformance 11: P-4, U-12."""

    def stale(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] != "tool.execute":
            return echo(request)
        late = {"type": "tool.result", "id": "c1", "attempt": 7, "result": "late"}
        return {"actions": [late], "state": {"seen": True}}

    story = Deciding(worker_=stale)
    story.replies = [said("", made("c1"))]

    events = story.submit()

    assert "call.settle_ignored" in types(events)
    assert "worker.state.updated" in types(events)
    assert story.session.call("c1") is not None


# ---- deliveries


def test_a_redelivery_says_the_same_but_for_attempts_and_deadline() -> None:
    """Conformance 12: D-3, D-5."""
    story = Deciding()
    story.do(story.submitting(decides="worker"))
    story.proceed()
    bodies = []
    for _ in range(3):
        decision = story.session.decisions[0]
        bodies.append(story.question(decision.id))
        story.lose_question(decision.id)
        story.proceed(60)

    assert [body.pop("attempts") for body in bodies] == [1, 2, 3]
    assert len({body.pop("deadline") for body in bodies}) == 3
    assert bodies[0] == bodies[1] == bodies[2]


def test_answers_to_questions_that_are_over_or_were_never_put() -> None:
    """Conformance 13: D-11, D-12."""
    story = Deciding()
    story.do(story.submitting(decides="worker"))
    first, second = story.session.decisions
    story.proceed()

    with pytest.raises(DecisionNotLive):
        story.respond(second.id, {})
    with pytest.raises(UnknownDecision):
        story.respond("none", {})
    applied = story.respond(first.id, {"agent": CONFIG})
    assert "agent.updated" in types(applied)
    assert story.respond(first.id, {"state": 1}) == ()


def test_three_invalid_answers_in_a_row_fail_the_turn() -> None:
    """Conformance 14: P-2, D-8, D-14, T-16."""

    def wrong(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "llm.finished":
            return {**echo(request), "actions": [{"type": "tool.result", "result": 1}]}
        return echo(request)

    story = Deciding(worker_=wrong)
    story.replies = [said("", made("c1"))]
    story.submit()
    for _ in range(2):
        story.proceed(60)
        story.run()

    errors = [event for event in story.log if event.type == "decision.errored"]
    assert [(one.code, one.retryable) for one in errors] == [
        ("missing_call_id", True),
        ("missing_call_id", True),
        ("missing_call_id", False),
    ]
    assert story.session.last_outcome == "failed"
    assert told(story) == [("user", "Hello.")]


def test_a_worker_that_never_comes_back_fails_the_call_and_the_loop_goes_on() -> None:
    """D-14."""
    story = Deciding()
    story.replies = [said("", made("c1", "send_email")), said("sorry")]
    story.worker_ = lambda r: None if r["trigger"]["type"] == "tool.execute" else echo(r)
    story.submit()

    for _ in range(12):
        due = propose(story.session).next_due_ms
        if due is None:
            break
        story.proceed((due - story.now_ms) / 1000)
        story.run()

    assert told(story)[-1] == ("assistant", "sorry")
    errors = only(ToolCallErrored, story.log)
    assert len(errors) == 1
    assert story.session.last_outcome == "done"


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ({"actions": [{"type": "llm.error", "error": "x"}]}, "missing_call_id"),
        ({"actions": [{"type": "tool.error", "id": "no", "error": "x"}]}, "unknown_call"),
        ({"actions": [SEND]}, "unknown_target"),
    ],
)
def test_an_answer_that_the_session_does_not_allow_is_refused_as_a_whole(
    response: dict[str, Any], code: str
) -> None:
    """P-2, P-3: nothing of it is recorded."""
    story = Deciding(targets={"nobody": "unknown_target"})
    story.do(story.submitting(decides="worker"))
    story.proceed()
    decision = story.session.decisions[0]

    with pytest.raises(RejectedError) as refused:
        story.respond(decision.id, {**response, "state": {"half": True}})

    assert refused.value.code == code
    assert story.session.state_seq == 0
