"""The routes of runs: statuses, bodies and refusals as callers see them."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.observability import metrics
from everturn.protocol.client_token import SCOPES
from everturn.surfaces.routes import ROUTES, WORKSPACE
from unit.surfaces.asking import API_KEY, RIVAL_KEY, Surfaces

WORK = "/api/v1/workspaces/acme"
RUNS = f"{WORK}/agent-runs"
LOOK: dict[str, Any] = {
    "kind": "local",
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {}},
}
CALLS_LOOK = {"prompt": "[[call:look {}]][[turn]][[say:Seen {{result}}]]", "tools": [LOOK]}
OF_WORKSPACES = [route for route in ROUTES if route.path.startswith(WORKSPACE)]


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


def started(surfaces: Surfaces, body: dict[str, Any], **how: Any) -> dict[str, Any]:
    """Return the answer of a run that was started."""
    status, told, _ = surfaces.http("POST", RUNS, body, **how)
    assert status == 202, told
    return told


def waiting_call(surfaces: Surfaces, told: dict[str, Any]) -> str:
    """Return the local call that a run waits for once it was driven."""
    surfaces.world.advance()
    (call,) = surfaces.world.head(told["sessionId"]).session.calls
    return call.id


def test_a_run_is_accepted_driven_and_read() -> None:
    surfaces = Surfaces()

    told = started(surfaces, {"prompt": "[[say:Hi]]", "metadata": {"team": "blue"}})
    before = surfaces.http("GET", f"{RUNS}/{told['runId']}")[1]["status"]
    surfaces.world.advance()
    status, read, _ = surfaces.http("GET", f"{RUNS}/{told['runId']}")

    assert told["streamUrl"] == f"{RUNS}/{told['runId']}/stream"
    assert set(told) == {"runId", "sessionId", "streamUrl"}
    assert (before, status, read["finalText"]) == ("running", 200, "Hi")
    assert read["metadata"] == {"team": "blue"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_request"),
        ({"prompt": "a", "messages": [{"role": "user", "content": "b"}]}, "invalid_request"),
        ({"prompt": "a", "agentId": "nobody"}, "unknown_agent"),
        ({"prompt": "a", "modelId": "demo:demi"}, "invalid_model"),
    ],
)
def test_a_run_that_does_not_fit_is_refused(body: dict[str, Any], code: str) -> None:
    surfaces = Surfaces()

    status, told, _ = surfaces.http("POST", RUNS, body)

    assert (status in {400, 404}, told["code"], told["error"]) == (True, code, code)
    assert surfaces.world.store.keys("acme") == ()


def test_the_result_of_a_local_tool_is_taken_once() -> None:
    surfaces = Surfaces()
    told = started(surfaces, CALLS_LOOK)
    call, path = waiting_call(surfaces, told), f"{RUNS}/{told['runId']}/tool-results"

    first = surfaces.http("POST", path, {"toolUseId": call, "result": "blue"})
    second = surfaces.http("POST", path, {"toolUseId": call, "error": "no"})
    surfaces.world.advance()
    late = surfaces.http("POST", path, {"toolUseId": call, "result": "late"})

    assert first[:2] == (200, {"ok": True})
    assert (second[0], second[1]["code"]) == (404, "unknown_tool_use")
    assert (late[0], late[1]["code"]) == (409, "run_terminal")
    read = surfaces.http("GET", f"{RUNS}/{told['runId']}")[1]
    assert read["finalText"] == "Seen blue"


def test_neither_result_nor_error_is_an_empty_result_and_both_are_refused() -> None:
    surfaces = Surfaces()
    told = started(surfaces, CALLS_LOOK)
    call, path = waiting_call(surfaces, told), f"{RUNS}/{told['runId']}/tool-results"

    both = surfaces.http("POST", path, {"toolUseId": call, "result": "a", "error": "b"})
    neither = surfaces.http("POST", path, {"toolUseId": call})

    assert (both[0], both[1]["code"]) == (400, "invalid_request")
    assert neither[:2] == (200, {"ok": True})


def test_a_stop_is_at_once_and_as_often_as_one_likes() -> None:
    surfaces = Surfaces()
    told = started(surfaces, CALLS_LOOK)
    call, path = waiting_call(surfaces, told), f"{RUNS}/{told['runId']}"

    stops = [surfaces.http("POST", f"{path}/cancel")[:2] for _ in range(2)]
    late = surfaces.http("POST", f"{path}/tool-results", {"toolUseId": call, "result": "x"})

    assert stops == [(200, {"ok": True})] * 2
    assert late[:2] == (200, {"ok": True})
    assert surfaces.http("GET", path)[1]["status"] == "cancelled"


def test_feedback_is_made_once_and_then_replaced() -> None:
    surfaces = Surfaces()
    told = started(surfaces, {"prompt": "[[say:Hi]]"})
    path = f"{RUNS}/{told['runId']}/feedback"

    first = surfaces.http("POST", path, {"verdict": "UP", "explanation": "Good."})
    again = surfaces.http("POST", path, {"verdict": "DOWN"})
    wrong = surfaces.http("POST", path, {"verdict": "SIDEWAYS"})

    assert (first[0], again[0], wrong[0]) == (201, 200, 400)
    assert again[1] == {
        "id": first[1]["id"],
        "verdict": "DOWN",
        "targetKind": "run",
        "agentRunId": told["runId"],
    }


def test_the_models_are_listed_with_the_one_that_a_run_gets() -> None:
    status, told, _ = Surfaces().http("GET", f"{WORK}/models")

    assert (status, told["defaultModelId"]) == (200, "demo:demo")
    assert "demo:demo" in [one["id"] for one in told["models"]]


# ---- who may ask


@pytest.mark.parametrize("run_id", ["nothing", "has%20space", "x" * 201])
@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("POST", "/cancel")])
def test_a_run_that_cannot_be_is_not_there(run_id: str, method: str, rest: str) -> None:
    status, told, _ = Surfaces().http(method, f"{RUNS}/{run_id}{rest}")

    assert (status, told["code"]) == (404, "unknown_run")


def test_a_run_is_its_owners_alone() -> None:
    surfaces = Surfaces()
    told = started(surfaces, {"prompt": "[[say:Hi]]"}, key=surfaces.token("ann", scopes=SCOPES))
    path = f"{RUNS}/{told['runId']}"

    answers = [
        surfaces.http("GET", path, key=key)[0]
        for key in (
            surfaces.token("ann", scopes=SCOPES),
            surfaces.token("bob", scopes=SCOPES),
            API_KEY,
        )
    ]

    assert answers == [200, 404, 200]


@pytest.mark.parametrize("route", OF_WORKSPACES, ids=lambda route: route.operation)
def test_another_workspace_is_the_same_404_for_a_key_and_for_a_token(route: Any) -> None:
    surfaces = Surfaces()
    if route.function == "reader":
        return  # its function is asked otherwise
    path = route.path.replace("{slug}", "rival").replace("{run_id}", "r1")
    path = path.replace("{session_id}", "s1")

    of_key = surfaces.http(route.method, path, {})
    of_token = surfaces.http(route.method, path, {}, key=surfaces.token("ann", scopes=SCOPES))
    theirs = surfaces.http(route.method, path.replace("rival", "acme"), {}, key=RIVAL_KEY)
    nowhere = surfaces.http(route.method, path.replace("rival", "nowhere"), {})

    assert (of_key[0], of_key[1]["code"]) == (404, "not_found")
    assert of_key[1]["hint"]
    assert of_key[:2] == of_token[:2] == theirs[:2] == nowhere[:2]


def test_without_a_credential_the_workspace_does_not_matter() -> None:
    answers = {
        Surfaces().http("GET", f"{path}/models", key=None)[0]
        for path in (WORK, "/api/v1/workspaces/x")
    }

    assert answers == {401}


@pytest.mark.parametrize(
    ("method", "rest", "scope"),
    [
        ("POST", "/agent-runs", "runs:write"),
        ("GET", "/agent-runs/r1", "runs:read"),
        ("POST", "/agent-runs/r1/feedback", "feedback:write"),
        ("GET", "/models", "models:read"),
        ("GET", "/agent-sessions", "sessions:read"),
        ("POST", "/agent-sessions/s1/messages", "sessions:write"),
    ],
)
def test_a_token_without_the_scope_is_told_which_one_it_lacks(
    method: str, rest: str, scope: str
) -> None:
    surfaces = Surfaces()
    every = {"runs:write", "runs:read", "models:read", "sessions:read", "sessions:write"}
    token = surfaces.token("ann", scopes=sorted((every | {"feedback:write"}) - {scope}))

    status, told, headers = surfaces.http(method, f"{WORK}{rest}", {}, key=token)

    assert (status, told["code"], told["required"]) == (403, "insufficient_scope", scope)
    assert "www-authenticate" in headers
