"""Guards over real sockets: loops, budgets of calls, last words, repairs, other models. F26."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.client import Client, Ended
from e2e.deciding_worker import Answer, DecidingWorker, deciding_worker, echo
from e2e.scripted_worker import ScriptedWorker, result, tool

LOOK = tool("look", effect="read")
FOUR_LOOKS = "[[call:look]]" + "[[turn]][[call:look]]" * 3 + "[[turn]][[say:I give up]]"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUICK = {"consecutive_threshold": 2, "hard_cutoff_threshold": 3}


@pytest.fixture
def boss() -> Iterator[DecidingWorker]:
    """A worker that decides; it echoes until it is told otherwise."""
    with deciding_worker() as worker:
        yield worker


def guarded(client: Client, worker: ScriptedWorker, **guards: Any) -> None:
    """Give the tenant's agent a tool and guards."""
    written = client.put_agent(worker=worker.url, tools=[LOOK], guards=guards)
    assert written.is_success, written.text


def told(client: Client, ended: Ended, role: str) -> list[Any]:
    """Return what the conversation has of one role."""
    messages = client.messages(ended.session_id)
    return [one.get("content") for one in messages if one["role"] == role]


def test_a_loop_is_skipped_nudged_and_ended(client: Client, worker: ScriptedWorker) -> None:
    guarded(client, worker, loop_detection=QUICK)
    worker.plays("look", result("a wall"))

    ended = client.run(FOUR_LOOKS)

    assert ended.answer == "I give up"
    assert len(worker.sent("look")) == 1
    loops = ended.all("guard.loop_detected")
    assert [(one["consecutive_count"], one["hard_cutoff"], one["tools"]) for one in loops] == [
        (2, False, ["look"]),
        (3, True, ["look"]),
    ]
    assert [one["detail"] for one in ended.all("tool.call.errored")] == [
        {"reason": "repeated_call"},
        {"reason": "repeated_call"},
    ]
    notes = [one for one in told(client, ended, "user") if one.startswith("[Everturn]")]
    assert len(notes) == 2
    assert "change strategy" in notes[0]
    headers = [one["header"]["config"] for one in ended.all("request.header")]
    assert [one.get("tool_choice") for one in headers] == [None, "none"]


def test_a_call_over_its_budget_is_answered_instead_of_run(
    client: Client, worker: ScriptedWorker
) -> None:
    guarded(client, worker, tool_budgets={"look": {"max_calls": 1}})
    worker.plays("look", result("a wall"))

    ended = client.run("[[call:look]][[call:look]][[turn]][[say:{{results}}]]")

    assert len(worker.sent("look")) == 1
    over = ended.only("guard.tool_budget_exceeded")
    assert (over["tool"], over["max_calls"], over["call_index"]) == ("look", 1, 2)
    assert ended.answer.startswith("a wall | ERROR: ")
    assert "budget exceeded" in ended.answer


def test_after_its_last_batch_the_model_answers_without_tools(
    client: Client, worker: ScriptedWorker
) -> None:
    guarded(client, worker, max_tool_turns=2)
    worker.plays("look", result("a wall"), result("a door"))

    ended = client.run(FOUR_LOOKS)

    assert ended.answer == "I give up"
    assert [one.arguments for one in worker.sent("look")] == [{}, {}]
    assert told(client, ended, "tool") == ["a wall", "a door"]
    assert told(client, ended, "user")[-1].startswith("[Everturn] No more tools")


def test_an_answer_that_breaks_the_schema_is_asked_for_again(client: Client) -> None:
    client.put_agent(output_schema=SCHEMA)

    ended = client.run('[[say:{"town":"Rome"}]][[turn]][[say:{"city":"Rome"}]]')

    rejected = ended.only("output.rejected")
    assert (rejected["problem"], rejected["attempt"]) == ("/city: required", 1)
    assert ended.answer == '{"city":"Rome"}'
    assert "/city: required" in told(client, ended, "user")[-1]


def test_f26_the_same_invalid_object_again_and_again_ends_in_a_typed_error(client: Client) -> None:
    client.put_agent(output_schema=SCHEMA, guards={"output_repairs": 2})

    ended = client.run("[[turn]]".join(['[[say:{"town":"Rome"}]]'] * 10))
    again = client.run('[[say:{"city":"Oslo"}]]', ended.session_id)

    assert len(ended.all("llm.call.requested")) == 3
    assert ended.completed["outcome"] == "failed"
    error = ended.completed["error"]
    assert (error["code"], error["detail"]) == (
        "output_invalid",
        {
            "reason": "output_invalid",
            "problem": "/city: required",
            "attempts": 3,
            "last_attempt": '{"town":"Rome"}',
        },
    )
    assert again.answer == '{"city":"Oslo"}'


def test_a_turn_goes_on_with_another_model(client: Client) -> None:
    """The first one has no key here."""
    client.put_agent(model="openai:gpt-5-mini", fallback_models=["demo:demo"])

    ended = client.run("[[say:from {{model}}]]")

    fell = ended.only("model.fell_back")
    assert (fell["from_model"], fell["to_model"]) == ("openai:gpt-5-mini", "demo:demo")
    assert [one["model"] for one in ended.all("llm.call.requested")] == [
        "openai:gpt-5-mini",
        "demo:demo",
    ]
    assert ended.answer == "from demo"


def test_a_worker_that_decides_is_proposed_what_a_guard_says(
    client: Client, boss: DecidingWorker
) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        if request["trigger"]["type"] == "tool.execute":
            return {"actions": [{"type": "tool.result", "result": "a wall"}]}
        return echo(request)

    boss.answer = answer
    client.put_agent(
        "boss",
        worker=boss.url,
        decides="worker",
        tools=[LOOK],
        guards={"loop_detection": QUICK},
    )

    ended = client.run(FOUR_LOOKS, agent_id="boss")

    assert ended.answer == "I give up"
    assert len(ended.all("tool.call.requested")) == 1
    assert [one["hard_cutoff"] for one in ended.all("guard.loop_detected")] == [False, True]
