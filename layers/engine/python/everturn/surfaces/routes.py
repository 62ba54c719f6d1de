"""The HTTP API as a table: which routes there are, who may use them, what they are called.

It must not know what a route does. The template, the OpenAPI page and the tests read this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from everturn.ports.callers import Caller, Who
from everturn.surfaces.http_answers import read_body


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path."""

    operation: str
    """Its name here, in the OpenAPI page and in what generated clients call it."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    """With `{name}` for a part that is given."""

    who: Who = Who.MACHINE
    """The least privilege that it takes. Source: decision-protocol A-1, O-1."""

    scope: str = ""
    """What a client token has to carry. Source: agent-runs.md, scopes."""

    function: Literal["http_api", "reader"] = "http_api"
    says_ok: bool = False
    """Its refusals say `ok: false`, as its answers say `ok: true`. Source: F-2, O-21."""

    oauth: bool = False
    """Its answers are kept by nobody and its refusals worded as RFC 6749, 5.1 and 5.2 have it."""

    also: str = ""
    """What it has to carry besides: who writes specs starts runs, whatever the path says."""


WORKSPACE: Final = "/api/v1/workspaces/{slug}"
"""How the paths of the runs API begin. Source: agent-runs.md."""

RUNS: Final = f"{WORKSPACE}/agent-runs"
AGENT_SESSIONS: Final = f"{WORKSPACE}/agent-sessions"

ROUTES: Final = (
    Route("health", "GET", "/v1/health", Who.ANYONE),
    Route("create_client_token", "POST", "/v1/client-tokens"),
    Route("submit_input", "POST", "/v1/sessions/input", Who.FRONTEND, "sessions:write"),
    Route("list_sessions", "GET", "/v1/sessions", Who.FRONTEND, "sessions:read"),
    Route("get_session", "GET", "/v1/sessions/{session_id}", Who.FRONTEND, "sessions:read"),
    Route("delete_session", "DELETE", "/v1/sessions/{session_id}", Who.FRONTEND, "sessions:write"),
    Route(
        "read_events",
        "GET",
        "/v1/sessions/{session_id}/events",
        Who.FRONTEND,
        "sessions:read",
        "reader",
    ),
    Route(
        "enqueue_item", "POST", "/v1/sessions/{session_id}/inbox", Who.FRONTEND, "sessions:write"
    ),
    Route(
        "edit_item",
        "PATCH",
        "/v1/sessions/{session_id}/inbox/{item_id}",
        Who.FRONTEND,
        "sessions:write",
    ),
    Route(
        "drop_item",
        "DELETE",
        "/v1/sessions/{session_id}/inbox/{item_id}",
        Who.FRONTEND,
        "sessions:write",
    ),
    Route("settle_call", "POST", "/v1/sessions/{session_id}/calls/settle", says_ok=True),
    Route(
        "interrupt_session",
        "POST",
        "/v1/sessions/{session_id}/interrupt",
        Who.FRONTEND,
        "sessions:write",
    ),
    Route(
        "resume_session",
        "POST",
        "/v1/sessions/{session_id}/resume",
        Who.FRONTEND,
        "sessions:write",
    ),
    Route(
        "resolve_wait",
        "POST",
        "/v1/sessions/{session_id}/approvals/{interrupt_id}",
        Who.FRONTEND,
        "sessions:write",
    ),
    Route("cancel_session", "POST", "/v1/sessions/{session_id}/cancel"),
    Route(
        "cancel_turn",
        "POST",
        "/v1/sessions/{session_id}/turns/{turn_id}/cancel",
        Who.FRONTEND,
        "sessions:write",
    ),
    Route("get_session_budgets", "GET", "/v1/sessions/{session_id}/budgets"),
    Route("put_session_budgets", "PUT", "/v1/sessions/{session_id}/budgets"),
    Route("delete_session_budgets", "DELETE", "/v1/sessions/{session_id}/budgets"),
    Route("get_tenant_budget", "GET", "/v1/budgets/tenant"),
    Route("put_tenant_budget", "PUT", "/v1/budgets/tenant"),
    Route("delete_tenant_budget", "DELETE", "/v1/budgets/tenant"),
    Route("get_owner_budget", "GET", "/v1/budgets/owners/{owner_id}"),
    Route("put_owner_budget", "PUT", "/v1/budgets/owners/{owner_id}"),
    Route("delete_owner_budget", "DELETE", "/v1/budgets/owners/{owner_id}"),
    Route("submit_answer", "POST", "/v1/workers/submit", says_ok=True),
    Route("list_agents", "GET", "/v1/agents"),
    Route("put_agent", "PUT", "/v1/agents/{agent_id}"),
    Route("get_agent", "GET", "/v1/agents/{agent_id}"),
    Route("delete_agent", "DELETE", "/v1/agents/{agent_id}"),
    Route("list_models", "GET", "/v1/models", Who.FRONTEND, "models:read"),
    Route("create_upload", "POST", "/v1/uploads", Who.FRONTEND, "sessions:write"),
    Route("get_upload", "GET", "/v1/uploads/{upload_id}", Who.FRONTEND, "sessions:read"),
    Route("list_run_models", "GET", f"{WORKSPACE}/models", Who.FRONTEND, "models:read"),
    Route("create_run", "POST", RUNS, Who.FRONTEND, "runs:write"),
    Route("get_run", "GET", f"{RUNS}/{{run_id}}", Who.FRONTEND, "runs:read"),
    Route("stream_run", "GET", f"{RUNS}/{{run_id}}/stream", Who.FRONTEND, "runs:read", "reader"),
    Route("answer_tool", "POST", f"{RUNS}/{{run_id}}/tool-results", Who.FRONTEND, "runs:write"),
    Route("cancel_run", "POST", f"{RUNS}/{{run_id}}/cancel", Who.FRONTEND, "runs:write"),
    Route("rate_run", "POST", f"{RUNS}/{{run_id}}/feedback", Who.FRONTEND, "feedback:write"),
    Route(
        "create_agent_session",
        "POST",
        AGENT_SESSIONS,
        Who.FRONTEND,
        "sessions:write",
        also="runs:write",
    ),
    Route("list_agent_sessions", "GET", AGENT_SESSIONS, Who.FRONTEND, "sessions:read"),
    Route(
        "get_agent_session",
        "GET",
        f"{AGENT_SESSIONS}/{{session_id}}",
        Who.FRONTEND,
        "sessions:read",
    ),
    Route(
        "replay_agent_session",
        "GET",
        f"{AGENT_SESSIONS}/{{session_id}}/events",
        Who.FRONTEND,
        "sessions:read",
    ),
    Route(
        "send_message",
        "POST",
        f"{AGENT_SESSIONS}/{{session_id}}/messages",
        Who.FRONTEND,
        "sessions:write",
        also="runs:write",
    ),
    Route(
        "end_agent_session",
        "DELETE",
        f"{AGENT_SESSIONS}/{{session_id}}",
        Who.FRONTEND,
        "sessions:write",
    ),
    Route("oauth_token", "POST", "/api/oauth/token", Who.ANYONE, oauth=True),
    Route("oauth_revoke", "POST", "/api/oauth/revoke", Who.ANYONE, oauth=True),
    Route("get_userinfo", "GET", "/api/oauth/userinfo", Who.FRONTEND, "mantyx.identity:read"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a route is given: who asks, and what stands in path, query and body."""

    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    event: Mapping[str, Any]
    """The API Gateway event, payload 2.0."""

    def body(self, limit_bytes: int) -> Any:
        """Return the JSON body. Raises `TooLarge`, `InvalidJson`."""
        return read_body(self.event, limit_bytes)

    def optional_body(self, limit_bytes: int) -> Any:
        """Return the JSON body, `{}` where there is none. Raises as `body`."""
        return self.body(limit_bytes) if self.event.get("body") else {}


Result = tuple[int, dict[str, Any]]
Operation = Callable[[Request], Result]


def methods_of(path: str) -> tuple[str, ...]:
    """Return the methods that a path takes, sorted; none where there is no such path."""
    return tuple(sorted(route.method for route in ROUTES if _PATTERNS[route.path].fullmatch(path)))


_PATTERNS: Final = {
    route.path: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route.path))) for route in ROUTES
}
