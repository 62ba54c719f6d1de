"""Model calls, tools, state and config of sessions whose worker decides."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import (
    InvalidLlmResponse,
)
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.state import is_quiescent
from unit.session.building import CONFIG, made, only, said, types
from unit.session.deciding import Deciding, Worker, echo, running
from unit.session.test_deciding import told

# ---- model calls


def test_explicit_messages_are_sent_as_they_are() -> None:
    """Conformance 16: L-2, L-3."""
    prompts: list[list[dict[str, Any]]] = [[{"role": "user", "content": "Only this."}], []]

    for prompt in prompts:

        def prompted(
            request: dict[str, Any], prompt: list[dict[str, Any]] = prompt
        ) -> dict[str, Any]:
            if request["trigger"]["type"] == "client.messages":
                return {**echo(request), "actions": [{"type": "llm.call", "messages": prompt}]}
            return echo(request)

        story = Deciding(worker_=prompted)
        story.submit()

        asked = only(ModelCallRequested, story.log)[0]
        assert asked.messages == prompt


def test_a_result_continues_what_the_model_was_asked_explicitly() -> None:
    """Conformance 17: G-3."""

    def shaping(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] == "client.messages":
            call = {"type": "llm.call", "messages": [{"role": "user", "content": "Shaped."}]}
            return {**echo(request), "actions": [{**call, "temperature": 0.5}]}
        return running("sunny")(request)

    story = Deciding(worker_=shaping)
    story.replies = [said("", made("c1")), said("done")]

    story.submit()

    first, second = only(ModelCallRequested, story.log)
    assert (first.private.asked, second.private.asked) == ({"temperature": 0.5},) * 2
    assert [m["role"] for m in second.messages] == ["user", "assistant", "tool"]
    assert second.messages[0]["content"] == "Shaped."


def test_an_id_of_an_earlier_turn_is_minted_anew_and_one_of_the_workers_ignored() -> None:
    """Conformance 34: X-6, X-7; field case F23."""
    story = Deciding(worker_=running("a", "b"))
    story.replies = [said("", made("call_0")), said("one"), said("", made("call_0")), said("two")]

    story.submit()
    story.submit("Again.")

    ids = [one.id for one in only(ToolCallRequested, story.log)]
    assert len(ids) == len(set(ids)) == 2
    assert told(story)[-1] == ("assistant", "two")


def test_one_of_our_model_calls_runs_at_a_time() -> None:
    """L-8."""

    def twice(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "client.messages":
            return {**echo(request), "actions": [{"type": "llm.call"}, {"type": "llm.call"}]}
        return {} if request["trigger"]["type"] == "llm.finished" else echo(request)

    story = Deciding(worker_=twice)

    events = story.submit()

    order = [one for one in types(events) if one.startswith("llm.call.")]
    assert order == [
        "llm.call.requested",
        "llm.call.requested",
        "llm.call.dispatched",
        "llm.call.completed",
        "llm.call.dispatched",
        "llm.call.completed",
    ]
    assert is_quiescent(story.session)


# ---- model calls that the worker runs

REPLY = {"model": "m", "content": "From afar.", "usage": {"input_tokens": 3, "output_tokens": 2}}
AFAR = {**CONFIG, "handler": "worker"}


def calling(response: Any) -> Worker:
    """Return a worker that answers model calls so."""

    def answer(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] == "llm.execute":
            return {"actions": [{"type": "llm.result", "response": response}]}
        return echo(request)

    return answer


def test_a_worker_runs_its_model_calls_itself() -> None:
    """W-1, W-3, Y-2, Y-3."""
    story = Deciding(config=AFAR, worker_=calling({**REPLY, "cost": "0.01"}))

    story.submit()

    trigger = next(r["trigger"] for r in story.asked if r["trigger"]["type"] == "llm.execute")
    assert trigger["request"]["messages"][0] == {"role": "system", "content": CONFIG["system"]}
    assert (trigger["stream"], trigger["attempt"], "format" in trigger) == (False, 1, False)
    assert told(story) == [("user", "Hello."), ("assistant", "From afar.")]
    ended = next(value for value in story.values if value["type"] == "turn.completed")
    assert (ended["cost"], ended["usage"]) == ("0.01", {"input_tokens": 3, "output_tokens": 2})


def test_a_model_call_of_the_workers_may_fail_and_is_repeated() -> None:
    """R-3, L-6, W-1."""
    left = ["rate limited"]

    def flaky(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] == "llm.execute" and left:
            error = {"type": "llm.error", "error": left.pop(), "retryable": True}
            return {"actions": [{**error, "code": "rate_limited"}]}
        return calling(REPLY)(request)

    story = Deciding(config=AFAR, worker_=flaky)
    story.submit()

    story.proceed(2)
    story.run()

    attempts = [r["trigger"]["attempt"] for r in story.asked if "request" in r["trigger"]]
    assert attempts == [1, 2]
    assert told(story)[-1] == ("assistant", "From afar.")


def test_a_model_answer_that_cannot_be_read_is_an_invalid_response() -> None:
    """P-3: `invalid_llm_response`."""
    story = Deciding(config=AFAR)
    story.do(story.submitting(decides="worker"))
    story.worker_ = lambda r: None if r["trigger"]["type"] == "llm.execute" else echo(r)
    story.run()
    decision = story.session.decisions[0]

    action = {"type": "llm.result", "id": decision.call_id, "response": 5}
    with pytest.raises(InvalidLlmResponse):
        story.respond(decision.id, {"actions": [action]})


def test_a_result_that_breaks_its_schema_is_an_error_that_hides_the_value() -> None:
    """Conformance 8: U-9."""
    tools = [{"name": "look", "output": {"type": "object", "required": ["sky"]}}]
    story = Deciding(config={**CONFIG, "tools": tools}, worker_=running('{"secret":1}'))
    story.replies = [said("", made("c1", "look")), said("hm")]

    story.submit()

    content = story.messages()[2]["content"]
    assert content.startswith("Result of look does not fit its output schema")
    assert "secret" not in content


@pytest.mark.parametrize(
    ("name", "arguments", "status", "proposed"),
    [
        ("get_weather", '{"city":"Tokyo"}', "valid", None),
        ("get_weather", "", "valid", None),
        ("get_weather", '{"city":5}', "invalid", "Arguments for get_weather do not fit its schema"),
        ("get_weather", "[", "malformed", "Arguments for get_weather are not a JSON object"),
        ("send.mail", "{}", "valid", "There is no tool named send.mail. Available: get_weather,"),
    ],
)
def test_arguments_are_checked_before_a_tool_is_run(
    name: str, arguments: str, status: str, proposed: str | None
) -> None:
    """Conformance 7: U-4, 8.4."""
    story = Deciding(worker_=running("ok"))
    story.replies = [said("", made("c1", name, arguments)), said("done")]

    story.submit()

    request = next(r for r in story.asked if r["trigger"]["type"] == "tool.execute")
    assert request["trigger"]["input"]["status"] == status
    actions = request["proposed"].get("actions", [])
    assert [a["error"].startswith(proposed or "-") for a in actions] == ([True] if proposed else [])
    assert story.session.last_outcome == "done"


# ---- state and config


def test_a_state_that_says_nothing_new_is_not_recorded() -> None:
    """Conformance 24: Z-1, Z-3."""
    given = [{"n": 1}, {"n": 1}, {"n": 1.0}, {}, None]
    story = Deciding(worker_=lambda r: {**echo(r), "state": given.pop(0) if given else None})

    story.submit()
    story.submit("Again.")

    states = [value.get("state") for value in story.values if "worker.state" in value["type"]]
    assert states == [{"n": 1}, {"n": 1.0}, None]
    assert [r["state"] for r in story.asked][:5] == [None, {"n": 1}, {"n": 1}, {"n": 1.0}, None]


def test_a_config_counts_for_the_actions_beside_it() -> None:
    """Z-5."""

    def switching(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "client.messages":
            return {**echo(request), "agent": {"model": "demo:other"}}
        return echo(request)

    story = Deciding(worker_=switching)

    story.submit()

    asked = only(ModelCallRequested, story.log)[0]
    assert asked.model == "demo:other"
