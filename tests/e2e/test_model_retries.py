"""What becomes of a turn whose model fails: another attempt, or an end that can be read."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.client import PATIENT, Client
from e2e.scripted_worker import ScriptedWorker, tool
from e2e.socket_client import Follower
from e2e.timers import FAR_S, far, messages_in_flight, wait_for_timer, waiting_timers
from everturn_local.runtime import LocalRuntime


def policy(attempts: int, base_s: float = 0, cap_s: float = 60) -> dict[str, Any]:
    """Return a retry policy."""
    return {
        "timeout_secs": 60,
        "max_retries": attempts,
        "backoff_base_secs": base_s,
        "backoff_max_secs": cap_s,
    }


@pytest.mark.parametrize("error", ["rate_limit", "overloaded", "server", "timeout"])
def test_a_model_that_fails_for_a_while_is_tried_again(client: Client, error: str) -> None:
    client.put_agent(retry=PATIENT)

    ended = client.run(f"[[flaky:2 {error}]][[say:there]]")

    assert ended.answer == "there"
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1, 2, 3]
    assert [one["retryable"] for one in ended.all("llm.call.errored")] == [True, True]


def test_a_short_wait_before_another_attempt_is_waited_in_the_driver(
    client: Client, runtime: LocalRuntime
) -> None:
    client.put_agent(retry=policy(3, 1.2))

    turn = client.start("[[flaky:1 overloaded]][[say:there]]")
    ended = client.end_of(turn)

    assert ended.answer == "there"
    assert waiting_timers(runtime, turn) == []
    errored, again = ended.only("llm.call.errored"), ended.all("llm.call.dispatched")[1]
    assert errored["next_attempt_at"] <= _at(ended.events, again)


def _at(events: list[dict[str, Any]], payload: dict[str, Any]) -> str:
    return str(next(one["occurred_at"] for one in events if one["payload"] == payload))


def test_a_long_wait_before_another_attempt_is_waited_in_the_step_machine(
    client: Client, runtime: LocalRuntime
) -> None:
    client.put_agent(retry={**PATIENT, **far(runtime)})
    before = messages_in_flight(runtime)

    turn = client.start("[[flaky:1 overloaded]][[say:there]]")
    timer = wait_for_timer(runtime, turn, before)
    (call,) = client.session(turn.session_id)["calls"]
    runtime.skip_time(FAR_S)
    ended = client.end_of(turn)

    assert (timer["kind"], timer["message"]["step"]) == ("wait", "timer")
    assert (call["status"], call["attempt"]) == ("retry_scheduled", 1)
    assert timer["until"] == ended.only("llm.call.errored")["next_attempt_at"]
    assert ended.answer == "there"
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1, 2]


def test_a_turn_that_waits_for_another_attempt_still_holds_its_place(
    client: Client, runtime: LocalRuntime
) -> None:
    client.put_agent(retry={**PATIENT, **far(runtime)})
    before = messages_in_flight(runtime)
    turn = client.start("[[flaky:1 overloaded]][[say:there]]")
    wait_for_timer(runtime, turn, before)

    refused = client.say("me first", turn.session_id)
    runtime.skip_time(FAR_S)

    assert (refused.status_code, refused.json()["turn_id"]) == (409, turn.turn_id)
    assert client.end_of(turn).answer == "there"


def test_a_model_that_fails_too_often_fails_the_turn_readably(client: Client) -> None:
    client.put_agent(retry=PATIENT)

    ended = client.run("[[flaky:9 overloaded]][[say:never]]")

    assert ended.completed["outcome"] == "failed"
    assert ended.completed["error"]["code"] == "provider_error"
    assert ended.completed["error"]["message"]
    assert len(ended.all("llm.call.dispatched")) == 3
    assert client.session(ended.session_id)["last_outcome"] == "failed"
    assert client.run("again", ended.session_id).answer == "echo: again"


@pytest.mark.parametrize("error", ["auth", "invalid_request", "context_window", "refused"])
def test_a_failure_that_no_repetition_changes_ends_the_turn_at_once(
    client: Client, error: str
) -> None:
    ended = client.run(f"[[say:well ]][[error:{error} the key is wrong]]")

    assert ended.completed["outcome"] == "failed"
    assert ended.completed["error"]["message"] == "the key is wrong"
    assert len(ended.all("llm.call.dispatched")) == 1
    assert client.run("again", ended.session_id).answer == "echo: again"


def test_a_failure_after_a_tool_leaves_a_conversation_that_can_go_on(client: Client) -> None:
    text = '[[call:convert {"value":1,"from":"m","to":"cm"}]][[error:auth no]]'

    ended = client.run(text)

    assert ended.completed["outcome"] == "failed"
    assert client.run("again", ended.session_id).answer == "echo: again"


def test_a_stream_that_breaks_off_is_begun_again(client: Client) -> None:
    client.put_agent(retry=PATIENT)

    ended = client.run("[[cut:3]][[say:one two three four five]]")

    assert ended.answer == "one two three four five"
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1, 2]
    contents = [message["content"] for message in client.messages(ended.session_id)]
    assert contents[1:] == ["one two three four five"]


def test_deltas_of_a_broken_attempt_are_told_from_those_of_the_next(client: Client) -> None:
    client.put_agent(retry=PATIENT)
    session_id = client.run("hello").session_id
    follower = Follower(seq=client.session(session_id)["seq"])
    with client.connect() as socket:
        socket.subscribe(session_id, after=str(follower.seq))

        client.start("[[cut:3]][[say:one two three four five]]", session_id)
        follower.until_end(socket)

    assert follower.text(attempt=2) == "one two three four five"
    assert "one two three four five".startswith(follower.text(attempt=1))


def test_a_call_in_a_reply_that_was_cut_off_never_runs(
    client: Client, worker: ScriptedWorker
) -> None:
    client.put_agent("clerk", worker=worker.url, tools=[tool("file", "non_idempotent_write")])

    text = '[[rawcall:file {"path":"a","content":"abc]][[finish:max_tokens]][[say:{{result}}]]'
    ended = client.run(text, agent_id="clerk")

    assert worker.deliveries == []
    assert ended.completed["outcome"] == "done"
    assert "cut off" in ended.tool_texts()[0]
    assert client.run("again", ended.session_id, agent_id="clerk").answer == "echo: again"


def test_a_reply_that_was_cut_off_without_a_call_is_kept_and_marked(client: Client) -> None:
    ended = client.run("[[say:half a sen]][[finish:max_tokens]]")

    assert ended.answer == "half a sen"
    assert ended.completed["truncated"] is True
    assert ended.only("llm.call.completed")["finish_reason"] == "length"


def test_a_model_beyond_its_time_is_tried_again(client: Client) -> None:
    client.put_agent(retry={**PATIENT, "timeout_secs": 0.5, "max_retries": 2})

    ended = client.run("[[sleep:20000]][[say:never]]")

    assert ended.completed["outcome"] == "failed"
    assert ended.completed["error"]["code"] == "deadline_exceeded"
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1, 2]
    assert client.run("again", ended.session_id).answer == "echo: again"


def test_a_model_that_says_nothing_is_tried_again(client: Client) -> None:
    client.put_agent(retry={**PATIENT, "max_retries": 2})

    ended = client.run("[[finish:stop]]")

    assert ended.completed["outcome"] in {"failed", "done"}
    assert client.run("again", ended.session_id).answer == "echo: again"
