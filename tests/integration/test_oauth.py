"""A token of OAuth through the functions that take it, on the template's table in moto."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from everturn.observability import metrics
from everturn.ports.callers import from_fields
from everturn.protocol.api_keys import hash_of
from everturn.protocol.oauth import FORM
from everturn.store import keys
from integration.deployed import (
    API_KEY,
    LAMBDA_GIVES,
    TENANT,
    Deployed,
    deployed,
    forget_wiring,
    sample,
)
from integration.test_client_tokens import bearing, invoke

pytestmark = pytest.mark.filterwarnings("ignore:No application metrics")


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    for name, value in LAMBDA_GIVES.items():
        monkeypatch.setenv(name, value)
    metrics.namespace = "Everturn"
    with deployed() as made:
        made.seed()
        yield made
    forget_wiring()


def ask(stack: Deployed, path: str, **form: str) -> tuple[int, dict[str, Any]]:
    """Post a form as API Gateway brings it: in base64."""
    event = sample("http_api")
    http = {**event["requestContext"]["http"], "path": path}
    body = urlencode({"client_id": TENANT, "client_secret": API_KEY, **form})
    answer = invoke(
        stack,
        "http_api",
        {
            **event,
            "rawPath": path,
            "headers": {"content-type": FORM},
            "body": base64.b64encode(body.encode()).decode(),
            "isBase64Encoded": True,
            "requestContext": {**event["requestContext"], "http": http},
        },
    )
    return answer["statusCode"], json.loads(answer["body"])


def doors(stack: Deployed, token: str) -> tuple[int, int, str]:
    """Return how all that take tokens answer to one."""
    posted = invoke(stack, "http_api", bearing(sample("http_api"), token))
    read = invoke(stack, "reader", bearing(sample("reader"), token))
    let_in = invoke(stack, "authorizer", bearing(sample("authorizer"), token))
    effect = let_in["policyDocument"]["Statement"][0]["Effect"]
    return posted["statusCode"], read["statusCode"], effect


@pytest.mark.parametrize("revoked", ["access_token", "refresh_token"])
def test_all_doors_take_a_token_until_it_or_its_grant_is_revoked(
    stack: Deployed, revoked: str
) -> None:
    status, told = ask(stack, "/api/oauth/token", grant_type="client_credentials")
    before = doors(stack, told["access_token"])

    ended = ask(stack, "/api/oauth/revoke", token=told[revoked])

    assert (status, ended) == (200, (200, {"ok": True}))
    assert before == (202, 200, "Allow")
    assert doors(stack, told["access_token"]) == (401, 401, "Deny")


def test_a_connection_of_a_token_is_the_default_owners(stack: Deployed) -> None:
    _, told = ask(stack, "/api/oauth/token", grant_type="client_credentials")

    let_in = invoke(stack, "authorizer", bearing(sample("authorizer"), told["access_token"]))

    caller = from_fields(let_in["context"])
    assert caller.owner is not None
    assert (caller.tenant, caller.owner.id) == (TENANT, "default")


def test_no_token_of_a_key_that_was_deleted_is_renewed(stack: Deployed) -> None:
    _, told = ask(stack, "/api/oauth/token", grant_type="client_credentials")
    renewal = {"grant_type": "refresh_token", "refresh_token": told["refresh_token"]}
    before, _ = ask(stack, "/api/oauth/token", **renewal)
    stack.clients.dynamodb.delete_item(
        TableName=stack.table,
        Key={"pk": {"S": keys.api_key_pk(hash_of(API_KEY))}, "sk": {"S": keys.META}},
    )

    after, refused = ask(stack, "/api/oauth/token", **renewal)

    assert (before, after, refused["error"]) == (200, 401, "invalid_client")
