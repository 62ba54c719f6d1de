"""Turns on providers' own wires, over HTTP on both sides."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from e2e.client import Client, message_body
from e2e.scripted_worker import ScriptedWorker, result, tool
from e2e.socket_client import Follower
from everturn_local.runtime import LocalRuntime
from providers.frames import DONE, frame
from providers.official_models import refusals_anthropic, refusals_chat
from providers.scripted import Answer, Ending, ScriptedProvider, json_answer

QUICK = {
    "timeout_secs": 30,
    "max_retries": 3,
    "backoff_base_secs": 0,
    "backoff_max_secs": 5,
}
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}

Configured = Callable[..., None]


@pytest.fixture
def agent(client: Client, runtime: LocalRuntime, scripted: ScriptedProvider) -> Configured:
    """Writes the agent `demo` on a provider that a test scripts."""
    from everturn.commands.model_settings import ModelSettings  # noqa: PLC0415  # a runtime is up
    from everturn.store.registry import DynamoRegistry  # noqa: PLC0415

    office = ModelSettings(
        DynamoRegistry(runtime.physical["Table"], runtime.clients.dynamodb), "any"
    )
    office.set_provider(client.tenant, "gateway", {
        "kind": "openai-compatible", "base_url": f"{scripted.url}/v1", "headers": {"x-title": "T"},
    })  # fmt: skip
    office.set_provider(client.tenant, "anthropic", {
        "kind": "anthropic", "base_url": scripted.url, "api_key": {"env": "EVERTURN_TEST_KEY"},
    })  # fmt: skip

    def configured(model: str = "gateway:large", **definition: Any) -> None:
        told = client.put_agent(**{"model": model, "retry": QUICK, **definition})
        assert told.status_code in {200, 201}, told.text

    return configured


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return frame({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def said(text: str, finish: str = "stop") -> Answer:
    """Return an answer in two pieces."""
    middle = len(text) // 2
    pieces = (
        chunk({"role": "assistant", "content": text[:middle]}),
        chunk({"content": text[middle:]}),
        chunk({}, finish),
        frame({"id": "c", "choices": [], "usage": USAGE}),
        DONE,
    )
    return Answer(pieces)


def asks(*calls: tuple[str, str, str], finish: str = "tool_calls") -> Answer:
    """Return an answer that calls tools: id, name and arguments of each."""
    pieces = [
        chunk({"tool_calls": [
            {"index": at, "id": call_id, "function": {"name": name, "arguments": arguments}}
        ]})
        for at, (call_id, name, arguments) in enumerate(calls)
    ]  # fmt: skip
    return Answer((*pieces, chunk({}, finish), DONE))


def sent(scripted: ScriptedProvider) -> list[Any]:
    """Return the bodies of all requests so far; every one is well-formed."""
    bodies = [one.json for one in scripted.asked]
    assert [refusals_chat(body) for body in bodies] == [[]] * len(bodies)
    return bodies


def test_a_turn_on_a_gateway(client: Client, agent: Configured, scripted: ScriptedProvider) -> None:
    agent(system="Be kind.")
    scripted.plays(said("Grüß dich"))

    ended = client.run("Hello")

    (request,) = scripted.asked
    assert ended.answer == "Grüß dich"
    assert (request.path, request.headers["x-title"]) == ("/v1/chat/completions", "T")
    assert "authorization" not in request.headers
    assert request.json["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
    ]
    completed = ended.only("llm.call.completed")
    assert (completed["usage"]["input_tokens"], completed["usage"]["output_tokens"]) == (10, 5)


def test_a_stream_is_followed_as_it_comes(
    client: Client, agent: Configured, scripted: ScriptedProvider
) -> None:
    """What a provider has said is seen while it has not gone on yet."""
    agent()
    go_on = threading.Event()
    end = (chunk({}, "stop"), DONE)
    scripted.plays(Answer((chunk({"content": "Hello"}), go_on, chunk({"content": " there"}), *end)))
    follower = Follower()
    with client.connect() as socket:
        turn = client.start("Hi")
        socket.subscribe(turn.session_id)
        follower.read(socket, lambda one: bool(one.deltas))
        early = follower.text()
        go_on.set()
        follower.until_end(socket)

    assert (early, follower.text()) == ("Hello", "Hello there")


def test_a_stream_that_breaks_off_is_nobodys_answer(
    client: Client, agent: Configured, scripted: ScriptedProvider
) -> None:
    """The attempt is void: nothing of it is in a message, and the next one is whole."""
    agent()
    half = (chunk({"content": "Half an ans"}),)
    scripted.plays(Answer(half, ending=Ending.RESET), Answer(half), said("A whole answer"))

    ended = client.run("Hello")

    assert ended.answer == "A whole answer"
    assert [one["detail"]["reason"] for one in ended.all("llm.call.errored")] == [
        "network",
        "stream_ended",
    ]
    texts = [one["content"] for one in client.messages(ended.turn.session_id)]
    assert texts == ["Hello", "A whole answer"]


def test_a_limit_is_waited_for_as_long_as_the_provider_says(
    client: Client, agent: Configured, scripted: ScriptedProvider
) -> None:
    agent()
    busy = {"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}}
    scripted.plays(json_answer(429, busy, retry_after="1", x_request_id="req_7"), said("There"))

    ended = client.run("Hello")

    assert ended.answer == "There"
    errored = ended.only("llm.call.errored")
    assert (errored["code"], errored["retryable"]) == ("rate_limited", True)
    assert errored["detail"] == {
        "reason": "rate_limit",
        "status": 429,
        "retry_after_ms": 1000,
        "request_id": "req_7",
        "provider_code": "rate_limit_exceeded",
        "provider_message": "Slow down.",
    }


def test_a_bad_request_ends_the_turn_with_the_providers_own_sentence(
    client: Client, agent: Configured, scripted: ScriptedProvider
) -> None:
    agent()
    scripted.plays(json_answer(404, {"error": {"message": "No such model: large"}}))

    ended = client.run("Hello")

    errored = ended.only("llm.call.errored")
    assert (ended.completed["outcome"], errored["retryable"]) == ("failed", False)
    assert errored["detail"]["provider_message"] == "No such model: large"


def test_a_call_that_the_output_limit_cut_off_is_never_run(
    client: Client, agent: Configured, scripted: ScriptedProvider, worker: ScriptedWorker
) -> None:
    """F20: its tool would take the arguments `{}` as well."""
    fields = {"path": {"type": "string", "default": "x"}, "content": {"type": "string"}}
    write = tool("write", "non_idempotent_write", input={"type": "object", "properties": fields})
    agent(worker=worker.url, tools=[write])
    cut = '{"path":"a","content":"abc'
    scripted.plays(asks(("call_1", "write", cut), finish="length"), said("Next"))

    ended = client.run("Write it")
    again = client.run("Go on", ended.turn.session_id)

    assert worker.sent() == []
    assert ended.completed["truncated"] is True
    assert again.answer == "Next"
    roles = [one["role"] for one in sent(scripted)[1]["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]


def test_tools_with_odd_schemas_are_offered_and_checked_by_the_original(
    client: Client, agent: Configured, scripted: ScriptedProvider, worker: ScriptedWorker
) -> None:
    """F22: one tool's schema breaks no session."""
    leaf = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    }
    tools = [
        tool("either", input={"anyOf": [leaf, {"type": "null"}]}),
        tool("trees", input={"$ref": "#/$defs/tree", "$defs": {"tree": tree}}),
        tool("untyped", input={"properties": {"a": {"type": "string"}}}),
    ]
    worker.plays("either", result("one"))
    agent(worker=worker.url, tools=tools)
    scripted.plays(
        asks(("a", "either", '{"n":"not a number"}'), ("b", "either", '{"n":1}')), said("Done")
    )

    ended = client.run("Go")

    assert ended.answer == "Done"
    first, second = sent(scripted)
    offered = [one["function"]["parameters"] for one in first["tools"]]
    assert [one["type"] for one in offered] == ["object"] * 3
    assert not any({"anyOf", "$ref"} & one.keys() for one in offered)
    assert {delivery.request["trigger"]["input"]["status"] for delivery in worker.sent()} == {
        "invalid",
        "valid",
    }
    assert [one["role"] for one in second["messages"]] == ["user", "assistant", "tool", "tool"]


def test_a_provider_that_uses_one_id_again_and_again_loses_no_result(
    client: Client, agent: Configured, scripted: ScriptedProvider, worker: ScriptedWorker
) -> None:
    """F23: `call_0` in three turns, and twice within one answer."""
    worker.plays("look", *(result(f"result {number}") for number in range(4)))
    agent(worker=worker.url, tools=[tool("look")])
    session_id = None
    for turn in range(3):
        ids = ["call_0", "call_0"] if turn == 2 else ["call_0"]
        scripted.plays(asks(*((one, "look", "{}") for one in ids)), said(f"Answer {turn}"))
        ended = client.run("Look", session_id)
        session_id = ended.turn.session_id
        assert ended.answer == f"Answer {turn}"

    last = sent(scripted)[-1]["messages"]
    made = [call["id"] for one in last for call in one.get("tool_calls") or ()]
    answered = [one["tool_call_id"] for one in last if one["role"] == "tool"]
    assert made == answered
    assert len(set(made)) == 4
    results = sorted(one["content"] for one in last if one["role"] == "tool")
    assert results == [f"result {number}" for number in range(4)]


def test_a_tool_whose_name_no_provider_takes_is_called_by_it_all_the_same(
    client: Client, agent: Configured, scripted: ScriptedProvider, worker: ScriptedWorker
) -> None:
    name = "9-lives"
    worker.plays(name, result("nine"))
    agent(worker=worker.url, tools=[tool(name)])
    scripted.plays(said("Hi"))
    first = client.run("Hello")
    wire = sent(scripted)[0]["tools"][0]["function"]["name"]
    scripted.plays(asks(("c", wire, "{}")), said("Done"))

    ended = client.run("Go", first.turn.session_id)

    assert wire != name
    assert [delivery.tool for delivery in worker.sent()] == [name]
    assert ended.answer == "Done"


def test_an_upload_reaches_the_provider_as_bytes(
    client: Client, agent: Configured, scripted: ScriptedProvider
) -> None:
    agent()
    scripted.plays(said("A dot"))
    picture = b"\x89PNG\r\n"
    wanted = {"filename": "a.png", "content_type": "image/png", "size_bytes": len(picture)}
    minted = client.http.post("/v1/uploads", json=wanted).json()
    httpx.put(minted["url"], headers=minted["headers"], content=picture, timeout=10)
    part = {"type": "image_url", "image_url": {"url": minted["file_url"]}}
    body = message_body("x", None, None, "demo")
    body["input"]["message"]["content"] = [{"type": "text", "text": "What is it?"}, part]

    accepted = client.post(body).json()
    client.idle(accepted["session_id"])

    (request,) = sent(scripted)
    data = base64.b64encode(picture).decode()
    assert request["messages"][0]["content"][1]["image_url"]["url"] == (
        f"data:image/png;base64,{data}"
    )
    kept = client.messages(accepted["session_id"])[0]["content"][1]
    assert kept["image_url"]["url"] == minted["file_url"]


def event(kind: str, **more: Any) -> bytes:
    return frame({"type": kind, **more}, kind)


def thoughtful(*blocks: bytes, reason: str) -> Answer:
    """Return an answer of Anthropic's that begins with signed thinking."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": 1}
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    return Answer(
        (
            event("message_start", message={"id": "msg_1", "usage": usage}),
            event("content_block_start", index=0, content_block=thinking),
            event("content_block_delta", index=0, delta={
                "type": "thinking_delta", "thinking": "Let me see."
            }),
            event("content_block_delta", index=0, delta={
                "type": "signature_delta", "signature": "sig=="
            }),
            event("content_block_stop", index=0),
            *blocks,
            event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 9}),
            event("message_stop"),
        )
    )  # fmt: skip


def test_signed_thinking_goes_back_in_the_loop_and_in_no_message(
    client: Client,
    agent: Configured,
    scripted: ScriptedProvider,
    worker: ScriptedWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVERTURN_TEST_KEY", "sk-first")
    worker.plays("look", result("a cat"))
    agent("anthropic:claude-test-4-5", worker=worker.url, tools=[tool("look")],
          reasoning={"effort": "low"})  # fmt: skip
    call = (
        event("content_block_start", index=1, content_block={
            "type": "tool_use", "id": "toolu_1", "name": "look", "input": {}
        }),
        event("content_block_stop", index=1),
    )  # fmt: skip
    text = (
        event("content_block_start", index=1, content_block={"type": "text", "text": "A cat."}),
        event("content_block_stop", index=1),
    )
    scripted.plays(thoughtful(*call, reason="tool_use"), thoughtful(*text, reason="end_turn"))

    ended = client.run("Look")

    first, second = [one.json for one in scripted.asked]
    assert ended.answer == "A cat."
    assert [refusals_anthropic(one) for one in (first, second)] == [[], []]
    assert second["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "Let me see.",
        "signature": "sig==",
    }
    assert "Let me see." not in json.dumps(client.messages(ended.turn.session_id))
    assert {one.headers["x-api-key"] for one in scripted.asked} == {"sk-first"}
    assert ended.completed["usage"]["cache_read_tokens"] == 6


def test_a_provider_without_its_key_says_how_to_name_one(client: Client) -> None:
    client.put_agent(model="openai:gpt-5")

    ended = client.run("Hello")

    errored = ended.only("llm.call.errored")
    assert "everturn providers set" in errored["error"]
    assert (errored["detail"], errored["retryable"]) == ({"reason": "auth"}, False)


def test_a_call_in_flight_is_broken_off_when_its_turn_is_cancelled(
    client: Client, agent: Configured, scripted: ScriptedProvider
) -> None:
    agent()
    scripted.plays(Answer((chunk({"content": "Once upon a time"}),), ending=Ending.SILENT))
    turn = client.start("A story")
    asked = scripted.next_asked()

    stopped = client.http.post(f"/v1/sessions/{turn.session_id}/turns/{turn.turn_id}/cancel")
    ended = client.end_of(turn)

    assert stopped.status_code in {200, 202}, stopped.text
    assert ended.completed["outcome"] == "cancelled"
    assert asked.hung_up.wait(10)
