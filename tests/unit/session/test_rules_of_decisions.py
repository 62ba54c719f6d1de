"""Rules of the decision protocol about questions and answers, one test each; a worker decides."""

from __future__ import annotations

import re
from typing import Any

import pytest

from everturn.protocol.events import from_rfc3339
from everturn.session.events.decisions import DecisionErrored
from everturn.session.events.interrupts import SessionInterrupted
from everturn.session.events.messages import MessageNew, StateUpdated
from everturn.session.events.model_calls import ModelCallErrored, ModelCallRequested
from everturn.session.events.tool_calls import ToolCallCompleted, ToolCallRequested
from unit.session.building import CONFIG, only, said, types
from unit.session.building import made as tool_of_a_reply
from unit.session.deciding import Deciding, Worker, echo, running

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def leaving_open(request: dict[str, Any]) -> dict[str, Any]:
    """Leave every call open, echo the rest."""
    return {} if request["trigger"]["type"].endswith(".execute") else echo(request)


def answering(trigger: str, answer: dict[str, Any], also: Worker = echo) -> Worker:
    """Return a worker that gives `answer` to the first question of a type."""
    left = [answer]

    def worker(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] != trigger or not left:
            return also(request)
        return left.pop()

    return worker


def with_open_tools(*calls: str) -> Deciding:
    """Return a session whose tools were left open."""
    story = Deciding(worker_=leaving_open)
    story.replies = [said("", *(tool_of_a_reply(one, "send_email") for one in calls))]
    story.submit()
    return story


def test_an_empty_answer_completes_the_question_and_leaves_no_trace() -> None:
    """P-1, M-3, M-4: not even the input is recorded, and nothing starts."""
    story = Deciding(worker_=answering("client.messages", {}))

    story.submit()

    assert types(story.log)[-2:] == ["decision.completed", "turn.stalled"]
    assert only(MessageNew, story.log) == []
    assert only(ModelCallRequested, story.log) == []


def test_the_end_of_a_call_writes_no_message() -> None:
    """M-3: it becomes a question, whose answer does."""
    story = with_open_tools("c1")

    events = story.settle({"type": "tool.result", "id": "c1", "result": "sent"})

    assert types(events) == ["tool.call.completed", "decision.queued"]


def test_calls_overlap_and_questions_do_not() -> None:
    """M-5, D-1."""
    story = Deciding(worker_=lambda r: None if r["trigger"]["type"] == "tool.execute" else echo(r))
    calls = [tool_of_a_reply(one, "send_email") for one in ("c1", "c2", "c3")]
    story.replies = [said("", *calls)]

    story.submit()

    assert [call.status for call in story.session.calls] == ["pending"] * 3
    assert [one.status for one in story.session.decisions] == ["deferred", "queued", "queued"]


def test_a_question_that_waits_for_its_next_delivery_keeps_the_slot() -> None:
    """D-2."""
    story = Deciding(worker_=lambda _request: None)
    story.submit()
    first = story.session.decisions[0]

    story.lose_question(first.id)

    assert [one.status for one in story.session.decisions] == ["retry_scheduled", "queued"]
    story.proceed()
    assert [one.status for one in story.session.decisions] == ["retry_scheduled", "queued"]
    story.proceed(2)
    assert [one.status for one in story.session.decisions] == ["live", "queued"]


def test_a_question_lists_what_ended_and_was_not_reported_yet() -> None:
    """Q-3, Q-4: and not the call that it reports itself."""
    story = with_open_tools("c1", "c2", "c3")
    before = len(story.asked)

    story.settle({"type": "tool.result", "id": "c1", "result": "sent"})
    story.settle({"type": "tool.error", "id": "c2", "error": "no such address"})
    story.settle({"type": "tool.result", "id": "c3", "result": "sent"})
    story.run()

    finished = [r for r in story.asked[before:] if r["trigger"]["type"] == "tool.finished"]
    shown = [[(one["id"], one["status"]) for one in r["calls"]] for r in finished]
    assert shown == [[("c2", "failed"), ("c3", "completed")], [("c3", "completed")], []]
    assert [r["pending_calls"] for r in finished] == [2, 1, 0]


def test_each_of_several_model_calls_is_reported_as_it_ends() -> None:
    """G-5: in the order in which they end; none waits for the others."""
    calls = [{"type": "llm.call", "id": one, "handler": "worker"} for one in ("a", "b")]
    silent = answering("session.start", {"agent": CONFIG}, lambda _request: {})
    story = Deciding(worker_=answering("client.messages", {"actions": calls}, silent))
    story.submit()

    for one in ("b", "a"):
        story.settle({"type": "llm.error", "id": one, "error": "no", "retryable": False})
    story.run()

    ends = [r["trigger"]["id"] for r in story.asked if r["trigger"]["type"] == "llm.finished"]
    assert ends == ["b", "a"]


@pytest.mark.parametrize(
    "trigger",
    ["session.start", "client.messages", "tool.execute", "tool.finished", "llm.finished"],
)
def test_any_action_may_answer_any_question(trigger: str) -> None:
    """X-2."""
    call = {"type": "tool.call", "id": "own", "name": "send_email", "arguments": {}}
    story = Deciding(worker_=answering(trigger, {"actions": [call]}, running("sunny", "sent")))
    story.replies = [said("", tool_of_a_reply("c1"))]

    story.submit()

    assert "own" in [one.id for one in only(ToolCallRequested, story.log)]


def test_an_action_means_nothing_until_the_worker_says_so() -> None:
    """X-2, 8.3."""
    calls = [{"type": "llm.call", "messages": [{"role": "user", "content": "Plan."}]}]
    story = Deciding(worker_=answering("client.action", {"actions": calls}))

    story.submit(input_type="client.action", view=(), action={"name": "plan"})

    (asked,) = only(ModelCallRequested, story.log)
    assert asked.messages == [{"role": "user", "content": "Plan."}]


def test_ids_that_are_left_out_are_minted() -> None:
    """X-3, M-6: UUIDv7, in lower case."""
    actions = [
        {"type": "llm.call"},
        {"type": "tool.call", "name": "send_email", "arguments": {}},
        {"type": "interrupt", "reason": "wait"},
    ]
    story = Deciding(worker_=answering("client.messages", {"actions": actions}))

    story.submit()

    (model,), (tool,) = only(ModelCallRequested, story.log), only(ToolCallRequested, story.log)
    (pause,) = only(SessionInterrupted, story.log)
    ids = [model.id, tool.id, pause.interrupt_id]
    assert [bool(UUID7.fullmatch(one)) for one in ids] == [True] * 3
    assert len(set(ids)) == 3


def test_an_answer_ends_another_call_by_its_id() -> None:
    """X-5: any open call that the worker runs, in its running attempt."""
    settle = {"actions": [{"type": "tool.result", "id": "c1", "result": "sent"}]}
    story = with_open_tools("c1", "c2")
    story.worker_ = answering("tool.finished", settle, also=leaving_open)

    story.settle({"type": "tool.result", "id": "c2", "result": "sent"})
    story.run()

    ends = only(ToolCallCompleted, story.log)
    assert [(one.id, one.attempt) for one in ends] == [("c2", 1), ("c1", 1)]


def test_done_comes_last_wherever_it_stands() -> None:
    """X-8, T-10: and gives up what the same answer began."""
    actions = [
        {"type": "done", "data": "enough"},
        {"type": "tool.call", "id": "t", "name": "send_email", "arguments": {}},
    ]
    story = Deciding(worker_=answering("client.messages", {"actions": actions}))

    story.submit()

    told = types(story.log)
    order = ["tool.call.requested", "call.voided", "turn.completed", "session.done"]
    assert [one for one in told if one in order] == order


def test_a_state_is_anchored_where_its_answer_leaves_the_path() -> None:
    """Z-2: behind the answer's own messages; the newest one holds."""

    def noting(request: dict[str, Any]) -> dict[str, Any]:
        seen = (request["state"] or {}).get("seen", 0)
        asks = request["trigger"]["type"] == "client.messages"
        return {**echo(request), "state": {"seen": seen + 1}} if asks else echo(request)

    story = Deciding(worker_=noting)
    story.submit("one")
    story.submit("two")

    versions = only(StateUpdated, story.log)
    users = [one for one in only(MessageNew, story.log) if one.private.source.kind == "user"]
    assert [one.state for one in versions] == [{"seen": 1}, {"seen": 2}]
    depths = [one.private.depth for one in users]
    assert [one.anchor and one.anchor.depth for one in versions] == depths
    assert story.asked[-1]["state"] == {"seen": 2}


def test_what_a_client_tells_the_worker_goes_nowhere_else() -> None:
    """K-7: not into messages, state or a model's request."""
    client = {
        "context": [{"description": "secret", "value": "of the client"}],
        "state": {"secret": 1},
        "forwarded_props": {"secret": 2},
    }
    story = Deciding()

    story.submit(view=({"role": "user", "content": "Hello."},), client=client)

    (asked,) = [r for r in story.asked if r["trigger"]["type"] == "client.messages"]
    assert asked["trigger"]["client"] == client
    assert [r["state"] for r in story.asked] == [None] * len(story.asked)
    assert "secret" not in repr([story.requests(), story.messages()])


def test_an_input_may_ask_for_deltas_for_its_turn() -> None:
    """K-3, L-1."""
    story = Deciding()

    story.submit(stream=True)
    story.submit("again")

    assert [one.stream for one in only(ModelCallRequested, story.log)] == [True, False]


def test_a_budget_of_the_worker_s_own_is_told_and_decides_nothing() -> None:
    """Y-5, F-4, R-3: `code` describes; whether it is tried again is said by `retryable`."""
    error = {
        "type": "llm.error",
        "error": "spent",
        "code": "budget_exceeded",
        "retryable": True,
    }
    story = Deciding(config={**CONFIG, "handler": "worker"})
    story.worker_ = answering("llm.execute", {"actions": [error]}, also=leaving_open)

    story.submit()

    (failed,) = only(ModelCallErrored, story.log)
    assert (failed.code, failed.retryable) == ("budget_exceeded", True)
    assert story.model_call.next_attempt_at_ms == story.now_ms + 2_000


def test_tools_are_offered_in_the_order_of_the_config() -> None:
    """O-15, L-5: a tool's `output` never reaches a provider."""
    tools = [{"name": one, "output": {"type": "string"}} for one in ("b", "a", "c")]
    story = Deciding(config={"model": "demo:echo", "tools": tools})

    story.submit()

    offered = story.requests()[0]["tools"]
    assert offered == [{"name": one, "description": ""} for one in ("b", "a", "c")]


def test_a_config_is_shown_as_it_was_written() -> None:
    """O-3, Q-2: with the extensions that were set, and none that were not."""
    config = {"model": "demo:echo", "on_failure": "fail", "temperature": 0.5}
    story = Deciding(config=config)

    story.submit()

    assert story.asked[0]["proposed"] == {"agent": config}
    assert [r["agent"] for r in story.asked] == [None, *[config] * (len(story.asked) - 1)]


def test_a_failed_delivery_says_when_the_next_one_is() -> None:
    """D-4, D-5, D-10: deliveries count from 1, each has its own deadline."""
    story = Deciding(worker_=lambda _request: None)
    story.submit()
    first = story.asked[0]

    story.lose_question(story.session.decisions[0].id)
    story.proceed(2)
    again = story.question(story.session.decisions[0].id)

    (errored,) = only(DecisionErrored, story.log)
    assert (errored.attempt, errored.retryable) == (1, True)
    assert [first["attempts"], again["attempts"]] == [1, 2]
    waits = [from_rfc3339(one["deadline"]) for one in (first, again)]
    assert waits[1] - waits[0] == 2_000
