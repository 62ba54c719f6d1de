"""What the routes of runs, of their sessions and of the inbox make of a thing of an owner's."""

from __future__ import annotations

from typing import Any

import httpx

from e2e.tenancy import As, Case, Row

PROMPT = {"prompt": "[[say:a secret]]"}


def _workspace(case: Case, path: str) -> str:
    return f"/api/v1/workspaces/{case.client.tenant}{path}"


def run(case: Case) -> str:
    """Return a run of the owner that is over."""
    told = case.ask(As.OWNER, "POST", _workspace(case, "/agent-runs"), PROMPT).json()
    case.client.touched[told["sessionId"]] = None
    case.client.idle(told["sessionId"])
    run_id: str = told["runId"]
    return run_id


def agent_session(case: Case) -> str:
    """Return a session of the owner's in which a run has ended."""
    about = {"metadata": {"what": "a secret"}}
    made = case.ask(As.OWNER, "POST", _workspace(case, "/agent-sessions"), about).json()
    session_id: str = made["sessionId"]
    case.client.touched[session_id] = None
    path = _workspace(case, f"/agent-sessions/{session_id}/messages")
    answer = case.ask(As.OWNER, "POST", path, PROMPT)
    assert answer.status_code == httpx.codes.ACCEPTED, answer.text
    case.client.idle(session_id)
    return session_id


def _by_owner(body: Any) -> Any:
    """Return a body with which nobody else makes anything."""
    return lambda who, _thing: body if who in {As.OWNER, As.KEY} else {"modelId": 1}


def _item(_who: As, _thing: str) -> Any:
    return {"message": {"role": "user", "content": "[[say:more]]"}}


RUN_ROWS = {
    "enqueue_item": Row(ok=202, thing=Case.session, missing="none", body=_item),
    "edit_item": Row(
        ok=404, thing=Case.session, missing="none", body=lambda _who, _thing: {"content": "x"}
    ),
    "drop_item": Row(ok=404, thing=Case.session, missing="none"),
    "list_run_models": Row(ok=200, others=200),
    "create_run": Row(ok=202, body=_by_owner(PROMPT), others=400),
    "get_run": Row(ok=200, thing=run, missing="none"),
    "stream_run": Row(ok=200, thing=run, missing="none"),
    "answer_tool": Row(
        ok=409,
        thing=run,
        missing="none",
        body=lambda _who, _thing: {"toolUseId": "c1", "result": "1"},
    ),
    "cancel_run": Row(ok=200, thing=run, missing="none"),
    "rate_run": Row(ok=201, thing=run, missing="none", body=lambda _w, _thing: {"verdict": "UP"}),
    "create_agent_session": Row(ok=201, body=_by_owner({"name": "n"}), others=400),
    "list_agent_sessions": Row(ok=200, others=200),
    "get_agent_session": Row(ok=200, thing=agent_session, missing="none"),
    "replay_agent_session": Row(ok=200, thing=agent_session, missing="none"),
    "send_message": Row(
        ok=202, thing=agent_session, missing="none", body=lambda _who, _thing: PROMPT
    ),
    "end_agent_session": Row(ok=200, thing=agent_session, missing="none"),
}
"""As `tenancy.ROWS`. Whoever belongs to another workspace than the path names is told so first."""
