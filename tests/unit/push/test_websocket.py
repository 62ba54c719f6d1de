"""API Gateway's answers to a frame, as facts."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from everturn.push.outcome import Failed, Gone, PushOutcome, Sent, Throttled, TooLarge
from everturn.push.websocket import WebSocketPush


def management_client(endpoint: str = "http://127.0.0.1:9/local") -> Any:
    return boto3.client(
        "apigatewaymanagementapi",
        endpoint_url=endpoint,
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=1),
    )


def test_a_taken_frame_is_sent() -> None:
    client = management_client()
    with Stubber(client) as stubber:
        stubber.add_response("post_to_connection", {}, {"ConnectionId": "a=/b", "Data": b"{}"})

        outcome = WebSocketPush(client).post("a=/b", b"{}")

    assert outcome == Sent()


@pytest.mark.parametrize(
    ("code", "status", "outcome"),
    [
        ("GoneException", 410, Gone()),
        ("410", 410, Gone()),
        ("LimitExceededException", 429, Throttled()),
        ("ThrottlingException", 400, Throttled()),
        ("", 429, Throttled()),
        ("PayloadTooLargeException", 413, TooLarge()),
        ("ForbiddenException", 403, Failed("ForbiddenException")),
        ("", 502, Failed("502")),
    ],
)
def test_a_refusal_is_told_by_its_code_or_its_status(
    code: str, status: int, outcome: PushOutcome
) -> None:
    client = management_client()
    with Stubber(client) as stubber:
        stubber.add_client_error(
            "post_to_connection", service_error_code=code, http_status_code=status
        )

        told = WebSocketPush(client).post("c1", b"{}")

    assert told == outcome


def test_no_answer_at_all_is_a_failure() -> None:
    push = WebSocketPush(management_client())

    outcome, closed = push.post("c1", b"{}"), push.disconnect("c1")

    assert outcome == Failed(EndpointConnectionError.__name__)
    assert not closed


@pytest.mark.parametrize(
    ("code", "status", "closed"),
    [(None, 204, True), ("GoneException", 410, True), ("LimitExceededException", 429, False)],
)
def test_closing_a_connection_says_whether_it_is_closed(
    code: str | None, status: int, closed: bool
) -> None:
    client = management_client()
    with Stubber(client) as stubber:
        if code is None:
            stubber.add_response("delete_connection", {}, {"ConnectionId": "c1"})
        else:
            stubber.add_client_error(
                "delete_connection", service_error_code=code, http_status_code=status
            )

        told = WebSocketPush(client).disconnect("c1")

    assert told is closed
