"""What is Lambda's own: ARNs, errors of the API and of the function, sizes, the null."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from contract.delivery.conftest import ALLOWED, ARN, BODY, Says, Transport, Worker
from everturn.delivery.lambda_function import LambdaDecider
from everturn.ports.decider import Answered, DeliveryFailed, WorkerAnswer
from everturn.protocol.decision import DecisionResponse
from everturn.protocol.limits import LAMBDA_PAYLOAD_BYTES
from everturn_local.patches.lambda_invoke import Invoked, lambda_invoke

NOW = 1_800_000_000.0


class Body:
    """What a function returned, as botocore hands it out."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self.asked: list[int] = []

    def read(self, size: int) -> bytes:
        self.asked.append(size)
        return self._text[:size]


class Invoking:
    """A client of Lambda that answers as told."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self._answer = answer
        self.requests: list[dict[str, Any]] = []

    def invoke(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def told(
    answer: dict[str, Any] | Exception, *, arn: str = ARN, body: bytes = BODY
) -> tuple[WorkerAnswer, list[dict[str, Any]]]:
    """Return what a delivery comes to, and what Lambda was asked."""
    client: Any = Invoking(answer)
    decider = LambdaDecider(client, ALLOWED, now_epoch_s=lambda: NOW)
    transport = Transport(decider, arn, Worker())
    return transport.deliver(body), client.requests


def returned(text: bytes) -> dict[str, Any]:
    """Return Lambda's answer for a function that returned `text`."""
    return {"StatusCode": 200, "Payload": Body(text)}


def failed(**error: Any) -> dict[str, Any]:
    """Return Lambda's answer for a function that failed."""
    return returned(json.dumps(error).encode()) | {"FunctionError": "Unhandled"}


def refused(code: str, status: int, **headers: str) -> ClientError:
    """Return an error of Lambda's API."""
    about: Any = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    return ClientError(
        {"Error": {"Code": code, "Message": "secret"}, "ResponseMetadata": about}, "Invoke"
    )


def test_a_function_is_invoked_once_and_waited_for() -> None:
    answer, requests = told(returned(b"{}"))

    assert answer == Answered(DecisionResponse())
    assert requests == [{"FunctionName": ARN, "InvocationType": "RequestResponse", "Payload": BODY}]


def test_null_is_the_empty_decision(lambda_transport: Transport) -> None:
    lambda_transport.worker.act = lambda _body: Says(b"null")

    assert lambda_transport.deliver() == Answered(DecisionResponse())


@pytest.mark.parametrize(
    ("arn", "reason"),
    [
        ("arn:aws:lambda:us-east-1:123456789012:function", "this is not the ARN of a Lambda f"),
        ("arn:aws:s3:::everturn-worker-tools", "this is not the ARN of a Lambda f"),
        (f"{ARN}:a:b", "this is not the ARN of a Lambda f"),
        (ARN.replace("everturn-worker-", "other-"), "only functions whose ARN begins with"),
        (ARN.replace("123456789012", "210987654321"), "only functions whose ARN begins with"),
        (ARN.replace("us-east-1", "eu-west-1"), "only functions whose ARN begins with"),
    ],
)
def test_what_is_no_worker_function_is_not_invoked(arn: str, reason: str) -> None:
    answer, requests = told(returned(b"{}"), arn=arn)

    assert isinstance(answer, DeliveryFailed)
    assert answer.error.startswith(f"the worker's function is refused: {reason}")
    assert (answer.code, answer.retryable, answer.started) == ("function_refused", False, "no")
    assert requests == []


@pytest.mark.parametrize("qualifier", ["", ":prod", ":12", ":$LATEST"])
def test_a_version_or_an_alias_may_be_named(qualifier: str) -> None:
    answer, requests = told(returned(b"{}"), arn=ARN + qualifier)

    assert answer == Answered(DecisionResponse())
    assert requests[0]["FunctionName"] == ARN + qualifier


def test_where_nothing_is_known_of_what_is_allowed_iam_decides() -> None:
    client: Any = Invoking(returned(b"{}"))
    arn = "arn:aws:lambda:eu-west-1:210987654321:function:any"

    answer = Transport(LambdaDecider(client, ""), arn, Worker()).deliver()

    assert answer == Answered(DecisionResponse())


@pytest.mark.parametrize("over", [0, 1])
def test_a_request_over_six_megabytes_is_not_sent(over: int) -> None:
    answer, requests = told(returned(b"{}"), body=b" " * (LAMBDA_PAYLOAD_BYTES + over))

    if not over:
        assert answer == Answered(DecisionResponse())
        return
    assert answer == DeliveryFailed(
        f"the request is over the {LAMBDA_PAYLOAD_BYTES} bytes that a function is sent",
        "too_large",
        False,
        "no",
    )
    assert requests == []


REFUSED = "the worker's function is refused: "
NOT_STARTED = "the function could not be started"


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (
            refused("TooManyRequestsException", 429, **{"retry-after": "7"}),
            DeliveryFailed("the function is throttled", "rate_limited", True, "no", 429, 7.0),
        ),
        (
            refused("ThrottlingException", 400),
            DeliveryFailed("the function is throttled", "rate_limited", True, "no", 400),
        ),
        (
            refused("SomethingNew", 429),
            DeliveryFailed("the function is throttled", "rate_limited", True, "no", 429),
        ),
        (
            refused("ResourceNotReadyException", 502),
            DeliveryFailed(NOT_STARTED, "unavailable", True, "no", 502),
        ),
        (
            refused("EC2ThrottledException", 502),
            DeliveryFailed(NOT_STARTED, "unavailable", True, "no", 502),
        ),
        (
            refused("ResourceNotFoundException", 404),
            DeliveryFailed(f"{REFUSED}it does not exist", "function_refused", False, "no", 404),
        ),
        (
            refused("AccessDeniedException", 403),
            DeliveryFailed(
                f"{REFUSED}the engine may not invoke it", "function_refused", False, "no", 403
            ),
        ),
        (
            refused("InvalidParameterValueException", 400),
            DeliveryFailed(
                f"{REFUSED}Lambda does not take the request", "function_refused", False, "no", 400
            ),
        ),
        (
            refused("RequestTooLargeException", 413),
            DeliveryFailed(
                f"the request is over the {LAMBDA_PAYLOAD_BYTES} bytes that a function is sent",
                "too_large",
                False,
                "no",
                413,
            ),
        ),
        (
            refused("ServiceException", 500),
            DeliveryFailed("Lambda failed", "function_error", True, "unknown", 500),
        ),
        (
            refused("InvalidRuntimeException", 502),
            DeliveryFailed(
                f"{REFUSED}Lambda cannot run it as it is set up",
                "function_refused",
                False,
                "no",
                502,
            ),
        ),
        (
            refused("SomethingNew", 502),
            DeliveryFailed("Lambda failed", "function_error", True, "unknown", 502),
        ),
        (
            ReadTimeoutError(endpoint_url="https://lambda"),
            DeliveryFailed(
                "the worker did not answer in time", "deadline_exceeded", True, "unknown"
            ),
        ),
        *(
            (
                unsent,
                DeliveryFailed(
                    "no connection to Lambda came about", "connection_failed", True, "no"
                ),
            )
            for unsent in (
                ConnectTimeoutError(endpoint_url="https://lambda"),
                EndpointConnectionError(endpoint_url="https://lambda"),
                NoCredentialsError(),
            )
        ),
        (
            ConnectionClosedError(endpoint_url="https://lambda"),
            DeliveryFailed(
                "the connection to Lambda broke off", "connection_failed", True, "unknown"
            ),
        ),
    ],
    ids=lambda value: getattr(value, "operation_name", "") or type(value).__name__,
)
def test_an_invocation_that_does_not_come_about_says_whether_it_may_have_started(
    error: Exception, failure: DeliveryFailed
) -> None:
    answer, _ = told(error)

    assert answer == failure
    assert "secret" not in failure.error


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        (
            {"errorType": "KeyError", "errorMessage": "secret", "stackTrace": ["secret"]},
            "the function failed: KeyError",
            "function_error",
        ),
        ({"errorType": "Runtime.ExitError"}, "the function failed: Runtime.ExitError", None),
        ({"errorMessage": "secret"}, "the function failed", None),
        ({"errorType": "a secret, told at length"}, "the function failed", None),
        ({"errorType": 7}, "the function failed", None),
        (
            {"errorType": "Sandbox.Timedout", "errorMessage": "secret"},
            "the function ran into its own timeout",
            "deadline_exceeded",
        ),
    ],
)
def test_a_function_that_fails_may_have_done_its_work_and_is_never_quoted(
    error: dict[str, Any], text: str, code: str | None
) -> None:
    answer, _ = told(failed(**error))

    assert answer == DeliveryFailed(text, code or "function_error", True, "unknown")


@pytest.mark.parametrize("payload", [b"", b"{", b"[1]"])
def test_an_error_that_cannot_be_read_is_one_all_the_same(payload: bytes) -> None:
    answer, _ = told(returned(payload) | {"FunctionError": "Unhandled"})

    assert answer == DeliveryFailed("the function failed", "function_error", True, "unknown")


def test_an_answer_that_lambda_finds_too_large_is_as_one_that_we_do() -> None:
    answer, _ = told(failed(errorType="Function.ResponseSizeTooLarge"))

    assert answer == DeliveryFailed(
        "the answer is larger than it may be", "too_large", False, "unknown", invalid=True
    )


def test_what_nobody_foresaw_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(LookupError, match="a defect"):
        told(LookupError("a defect"))


@pytest.mark.parametrize(
    ("invoke", "code"),
    [
        (lambda *_: Invoked(b'{"errorType":"KeyError"}', failed=True), "function_error"),
        (lambda *_: None, "function_refused"),
    ],
    ids=["a function error", "no such function"],
)
def test_the_real_client_tells_the_same(
    lambda_transport: Transport, invoke: Callable[..., Invoked | None], code: str
) -> None:
    with lambda_invoke(invoke):
        answer = lambda_transport.deliver()

    assert isinstance(answer, DeliveryFailed)
    assert answer.code == code
