"""The published Python client of the runs API, unmodified, over sockets: runs, streams, tools."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from mantyx import (
    MantyxClient,
    MantyxError,
    MantyxRunError,
    ToolResult,
    ToolResultFile,
    define_local_a2a,
    define_local_tool,
)

from e2e.client import Client
from e2e.peer import a2a_peer
from e2e.runs_client import KIND, check_stream, note_sessions, of_type, published

TOTAL: dict[str, Any] = {
    "type": "object",
    "properties": {"amount": {"type": "number"}},
    "required": ["amount"],
    "additionalProperties": False,
}


@pytest.fixture
def runs(client: Client) -> Iterator[MantyxClient]:
    """The published client."""
    with published(client) as made:
        yield made


def test_models_are_listed_with_their_prices(runs: MantyxClient) -> None:
    catalogue = runs.list_models()

    models = {one.id: one for one in catalogue.models}
    assert catalogue.default_model_id == "demo:demo"
    assert models["openai:gpt-5-mini"].vendor_model_id == "gpt-5-mini"
    assert models["openai:gpt-5-mini"].context_window_tokens == 400_000
    assert models["openai:gpt-5-mini"].pricing is not None


def test_a_run_streams_and_ends_with_its_text_and_what_it_used(
    client: Client, runs: MantyxClient
) -> None:
    heard: list[str] = []
    events: list[Any] = []

    result = runs.run_agent(
        system_prompt=KIND,
        prompt="Hello over there",
        on_assistant_delta=heard.append,
        on_event=events.append,
    )

    note_sessions(client, result.run_id)
    check_stream(events)
    assert result.text == "echo: Hello over there"
    assert "".join(heard) == result.text
    assert events[0].type == "started"
    (said,) = of_type(events, "assistant_message")
    assert said == {"text": result.text, "turn": 0, "finishReason": "end_turn"} | said
    assert result.turns == 1
    assert result.tokens is not None
    assert result.tokens.output_tokens > 0
    assert result.model is not None
    assert (result.model.id, result.model.provider) == ("demo:demo", "demo")


def test_a_local_tool_runs_in_the_callers_process(client: Client, runs: MantyxClient) -> None:
    asked: list[Any] = []

    def total(args: dict[str, Any]) -> str:
        asked.append(args)
        return f"{args['amount']:.2f} EUR"

    events: list[Any] = []
    result = runs.run_agent(
        system_prompt=KIND,
        prompt='[[call:total {"amount": 42}]][[say:It is {{result}}]]',
        tools=[define_local_tool(name="total", execute=total, parameters=TOTAL)],
        on_event=events.append,
    )

    note_sessions(client, result.run_id)
    check_stream(events)
    assert asked == [{"amount": 42}]
    assert result.text == "It is 42.00 EUR"
    assert result.turns == 2
    (call,) = of_type(events, "local_tool_call")
    assert (call["name"], call["kind"], call["args"]) == ("total", "local", {"amount": 42})
    (back,) = of_type(events, "local_tool_result_in")
    assert back["output"] == back["result"] == "42.00 EUR"
    assert back["toolUseId"] == call["toolUseId"]
    first, last = of_type(events, "assistant_message")
    assert first["toolCalls"] == [
        {"id": call["toolUseId"], "name": "total", "input": {"amount": 42}}
    ]
    assert (first["finishReason"], last["turn"]) == ("tool_use", 1)


def test_a_local_tool_that_raises_is_something_the_model_reads(
    client: Client, runs: MantyxClient
) -> None:
    def broken(_args: Any) -> str:
        raise ValueError("no such customer")

    events: list[Any] = []
    result = runs.run_agent(
        system_prompt=KIND,
        prompt="[[call:find]][[say:{{result}}]]",
        tools=[define_local_tool(name="find", execute=broken)],
        on_event=events.append,
    )

    note_sessions(client, result.run_id)
    assert result.text.startswith("ERROR: ")
    assert "no such customer" in result.text
    (back,) = of_type(events, "local_tool_result_in")
    assert "no such customer" in back["error"]


def test_arguments_that_do_not_fit_never_reach_the_caller(
    client: Client, runs: MantyxClient
) -> None:
    asked: list[Any] = []
    events: list[Any] = []

    result = runs.run_agent(
        system_prompt=KIND,
        prompt='[[call:total {"amount": "many"}]][[say:{{result}}]]',
        tools=[define_local_tool(name="total", execute=asked.append, parameters=TOTAL)],
        on_event=events.append,
    )

    note_sessions(client, result.run_id)
    assert asked == []
    assert of_type(events, "local_tool_call") == []
    assert "tool_input_invalid" in result.text
    (told,) = of_type(events, "tool_result")
    assert told["ok"] is False


def test_files_of_a_local_tool_are_shown_to_the_model(client: Client, runs: MantyxClient) -> None:
    chart = ToolResultFile(filename="chart.png", mime_type="image/png", data="iVBORw0KGgo=")

    result = runs.run_agent(
        system_prompt=KIND,
        prompt="[[call:draw]][[say:{{result}}]]",
        tools=[
            define_local_tool(
                name="draw", execute=lambda _: ToolResult(result="drawn", files=[chart])
            )
        ],
    )

    note_sessions(client, result.run_id)
    assert "drawn" in result.text
    session = next(iter(client.touched))
    tool = [one for one in client.messages(session) if one["role"] == "tool"]
    assert tool[0]["content"][1]["type"] == "image_url"


def test_a_local_a2a_peer_is_asked_by_the_caller(client: Client, runs: MantyxClient) -> None:
    events: list[Any] = []
    with a2a_peer() as card:
        result = runs.run_agent(
            system_prompt=KIND,
            prompt='[[call:hr {"message": "When does it reset?"}]][[say:{{result}}]]',
            tools=[define_local_a2a(name="hr", agent_card_url=card)],
            on_event=events.append,
        )

    note_sessions(client, result.run_id)
    assert result.text == "peer heard: When does it reset?"
    (call,) = of_type(events, "local_tool_call")
    assert call["kind"] == "a2a_local"
    assert call["agentCard"]["name"] == "Acme HR"


def test_an_answer_that_fits_its_schema_is_json(client: Client, runs: MantyxClient) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }

    result = runs.run_agent(
        system_prompt=KIND,
        prompt='[[say:{"city": "Bergen"}]]',
        output_schema={"name": "place", "schema": schema},
    )

    note_sessions(client, result.run_id)
    assert result.text == '{"city": "Bergen"}'


def test_an_answer_that_never_fits_ends_with_the_last_attempt(
    client: Client, runs: MantyxClient
) -> None:
    """F26."""
    invalid = '[[say:{"town": 1}]][[turn]]' * 10

    with pytest.raises(MantyxRunError) as failed:
        runs.run_agent(
            system_prompt=KIND,
            prompt=invalid,
            output_schema={"schema": {"type": "object", "required": ["city"]}},
        )

    note_sessions(client, failed.value.run_id)
    assert failed.value.partial_text == '{"town": 1}'
    assert failed.value.turns == 3


def test_a_truncated_answer_is_an_error_with_what_was_said(
    client: Client, runs: MantyxClient
) -> None:
    with pytest.raises(MantyxRunError) as failed:
        runs.run_agent(system_prompt=KIND, prompt="[[say:half a]][[finish:max_tokens]]")

    error = failed.value
    note_sessions(client, error.run_id)
    assert (error.error_class, error.finish_reason) == ("truncation", "max_tokens")
    assert error.partial_text == "half a"
    kept = client.http.get(f"/api/v1/workspaces/{client.tenant}/agent-runs/{error.run_id}").json()
    assert (kept["status"], kept["finalText"]) == ("failed", "half a")
    assert kept["failureReason"] == {"errorClass": "truncation", "finishReason": "max_tokens"}


def test_a_loop_is_nudged_and_then_cut_off(client: Client, runs: MantyxClient) -> None:
    events: list[Any] = []
    ran: list[int] = []

    def recall(_args: Any) -> str:
        ran.append(1)
        return "nothing"

    result = runs.run_agent(
        system_prompt=KIND,
        prompt="[[call:recall]][[turn]]" * 8 + "[[say:enough]]",
        tools=[define_local_tool(name="recall", execute=recall)],
        tool_budgets={},
        loop_detection={"consecutiveThreshold": 2, "hardCutoffThreshold": 4},
        on_event=events.append,
    )

    note_sessions(client, result.run_id)
    check_stream(events)
    found = of_type(events, "loop_detected")
    assert [(one["consecutiveCount"], one["hardCutoff"]) for one in found] == [
        (2, False),
        (4, True),
    ]
    assert len(ran) == 1


def test_a_tool_over_its_budget_is_not_run(client: Client, runs: MantyxClient) -> None:
    events: list[Any] = []
    ran: list[Any] = []

    def look(args: Any) -> str:
        ran.append(args)
        return "seen"

    result = runs.run_agent(
        system_prompt=KIND,
        prompt='[[call:look {"n": 1}]][[turn]][[call:look {"n": 2}]][[say:{{result}}]]',
        tools=[define_local_tool(name="look", execute=look)],
        tool_budgets={"look": {"maxCalls": 1}},
        on_event=events.append,
    )

    note_sessions(client, result.run_id)
    assert len(ran) == 1
    assert of_type(events, "tool_budget_exceeded") == [
        {"tool": "look", "maxCalls": 1, "callIndex": 2}
    ]


def test_a_run_that_is_cancelled_from_elsewhere_ends_at_once(
    client: Client, runs: MantyxClient
) -> None:
    stream = runs.stream_agent(system_prompt=KIND, prompt="[[say:wait]][[sleep:60000]][[say:!]]")
    first = next(stream)
    run_id = first.data["runId"]
    client.touched[first.data["sessionId"]] = None
    next(stream)

    runs.cancel_run(run_id)

    *_, last = stream
    assert last.type == "cancelled"
    runs.cancel_run(run_id)


def test_a_wish_that_cannot_be_is_told_with_its_field(runs: MantyxClient) -> None:
    with pytest.raises(MantyxError) as refused:
        runs.run_agent(system_prompt=KIND, prompt="x", model_id="demo:nope")

    assert (refused.value.status, refused.value.code) == (400, "invalid_model")

    with pytest.raises(MantyxError) as refused:
        runs.run_agent(system_prompt=KIND, prompt="x", budgets={"maxToolTurns": 101})

    assert (refused.value.status, refused.value.code) == (400, "invalid_request")
    assert (refused.value.hint or "").startswith("/budgets/maxToolTurns: ")


def test_feedback_is_kept_with_the_run(client: Client, runs: MantyxClient) -> None:
    result = runs.run_agent(system_prompt=KIND, prompt="x")
    note_sessions(client, result.run_id)

    first = runs.submit_run_feedback(result.run_id, "UP", explanation="Kind indeed")
    again = runs.submit_run_feedback(result.run_id, "DOWN")

    assert (first.verdict, again.verdict) == ("UP", "DOWN")
    assert first.id == again.id
    assert first.agent_run_id == result.run_id


@pytest.mark.parametrize(("read_only", "most"), [(True, 2), (False, 1)])
def test_tools_that_write_are_run_one_after_another(
    client: Client, runs: MantyxClient, read_only: bool, most: int
) -> None:
    meeting = threading.Barrier(2)
    met: list[bool] = []

    def meet(_args: Any) -> str:
        try:
            meeting.wait(0.5 if most == 1 else 10)
        except threading.BrokenBarrierError:
            meeting.reset()
            met.append(False)
        else:
            met.append(True)
        return "done"

    result = runs.run_agent(
        system_prompt=KIND,
        prompt='[[call:meet {"n": 1}]][[call:meet {"n": 2}]][[say:{{results}}]]',
        tools=[define_local_tool(name="meet", execute=meet, read_only=read_only)],
    )

    note_sessions(client, result.run_id)
    assert result.text == "done | done"
    assert met == [most == 2] * 2


def test_a_model_that_fails_for_good_gives_way_to_the_other_one(
    client: Client, runs: MantyxClient
) -> None:
    result = runs.run_agent(
        system_prompt=KIND,
        prompt="hello",
        model_id="openai:gpt-5-mini",
        fallback_model_id="demo:demo",
    )

    note_sessions(client, result.run_id)
    assert result.text == "echo: hello"
    assert result.turns == 2
    assert result.model is not None
    assert result.model.id == "demo:demo"


def test_a_session_is_resumed_by_another_process(client: Client, runs: MantyxClient) -> None:
    asked: list[Any] = []

    def note(args: Any) -> str:
        asked.append(args)
        return "noted"

    tool = define_local_tool(name="note", execute=note)
    session = runs.create_session(system_prompt=KIND, tools=[tool], metadata={"customer": "acme"})
    client.touched[session.id] = None
    session.send("[[call:note]][[say:noted]]")

    with published(client) as other:
        again = other.resume_session(session.id, tools=[tool])
        text = again.send("[[call:note]][[say:{{messages}} messages]]").text
        history = again.history()
        again.end()

    assert len(asked) == 2
    assert text == "8 messages"
    assert [one["role"] for one in history if one["content"]][-1] == "assistant"
    assert runs.get_session_info(session.id).status == "ended"
