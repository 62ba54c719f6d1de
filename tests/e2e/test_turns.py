"""Turns as a user sees them when everybody behaves."""

from __future__ import annotations

import json

from e2e.client import Client
from e2e.scripted_worker import ScriptedWorker, after, refuses, result, tool
from everturn_local.runtime import LocalRuntime


def test_a_message_is_answered(client: Client) -> None:
    ended = client.run("hello there")

    assert ended.completed["outcome"] == "done"
    assert ended.answer == "echo: hello there"
    assert [m["role"] for m in client.messages(ended.session_id)] == ["user", "assistant"]


def test_a_session_shows_itself_idle_with_its_last_outcome_after_a_turn(client: Client) -> None:
    ended = client.run("hello")

    shown = client.session(ended.session_id)

    assert {name: shown[name] for name in ("session_id", "agent_id", "status", "calls")} == {
        "session_id": ended.session_id,
        "agent_id": "demo",
        "status": "done",
        "calls": [],
    }
    assert shown["last_outcome"] == "done"
    assert shown["seq"] == ended.events[-1]["seq"]


def test_a_turn_reports_what_it_used(client: Client) -> None:
    ended = client.run("[[say:hi]][[usage:in=100,out=20,cached=50,reasoning=5]]")

    assert ended.completed["usage"] == {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_read_tokens": 50,
        "reasoning_tokens": 5,
    }
    assert ended.completed["cost"] == "0"


def test_a_second_turn_sees_the_first(client: Client) -> None:
    first = client.run("[[say:one]]")

    second = client.run("[[say:{{messages}} {{prev}}]]", first.session_id)

    assert second.answer.startswith("4 [[say:one]]")


def test_a_tool_is_called_and_its_result_is_read(client: Client) -> None:
    text = '[[call:convert {"value":1,"from":"km","to":"m"}]][[say:that is {{result}}]]'

    ended = client.run(text)

    assert json.loads(ended.only("tool.call.completed")["result"])["value"] == "1000"
    assert ended.answer == f"that is {ended.only('tool.call.completed')['result']}"
    roles = [m["role"] for m in client.messages(ended.session_id)]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_reads_run_at_the_same_time_and_answer_in_call_order(
    client: Client, worker: ScriptedWorker
) -> None:
    client.put_agent("busy", worker=worker.url, tools=[tool("a"), tool("b"), tool("c")])
    worker.plays("a", after(0.6, result("A")))
    worker.plays("b", after(0.4, result("B")))
    worker.plays("c", after(0.5, result("C")))

    ended = client.run("[[call:a]][[call:b]][[call:c]][[say:{{results}}]]", agent_id="busy")

    assert worker.most_at_once == 3
    assert ended.answer == "A | B | C"


def test_writes_run_one_after_another(client: Client, worker: ScriptedWorker) -> None:
    write = "non_idempotent_write"
    client.put_agent("busy", worker=worker.url, tools=[tool("a", write), tool("b", write)])
    worker.plays("a", after(0.2, result("A")))

    ended = client.run("[[call:a]][[call:b]][[call:a]][[say:{{results}}]]", agent_id="busy")

    assert worker.most_at_once == 1
    assert [one.tool for one in worker.deliveries] == ["a", "b", "a"]
    assert ended.answer == "A | fine | A"


def test_a_note_is_still_there_in_the_next_turn(client: Client) -> None:
    first = client.run('[[call:note_pad {"action":"add","text":"buy milk"}]][[say:noted]]')
    second = client.run('[[call:note_pad {"action":"add","text":"buy tea"}]]', first.session_id)

    third = client.run('[[call:note_pad {"action":"list"}]][[say:{{result}}]]', second.session_id)

    assert "buy milk" in third.answer
    assert "buy tea" in third.answer


def test_two_sessions_do_not_share_their_notes(client: Client) -> None:
    client.run('[[call:note_pad {"action":"add","text":"mine"}]]')

    other = client.run('[[call:note_pad {"action":"list"}]][[say:{{result}}]]')

    assert "mine" not in other.answer


def test_arguments_that_do_not_fit_the_schema_are_told_to_the_model(client: Client) -> None:
    ended = client.run('[[call:convert {"value":"one","from":"km"}]][[say:{{result}}]]')

    assert ended.completed["outcome"] == "done"
    assert ended.answer.startswith("ERROR: ")
    assert "/value" in ended.answer or "/to" in ended.answer


def test_malformed_arguments_are_told_to_the_model(client: Client) -> None:
    ended = client.run('[[rawcall:convert {"value": 1,]][[say:{{result}}]]')

    assert ended.completed["outcome"] == "done"
    assert ended.answer.startswith("ERROR: ")
    assert "JSON" in ended.answer


def test_empty_arguments_are_told_to_the_model(client: Client) -> None:
    ended = client.run("[[rawcall:convert ]][[say:{{result}}]]")

    assert ended.completed["outcome"] == "done"
    assert ended.answer.startswith("ERROR: ")


def test_a_tool_that_does_not_exist_is_told_to_the_model(client: Client) -> None:
    ended = client.run('[[call:fly {"to":"moon"}]][[say:{{result}}]]')

    assert ended.completed["outcome"] == "done"
    assert ended.answer.startswith("ERROR: ")
    assert "fly" in ended.answer


def test_a_worker_sees_how_the_arguments_were_checked(
    client: Client, worker: ScriptedWorker
) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    client.put_agent("weather", worker=worker.url, tools=[tool("look") | {"input": schema}])

    text = '[[call:look {"city":"Rome"}]][[call:look {}]][[rawcall:look {"city"]][[call:nope]]'
    client.run(text, agent_id="weather")

    checks = [one.request["trigger"]["input"]["status"] for one in worker.deliveries]
    assert sorted(checks) == ["invalid", "malformed", "valid", "valid"]


def test_a_tools_error_is_read_by_the_model(client: Client, worker: ScriptedWorker) -> None:
    client.put_agent("shop", worker=worker.url, tools=[tool("pay", "non_idempotent_write")])
    worker.plays("pay", refuses("the card was declined"))

    ended = client.run("[[call:pay]][[say:sorry: {{result}}]]", agent_id="shop")

    assert ended.answer == "sorry: ERROR: the card was declined"
    assert ended.only("tool.call.errored")["error"] == "the card was declined"


def test_an_agent_may_have_many_tools(client: Client, worker: ScriptedWorker) -> None:
    names = [f"tool_{n:02}" for n in range(24)]
    client.put_agent("many", worker=worker.url, tools=[tool(name) for name in names])

    calls = "".join(f"[[call:{name}]]" for name in names)
    ended = client.run(f"{calls}[[say:{{{{tools}}}}]]", agent_id="many")

    assert sorted(one.tool for one in worker.deliveries) == names
    assert worker.most_at_once <= 10
    assert all(name in ended.answer for name in names)


def test_tools_are_called_turn_after_turn_within_one_answer(client: Client) -> None:
    step = '[[call:convert {"value":%d,"from":"m","to":"cm"}]][[say:step ]]'
    text = "".join(step % n for n in range(1, 6)) + "[[say:end {{result}}]]"

    ended = client.run(text)

    assert len(ended.all("tool.call.completed")) == 5
    assert ended.completed["outcome"] == "done"


def test_an_agent_without_a_worker_tells_the_model_that_nobody_runs_its_tools(
    client: Client,
) -> None:
    client.put_agent("alone", tools=[tool("look")])

    ended = client.run("[[call:look]][[say:{{result}}]]", agent_id="alone")

    assert ended.answer == "ERROR: no worker can run this tool"


def test_a_turn_keeps_the_agent_that_its_session_pinned(
    client: Client, runtime: LocalRuntime
) -> None:
    client.put_agent("poet", system="You are Keats.")
    first = client.run("[[say:{{system}}]]", agent_id="poet")
    client.put_agent("poet", system="You are Byron.")

    again = client.run("[[say:{{system}}]]", first.session_id, agent_id="poet")
    fresh = client.run("[[say:{{system}}]]", agent_id="poet")

    assert first.answer == again.answer == "You are Keats."
    assert fresh.answer == "You are Byron."
    assert runtime.http_url == client.http_url
