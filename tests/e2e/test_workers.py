"""What becomes of a turn whose worker is down, slow or hostile: the session lives on."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.client import Client, Ended
from e2e.scripted_worker import (
    Act,
    ScriptedWorker,
    after,
    answers,
    closed_port,
    hangs_up,
    html,
    refuses,
    result,
    status,
    tool,
)

WRITE = "non_idempotent_write"
UNKNOWN = (
    "ERROR: The outcome of this call is unknown: it was started, and its end was not seen. "
    "It may have taken effect. Find out before doing it again; it was not repeated."
)

HUGE = result("x" * (9 * 1024 * 1024))
OVER_RESULT_LIMIT = result("x" * (2 * 1024 * 1024 + 1))
SERVER_ERROR = status(500, b"<html>secret-of-the-proxy</html>")
NOT_A_DECISION = answers({"actions": [{"type": "fly"}]})
TWO_RESULTS = answers({"actions": [{"type": "tool.result", "result": 1}] * 2})


def run_tool(
    client: Client, worker: ScriptedWorker, *acts: Act, effect: str | None = "read", **more: Any
) -> Ended:
    """Run a turn that calls one tool of that worker, and one more turn to show that one can."""
    client.put_agent("user", worker=worker.url, tools=[tool("go", effect, **more)])
    worker.plays("go", *acts)
    ended = client.run("[[call:go]][[say:{{result}}]]", agent_id="user", within_s=30)

    assert ended.completed["outcome"] == "done"
    assert "secret-of-the-proxy" not in str(client.events(ended.session_id))
    again = client.run("still there?", ended.session_id, agent_id="user")
    assert again.answer == "echo: still there?"
    return ended


@pytest.mark.parametrize("effect", ["read", "idempotent_write"])
def test_tools_that_may_run_again_are_delivered_again_whatever_went_wrong(
    client: Client, worker: ScriptedWorker, effect: str
) -> None:
    ended = run_tools(
        client,
        worker,
        effect,
        server_error=SERVER_ERROR,
        page=html,
        hangs_up=hangs_up,
        throttled=status(429, retry_after="1"),
        no_decision=NOT_A_DECISION,
        two_results=TWO_RESULTS,
    )

    assert ended.answer == " | ".join(["second time"] * 6)
    for name in ("server_error", "page", "hangs_up", "throttled", "no_decision", "two_results"):
        first, second = worker.sent(name)
        assert (first.request["attempts"], second.request["attempts"]) == (1, 2)
        assert first.request["decision_id"] == second.request["decision_id"]
        varying = {"attempts", "deadline"}
        assert {k: v for k, v in first.request.items() if k not in varying} == {
            k: v for k, v in second.request.items() if k not in varying
        }


@pytest.mark.parametrize("effect", [WRITE, "unclassified", None])
def test_writes_that_may_have_happened_are_never_delivered_again(
    client: Client, worker: ScriptedWorker, effect: str | None
) -> None:
    ended = run_tools(
        client,
        worker,
        effect,
        server_error=SERVER_ERROR,
        page=html,
        hangs_up=hangs_up,
        no_decision=NOT_A_DECISION,
        huge=HUGE,
        redirect=status(302, location="http://127.0.0.1/"),
    )

    assert ended.answer == " | ".join([UNKNOWN] * 6)
    assert len(worker.deliveries) == 6
    details = [one["detail"] for one in ended.all("tool.call.errored")]
    assert details == [{"reason": "outcome_unknown"}] * 6


def run_tools(client: Client, worker: ScriptedWorker, effect: str | None, **acts: Act) -> Ended:
    """Run a turn that calls a tool for each act, which is played at the first delivery."""
    tools = [tool(name, effect, overlap=True) for name in acts]
    client.put_agent("user", worker=worker.url, tools=tools)
    for name, act in acts.items():
        worker.plays(name, act, result("second time"))
    calls = "".join(f"[[call:{name}]]" for name in acts)
    ended = client.run(f"{calls}[[say:{{{{results}}}}]]", agent_id="user")

    assert ended.completed["outcome"] == "done"
    assert "secret-of-the-proxy" not in str(client.events(ended.session_id))
    return ended


@pytest.mark.parametrize("code", [429, 503])
def test_a_write_that_the_worker_did_not_start_is_delivered_again(
    client: Client, worker: ScriptedWorker, code: int
) -> None:
    ended = run_tool(client, worker, status(code, retry_after="1"), result("ok"), effect=WRITE)

    assert ended.answer == "ok"
    assert len(worker.deliveries) == 2


def test_a_worker_says_how_long_to_wait(client: Client, worker: ScriptedWorker) -> None:
    ended = run_tool(client, worker, status(429, retry_after="1"), result("ok"))

    (errored,) = ended.all("decision.errored")
    assert errored["code"] == "rate_limited"
    assert errored["retryable"] is True
    assert ended.answer == "ok"


@pytest.mark.parametrize("effect", ["read", WRITE])
def test_a_worker_that_is_down_is_told_as_not_started(
    client: Client, worker: ScriptedWorker, effect: str
) -> None:
    worker.url = closed_port()

    ended = run_tool(client, worker, effect=effect)

    assert ended.answer == "ERROR: Not started: the worker refused the connection"
    assert [one["attempt"] for one in ended.all("decision.errored")] == [1, 2]


def test_a_worker_that_stays_broken_is_told_after_the_last_delivery(
    client: Client, worker: ScriptedWorker
) -> None:
    ended = run_tool(client, worker, SERVER_ERROR)

    assert ended.answer == "ERROR: the worker answered 500"
    assert len(worker.deliveries) == 2


def test_a_worker_that_redirects_is_not_followed(client: Client, worker: ScriptedWorker) -> None:
    elsewhere = status(307, location=worker.url + "/elsewhere")

    ended = run_tool(client, worker, elsewhere, elsewhere)

    assert ended.answer == "ERROR: the worker answered 307"
    assert {one.handler.path for one in worker.deliveries} == {"/decide"}


def test_a_huge_answer_is_an_error_at_once(client: Client, worker: ScriptedWorker) -> None:
    ended = run_tool(client, worker, HUGE)

    assert ended.answer == "ERROR: the answer is larger than it may be"
    assert len(worker.deliveries) == 1


def test_a_result_over_the_limit_is_an_error_at_once(
    client: Client, worker: ScriptedWorker
) -> None:
    ended = run_tool(client, worker, OVER_RESULT_LIMIT)

    assert ended.answer == f"ERROR: The result of go is over {2 * 1024 * 1024} bytes."
    assert len(worker.deliveries) == 1


def test_a_read_beyond_its_time_runs_again(client: Client, worker: ScriptedWorker) -> None:
    ended = run_tool(client, worker, after(8, result("late")), result("ok"), timeout_secs=0.6)

    assert ended.answer == "ok"
    assert len(worker.deliveries) == 2
    assert ended.completed["outcome"] == "done"


def test_a_write_beyond_its_time_has_an_unknown_outcome(
    client: Client, worker: ScriptedWorker
) -> None:
    ended = run_tool(
        client, worker, after(8, result("late")), result("twice!"), effect=WRITE, timeout_secs=0.6
    )

    assert ended.answer == UNKNOWN
    assert len(worker.deliveries) == 1


def test_a_worker_that_promises_to_answer_later_and_does_not_is_given_up(
    client: Client, worker: ScriptedWorker
) -> None:
    ended = run_tool(client, worker, status(202, b""), effect=WRITE, timeout_secs=0.6)

    assert ended.answer == UNKNOWN


def test_an_error_that_a_worker_calls_retryable_runs_a_read_again(
    client: Client, worker: ScriptedWorker
) -> None:
    retry = {"timeout_secs": 30, "max_retries": 3, "backoff_base_secs": 0, "backoff_max_secs": 0}
    busy = refuses("busy", retryable=True)

    ended = run_tool(client, worker, busy, busy, result("ok"), retry=retry)

    assert ended.answer == "ok"
    assert [one["attempt"] for one in ended.all("tool.call.dispatched")] == [1, 2, 3]


def test_a_repeated_write_carries_the_same_key_every_time(
    client: Client, worker: ScriptedWorker
) -> None:
    run_tool(client, worker, hangs_up, result("ok"), effect="idempotent_write")

    keys = [one.headers.get("Idempotency-Key") for one in worker.deliveries]
    assert keys[0]
    assert keys[0] == keys[1]


def test_a_failing_tool_does_not_disturb_its_siblings(
    client: Client, worker: ScriptedWorker
) -> None:
    client.put_agent("user", worker=worker.url, tools=[tool("good"), tool("bad", WRITE)])
    worker.plays("good", result("fine"))
    worker.plays("bad", hangs_up)

    text = "[[call:good]][[call:bad]][[call:good]][[say:{{results}}]]"
    ended = client.run(text, agent_id="user")

    assert ended.answer == f"fine | {UNKNOWN} | fine"


def test_a_state_is_kept_only_by_a_tool_that_runs_alone(
    client: Client, worker: ScriptedWorker
) -> None:
    client.put_agent("user", worker=worker.url, tools=[tool("keep", WRITE)])
    worker.plays("keep", result("a", state={"n": 1}), result("b", state={"n": 2}), result("c"))

    client.run("[[call:keep]][[call:keep]][[call:keep]]", agent_id="user")

    assert [one.request["state"] for one in worker.deliveries] == [None, {"n": 1}, {"n": 2}]
