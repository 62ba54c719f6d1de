"""A client token through the functions that take it, with the template's secret in moto."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from everturn.observability import metrics
from everturn.ports.callers import Who, from_fields
from everturn.session.events.sessions import Owner
from everturn_local.template import Template
from integration.deployed import (
    API_KEY,
    CONNECTION,
    LAMBDA_GIVES,
    SESSION,
    TENANT,
    Context,
    Deployed,
    deployed,
    forget_wiring,
    load_handler,
    sample,
)
from integration.test_template import allowed, function_properties, template

assert template  # the fixture of the template's own tests

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


def invoke(stack: Deployed, function: str, event: dict[str, Any]) -> Any:
    """Invoke a cold function with its own variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in stack.environment(function).items():
            patch.setenv(name, value)
        forget_wiring()
        return load_handler(function)(event, Context(function))


def secret_id(stack: Deployed) -> str:
    return stack.environment("http_api")["EVERTURN_TOKEN_SECRET"]


def mint(stack: Deployed, owner: str = "u1") -> str:
    event = sample("http_api")
    body = json.dumps({"identity": {"id": owner, "metadata": {"plan": "free"}}})
    path = "/v1/client-tokens"
    http = {**event["requestContext"]["http"], "path": path}
    context = {**event["requestContext"], "http": http}
    answer = invoke(
        stack, "http_api", {**event, "rawPath": path, "body": body, "requestContext": context}
    )
    assert answer["statusCode"] == 201, answer
    token: str = json.loads(answer["body"])["token"]
    return token


def bearing(event: dict[str, Any], credential: str) -> dict[str, Any]:
    """Return an event with another credential in its header."""
    headers = {name: value for name, value in event["headers"].items() if "uth" not in name}
    return {**event, "headers": {**headers, "authorization": f"Bearer {credential}"}}


def test_the_secret_is_generated_and_only_its_name_is_told(stack: Deployed) -> None:
    secrets = stack.clients.secretsmanager

    kept = secrets.get_secret_value(SecretId=secret_id(stack))["SecretString"]

    assert len(kept) == 64
    assert kept.isalnum()
    for function in stack.topology.functions:
        assert kept not in str(stack.environment(function.name))


def test_a_token_is_taken_by_all_doors_and_belongs_to_its_owner(stack: Deployed) -> None:
    token, others = mint(stack), mint(stack, "u2")

    posted = invoke(stack, "http_api", bearing(sample("http_api"), token))
    read = [invoke(stack, "reader", bearing(sample("reader"), one)) for one in (token, others)]
    let_in = invoke(stack, "authorizer", bearing(sample("authorizer"), token))

    assert posted["statusCode"] == 202
    assert [one["statusCode"] for one in read] == [200, 404]
    caller = from_fields(let_in["context"])
    assert (caller.tenant, caller.privilege, let_in["principalId"]) == (
        TENANT,
        Who.FRONTEND,
        TENANT,
    )
    assert caller.owner == Owner(id="u1", metadata={"plan": "free"})
    logged = stack.store.log(stack_key(), 1)
    assert logged[0].events[0].owner == caller.owner


def stack_key() -> Any:
    from everturn.ports.sessions import SessionKey  # noqa: PLC0415  # after the variables are set

    return SessionKey(TENANT, SESSION)


def test_tokens_of_the_key_before_are_taken_and_no_older_ones(stack: Deployed) -> None:
    secrets = stack.clients.secretsmanager
    token = mint(stack)
    answers = []

    for _ in range(3):
        answers.append(invoke(stack, "authorizer", bearing(sample("authorizer"), token)))
        secrets.put_secret_value(
            SecretId=secret_id(stack),
            SecretString=secrets.get_random_password(PasswordLength=64)["RandomPassword"],
        )
    fresh = mint(stack)

    effects = [one["policyDocument"]["Statement"][0]["Effect"] for one in answers]
    assert effects == ["Allow", "Allow", "Deny"]
    kids = {jwt.get_unverified_header(one)["kid"] for one in (token, fresh)}
    assert len(kids) == 2


def test_a_connection_is_opened_with_a_subprotocol_and_is_the_owners(stack: Deployed) -> None:
    token = mint(stack)
    stack.directory.delete_connection(CONNECTION)
    offered = {"Sec-WebSocket-Protocol": f"everturn, everturn.bearer.{token}"}
    asked = {**sample("authorizer"), "headers": offered}
    let_in = invoke(stack, "authorizer", asked)
    event = sample("websocket_connect")
    context = {**event["requestContext"], "authorizer": let_in["context"]}

    answer = invoke(stack, "websocket", {**event, "headers": offered, "requestContext": context})

    assert answer == {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": "everturn"}}
    assert stack.directory.connection(CONNECTION).caller == from_fields(let_in["context"])


def test_keys_work_though_the_secret_cannot_be_read(stack: Deployed) -> None:
    token = mint(stack)
    secrets = stack.clients.secretsmanager
    secrets.delete_secret(SecretId=secret_id(stack), ForceDeleteWithoutRecovery=True)

    with_key = invoke(stack, "reader", bearing(sample("reader"), API_KEY))
    with_token = invoke(stack, "reader", bearing(sample("reader"), token))

    assert with_key["statusCode"] == 404
    assert (with_token["statusCode"], json.loads(with_token["body"])["code"]) == (
        503,
        "secret_unavailable",
    )


def test_the_key_is_read_by_the_doors_alone_and_it_alone_by_them(template: Template) -> None:
    functions = function_properties(template)
    doors = {"http_api", "reader", "websocket", "authorizer"}

    told = {
        name: function["Environment"]["Variables"].get("EVERTURN_TOKEN_SECRET")
        for name, function in functions.items()
    }
    readers = {
        (name, where)
        for name, action, where, _ in allowed(template)
        if action == "secretsmanager:GetSecretValue" and name != "DriverRole"
    }

    assert {name for name, secret in told.items() if secret} == doors
    assert set(filter(None, told.values())) == {"«ClientTokenSecret»"}
    roles = {"HttpApiRole", "ReaderRole", "WebsocketRole", "AuthorizerRole"}
    assert readers == {(role, "«ClientTokenSecret»") for role in roles}
    assert "Name" not in template.of_type("AWS::SecretsManager::Secret")["ClientTokenSecret"]
