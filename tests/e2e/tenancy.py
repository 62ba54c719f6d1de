"""Eight kinds of callers, a tenant's things, and what every route makes of one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import httpx
import jwt

from e2e.client import Client, judged, message_body, new_id
from e2e.waiting import until
from everturn_local.runtime import LocalRuntime

OWNER = "u1"
SCOPES = (
    *("sessions:read", "sessions:write", "models:read", "runs:read", "runs:write"),
    *("feedback:write", "mantyx.identity:read"),
)
PLENTY = {"tokens": 1_000_000, "mode": "fail"}
BUDGETS = {"session": {"tokens": 1_000_000}, "mode": "fail"}
UPLOAD = {"filename": "a.txt", "content_type": "text/plain", "size_bytes": 3}


class As(StrEnum):
    """Who asks."""

    NOBODY = "no credential"
    GARBAGE = "garbage"
    EXPIRED = "an expired token"
    RIVAL_KEY = "another tenant's key"
    OTHER_OWNER = "another owner's token"
    NO_SCOPE = "a token without the scope"
    OWNER = "the owner's token"
    KEY = "a key"


BAD = (As.NOBODY, As.GARBAGE, As.EXPIRED)
"""No credential, or none that is taken."""


def mint(client: Client, owner: str = OWNER, **more: Any) -> str:
    """Return a client token of an owner of the client's tenant."""
    wanted = {"identity": {"id": owner}, "scopes": [*SCOPES], **more}
    answer = client.http.post("/v1/client-tokens", json=wanted)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    token: str = answer.json()["token"]
    return token


def changed(runtime: LocalRuntime, token: str, **claims: Any) -> str:
    """Return a token with other claims, signed by the stack's own key."""
    secret = runtime.clients.secretsmanager.get_secret_value(
        SecretId=os.environ["EVERTURN_TOKEN_SECRET"]
    )
    told = jwt.decode(token, options={"verify_signature": False})
    kid = {"kid": secret["VersionId"]}
    return jwt.encode({**told, **claims}, secret["SecretString"], "HS256", headers=kid)


def expired(runtime: LocalRuntime, token: str) -> str:
    """Return a token as it will be a minute and a second after its end."""
    told = jwt.decode(token, options={"verify_signature": False})
    return changed(runtime, token, iat=told["iat"] - 700, exp=told["iat"] - 61)


@dataclass(slots=True)
class Case:
    """Two tenants that have the same agent; the first one's owner `u1` has all there is."""

    runtime: LocalRuntime
    client: Client
    rival: Client
    credentials: dict[As, str | None] = field(init=False)
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        """Get a credential of each kind; the scope that is missing depends on the route."""
        token = mint(self.client)
        hooks = {"response": [judged]}
        self.http = httpx.Client(base_url=self.client.http_url, timeout=30, event_hooks=hooks)
        self.credentials = {
            As.NOBODY: None,
            As.GARBAGE: "eyJhbGciOiJub25lIn0.e30.x",
            As.EXPIRED: expired(self.runtime, token),
            As.RIVAL_KEY: self.rival.api_key,
            As.OTHER_OWNER: mint(self.client, "u2"),
            As.NO_SCOPE: mint(self.client, scopes=["runs:read"]),
            As.OWNER: token,
            As.KEY: self.client.api_key,
        }

    def without(self, scope: str) -> None:
        """Let the token without the scope have all others."""
        others = [one for one in SCOPES if one != scope]
        self.credentials[As.NO_SCOPE] = mint(self.client, scopes=others)

    def ask(
        self, who: As, method: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """Send a request; the answer is held against the published description."""
        credential = self.credentials[who]
        if credential is not None:
            headers["authorization"] = f"Bearer {credential}"
        return self.http.request(method, path, json=body, headers=headers)

    def session(self) -> str:
        """Return a session of the owner that is over with its first turn."""
        body = message_body("[[say:a secret]]", new_id("session"))
        answer = self.ask(As.OWNER, "POST", "/v1/sessions/input", body)
        session_id: str = answer.json()["session_id"]
        self.client.touched[session_id] = None
        self.client.idle(session_id)
        return session_id

    def upload(self) -> str:
        """Return an upload of the owner that is stored."""
        told = self.ask(As.OWNER, "POST", "/v1/uploads", UPLOAD).json()
        put = httpx.put(told["url"], headers=told["headers"], content=b"abc", timeout=10)
        assert put.status_code == httpx.codes.OK, put.text
        upload_id: str = told["upload_id"]
        return upload_id

    def agent(self) -> str:
        """Return an agent of the tenant alone."""
        agent_id = new_id("agent")
        assert self.client.put_agent(agent_id).status_code == httpx.codes.CREATED
        return agent_id

    def kept(self) -> dict[tuple[str, str], Any]:
        """Return all that the table and the bucket hold of the tenant, once that rests.

        Figures of shared budgets are not looked at: they follow a session's end by a second.
        """
        looks = [self._kept()]

        def rests() -> bool:
            looks.append(self._kept())
            return looks[-1] == looks[-2]

        until(rests)
        return looks[-1]

    def _kept(self) -> dict[tuple[str, str], Any]:
        tenant = self.client.tenant
        pages = self.runtime.clients.dynamodb.get_paginator("scan").paginate(
            TableName=self.runtime.physical["Table"]
        )
        items: Iterable[Any] = (item for page in pages for item in page["Items"])
        kept: dict[tuple[str, str], Any] = {
            (item["pk"]["S"], item["sk"]["S"]): {
                name: one for name, one in item.items() if not name.startswith("spent_")
            }
            for item in items
            if tenant in item["pk"]["S"].split("#")
        }
        objects = self.runtime.clients.s3.list_objects_v2(
            Bucket=self.runtime.physical["Bucket"], Prefix=f"{tenant}/"
        )
        return kept | {("s3", one["Key"]): one["ETag"] for one in objects.get("Contents", [])}


@dataclass(frozen=True, slots=True)
class Row:
    """How one route is asked about a thing of the owner, and what that comes to."""

    ok: int
    """What the owner is answered, or the key where owners may not."""

    thing: Callable[[Case], str] | None = None
    """Makes what the path names; routes without one work in the caller's own realm."""

    missing: str = ""
    """A thing of that kind that there is not."""

    body: Callable[[As, str], Any] = lambda _who, _thing: None
    """Of the request about a thing."""

    others: int = 404
    """What another owner is answered."""

    rivals: int = 404
    """What another tenant is answered."""

    looks: tuple[str, str] | None = None
    """How to ask for what is missing, where the route itself would make it."""

    def nothing(self, method: str, path: str) -> tuple[str, str]:
        """Return the request whose answer is that of a missing thing."""
        return self.looks or (method, path)


def _owner(_case: Case) -> str:
    return OWNER


def _budget_of(whose: str) -> Callable[[Case], str]:
    """Return what sets a budget, and names whom it is for."""

    def made(case: Case) -> str:
        answer = case.ask(As.KEY, "PUT", f"/v1/budgets/{whose}", PLENTY)
        assert answer.status_code == httpx.codes.OK, answer.text
        return whose.rpartition("/")[2]

    return made


def _input(who: As, session_id: str) -> Any:
    body = message_body("[[say:more]]", session_id)
    return {**body, "identity": {"id": OWNER}} if who is As.KEY else body


ROWS = {
    "health": Row(ok=200, others=200, rivals=200),
    "create_client_token": Row(
        ok=201, body=lambda _who, _thing: {"identity": {"id": "u3"}}, rivals=201
    ),
    "submit_input": Row(
        ok=202,
        thing=Case.session,
        missing="none",
        body=_input,
        rivals=202,
        looks=("GET", "/v1/sessions/none"),
    ),
    "list_sessions": Row(ok=200, others=200, rivals=200),
    "get_session": Row(ok=200, thing=Case.session, missing="none"),
    "delete_session": Row(ok=200, thing=Case.session, missing="none"),
    "read_events": Row(ok=200, thing=Case.session, missing="none"),
    "settle_call": Row(
        ok=404,
        thing=Case.session,
        missing="none",
        body=lambda _who, _thing: {"type": "tool.result", "id": "c1", "result": 1},
    ),
    "interrupt_session": Row(
        ok=409,
        thing=Case.session,
        missing="none",
        body=lambda _who, _thing: {"reason": "stop"},
    ),
    "resume_session": Row(
        ok=202,
        thing=Case.session,
        missing="none",
        body=lambda _who, _thing: {"interrupt_id": "i1"},
    ),
    "cancel_turn": Row(ok=404, thing=Case.session, missing="none"),
    "cancel_session": Row(ok=200, thing=Case.session, missing="none"),
    "resolve_wait": Row(
        ok=404,
        thing=Case.session,
        missing="none",
        body=lambda _who, _thing: {"answer": "yes"},
    ),
    "get_session_budgets": Row(ok=200, thing=Case.session, missing="none"),
    "put_session_budgets": Row(
        ok=200, thing=Case.session, missing="none", body=lambda _who, _thing: BUDGETS
    ),
    "delete_session_budgets": Row(ok=200, thing=Case.session, missing="none"),
    "get_tenant_budget": Row(ok=200, thing=_budget_of("tenant")),
    "put_tenant_budget": Row(ok=200, body=lambda _who, _thing: PLENTY, rivals=200),
    "delete_tenant_budget": Row(ok=200, rivals=200),
    "get_owner_budget": Row(ok=200, thing=_budget_of(f"owners/{OWNER}"), missing="nobody"),
    "put_owner_budget": Row(ok=200, thing=_owner, body=lambda _who, _thing: PLENTY, rivals=200),
    "delete_owner_budget": Row(ok=200, thing=_owner, rivals=200),
    "submit_answer": Row(
        ok=404,
        body=lambda _who, _thing: {"session_id": "none", "decision_id": "d1"},
    ),
    "list_agents": Row(ok=200, rivals=200),
    "put_agent": Row(
        ok=200, thing=Case.agent, body=lambda _who, _thing: {"model": "demo"}, rivals=201
    ),
    "get_agent": Row(ok=200, thing=Case.agent, missing="none"),
    "delete_agent": Row(ok=200, thing=Case.agent, missing="none"),
    "list_models": Row(ok=200, others=200, rivals=200),
    "create_upload": Row(ok=201, body=lambda _who, _thing: UPLOAD, others=201, rivals=201),
    "oauth_token": Row(ok=400),
    "oauth_revoke": Row(ok=400),
    "get_userinfo": Row(ok=200, others=200, rivals=200),
    "get_upload": Row(ok=200, thing=Case.upload, missing="00000000-0000-7000-8000-000000000000"),
}
"""One a route; `test_tenancy` fails for a route without one."""
