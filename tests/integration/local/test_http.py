"""Real HTTP in front of the functions: events, responses and AWS's limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import boto3
import httpx
import pytest

from integration.local.probe import Probe, running_stack


@pytest.fixture(scope="module")
def stack() -> Iterator[Probe]:
    """The fixture stack whose HTTP API waits at most a second."""
    with running_stack(integration_timeout_s=1.0) as probe:
        yield probe


@pytest.fixture(scope="module")
def client(stack: Probe) -> Iterator[httpx.Client]:
    """A client of its HTTP API."""
    with httpx.Client(base_url=stack.runtime.http_url) as opened:
        yield opened


def test_a_request_becomes_a_version_2_event(client: httpx.Client) -> None:
    answer = client.request(
        "GET",
        "/items/a%20b?x=1&x=2&empty=",
        headers=[("X-Two", "1"), ("X-Two", "2"), ("Cookie", "a=1; b=2")],
    )

    event = answer.json()["event"]
    assert answer.headers["content-type"] == "application/json"
    assert event["routeKey"] == "GET /items/{item_id}"
    assert event["pathParameters"] == {"item_id": "a b"}
    assert (event["rawPath"], event["rawQueryString"]) == ("/items/a b", "x=1&x=2&empty=")
    assert event["queryStringParameters"] == {"x": "1,2", "empty": ""}
    assert event["headers"]["x-two"] == "1,2"
    assert event["cookies"] == ["a=1", "b=2"]
    assert "cookie" not in event["headers"]
    assert event["requestContext"]["http"]["method"] == "GET"
    assert event["requestContext"]["stage"] == "$default"
    assert "body" not in event


@pytest.mark.parametrize(
    ("content_type", "sent", "body", "encoded"),
    [
        ("application/json", b'{"a": 1}', '{"a": 1}', False),
        ("application/problem+json", b"{}", "{}", False),
        ("text/plain; charset=utf-8", "ü".encode(), "ü", False),
        ("application/octet-stream", b"\x00\x01", "AAE=", True),
    ],
)
def test_bodies_are_text_or_base64_by_content_type(
    client: httpx.Client, content_type: str, sent: bytes, body: str, encoded: bool
) -> None:
    answer = client.post("/any", content=sent, headers={"content-type": content_type})

    event = answer.json()["event"]
    assert (event["body"], event["isBase64Encoded"]) == (body, encoded)


def test_results_become_responses(client: httpx.Client) -> None:
    cookies, binary, plain = (client.get(path) for path in ("/cookies", "/binary", "/plain"))

    assert (cookies.status_code, cookies.headers["x-one"]) == (201, "1")
    assert cookies.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert binary.content == b"\x00\x01\x02"
    assert (plain.status_code, plain.json()) == (200, {"just": "data"})


@pytest.mark.parametrize("path", ["/raises", "/huge", "/malformed"])
def test_a_function_that_fails_is_a_500_without_detail(client: httpx.Client, path: str) -> None:
    answer = client.get(path)

    assert (answer.status_code, answer.json()) == (500, {"message": "Internal Server Error"})


def test_no_route_is_a_404(client: httpx.Client) -> None:
    answer = client.get("/")

    assert (answer.status_code, answer.json()) == (404, {"message": "Not Found"})


@pytest.mark.parametrize("size_bytes", [6_300_000, 10 * 1024 * 1024 + 1])
def test_bodies_over_the_limits_are_a_413(client: httpx.Client, size_bytes: int) -> None:
    headers = {"content-type": "text/plain"}

    answer = client.post("/any", content=b"x" * size_bytes, headers=headers)

    assert (answer.status_code, answer.json()) == (413, {"message": "Request Entity Too Large"})


def test_the_gateway_gives_up_before_a_slow_function_does(client: httpx.Client) -> None:
    answer = client.get("/sleeps?seconds=1.4")

    assert (answer.status_code, answer.json()) == (503, {"message": "Service Unavailable"})


def test_reserved_concurrency_throttles_what_is_over_it(client: httpx.Client) -> None:
    headers = {"content-type": "text/plain"}

    with ThreadPoolExecutor(3) as pool:
        answers = list(
            pool.map(lambda _: client.post("/narrow", content="0.3", headers=headers), range(3))
        )

    assert sorted(answer.status_code for answer in answers) == [200, 429, 429]


def test_cors_is_answered_by_the_gateway(client: httpx.Client) -> None:
    origin = {"origin": "https://app.example"}

    preflight = client.options("/plain", headers=origin)
    simple = client.get("/plain", headers=origin)
    foreign = client.get("/plain", headers={"origin": "https://other.example"})

    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-methods"] == "GET,POST"
    assert simple.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in foreign.headers


def test_function_urls_serve_functions_that_have_one(stack: Probe) -> None:
    url = stack.runtime.function_url("echo")

    found = httpx.post(f"{url}/deeper?x=1", json={}, headers={"content-type": "text/plain"})
    missing = httpx.post(stack.runtime.function_url("api"))

    assert found.status_code == 502  # float("{}") fails in the function
    assert httpx.get(f"{url}/deeper?x=1").json()["event"]["rawPath"] == "/deeper"
    assert missing.status_code == 404


def test_functions_see_the_resolved_variables(stack: Probe) -> None:
    runtime = stack.runtime

    found = {name: value for name, value in os.environ.items() if name.startswith("STACK_")}

    assert found == {
        "STACK_TABLE": runtime.physical["Table"],
        "STACK_BUCKET": runtime.physical["Bucket"],
        "STACK_QUEUE_URL": runtime.physical["Queue"],
        "STACK_MACHINE_ARN": runtime.physical["Machine"],
        "STACK_SOCKETS": f"{runtime.http_url}/live",
        "STACK_NETWORKS": "any",
        "STACK_LEASE": "120",
        "STACK_EXPORTED": "imported",
    }


def test_boto3_invokes_functions_and_reports_their_errors(stack: Probe) -> None:
    client = boto3.client("lambda")
    name = stack.runtime.physical["ApiFunction"]

    good = client.invoke(FunctionName=name, Payload=b'{"rawPath": "/plain"}')
    bad = client.invoke(FunctionName=name, Payload=b'{"rawPath": "/raises"}')

    assert good["Payload"].read() == b'{"just": "data"}'
    assert bad["FunctionError"] == "Unhandled"
    assert b'"errorType": "ValueError"' in bad["Payload"].read()


def test_the_tables_ttl_is_on(stack: Probe) -> None:
    dynamodb = stack.runtime.clients.dynamodb

    described = dynamodb.describe_time_to_live(TableName=stack.runtime.physical["Table"])

    assert described["TimeToLiveDescription"] == {
        "TimeToLiveStatus": "ENABLED",
        "AttributeName": "expires_epoch_s",
    }
