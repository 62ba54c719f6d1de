"""A client that speaks OAuth 2.0 over sockets: from its key to a token, to the token's end."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from e2e.client import Client, judged
from everturn_local.runtime import LocalRuntime


@pytest.fixture
def http(client: Client) -> Any:
    """A connection without a credential of its own."""
    hooks = {"response": [judged]}
    with httpx.Client(base_url=client.http_url, timeout=30, event_hooks=hooks) as made:
        yield made


def asks(http: httpx.Client, client: Client, path: str = "token", **form: str) -> httpx.Response:
    """Post a form as the client of a tenant."""
    proof = {"client_id": client.tenant, "client_secret": client.api_key}
    return http.post(f"/api/oauth/{path}", data={**proof, **form})


def models(http: httpx.Client, token: str) -> int:
    """Return how a token is answered on a route."""
    return http.get("/v1/models", headers={"authorization": f"Bearer {token}"}).status_code


def test_a_token_is_got_used_renewed_and_revoked(
    http: httpx.Client, client: Client, runtime: LocalRuntime
) -> None:
    wanted = {"grant_type": "client_credentials", "scope": "models:read mantyx.identity:read"}
    first = asks(http, client, **wanted).json()
    kept = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    second, third = (asks(http, client, **kept).json() for _ in range(2))
    used = models(http, first["access_token"])
    bearer = {"authorization": f"Bearer {second['access_token']}"}
    about = http.get("/api/oauth/userinfo", headers=bearer).json()

    revoked = asks(http, client, "revoke", token=first["refresh_token"])

    assert used == 200
    assert {one["refresh_token"] for one in (second, third)} == {first["refresh_token"]}
    assert (about["sub"], about["workspace"]["slug"]) == ("default", client.tenant)
    assert (revoked.status_code, revoked.json()) == (200, {"ok": True})
    assert models(http, third["access_token"]) == 401  # nobody has looked at it before
    refused = asks(http, client, **kept)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    items = runtime.clients.dynamodb.scan(
        TableName=runtime.physical["Table"],
        FilterExpression="begins_with(pk, :revoked)",
        ExpressionAttributeValues={":revoked": {"S": "REVOKED#"}},
    )["Items"]
    assert [int(one["expires_epoch_s"]["N"]) > 0 for one in items] == [True]


def test_a_client_without_the_right_key_gets_nothing(http: httpx.Client, client: Client) -> None:
    grant = {"grant_type": "client_credentials", "client_secret": "unknown"}

    told = asks(http, client, **grant)
    with_basic = http.post(
        "/api/oauth/token",
        data={"grant_type": "client_credentials"},
        auth=(client.tenant, client.api_key),
    )

    assert (told.status_code, told.json()["error"]) == (401, "invalid_client")
    assert told.headers["www-authenticate"].startswith("Basic ")
    assert with_basic.status_code == 200
    assert with_basic.headers["cache-control"] == "no-store"
