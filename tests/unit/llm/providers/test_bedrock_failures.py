"""What botocore raises, as the causes that the engine tells apart."""

from __future__ import annotations

from typing import Any

import pytest
import urllib3.exceptions
from botocore import exceptions as aws
from botocore.eventstream import ParserError
from botocore.parsers import ResponseParserError

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.bedrock_failures import NO_CREDENTIALS, NO_REGION, failure_of

URL = "https://bedrock-runtime.us-east-1.amazonaws.com"


def client_error(
    code: str, message: str, status: int, headers: dict[str, str] | None = None
) -> aws.ClientError:
    """Return the error of an answer that is no stream."""
    about: Any = {"RequestId": "r-1", "HTTPStatusCode": status, "HTTPHeaders": headers or {}}
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": about}
    return aws.ClientError(response, "ConverseStream")


@pytest.mark.parametrize(
    ("code", "message", "status", "cause"),
    [
        ("AccessDeniedException", "No access to the model.", 403, FailureCode.AUTH),
        ("UnrecognizedClientException", "Invalid token.", 403, FailureCode.AUTH),
        ("ExpiredTokenException", "Expired.", 403, FailureCode.AUTH),
        ("InvalidSignatureException", "Signature expired.", 403, FailureCode.AUTH),
        ("ThrottlingException", "Too many tokens, please wait.", 429, FailureCode.RATE_LIMIT),
        ("ServiceQuotaExceededException", "Too much.", 400, FailureCode.RATE_LIMIT),
        (
            "ValidationException",
            "Input is too long for requested model.",
            400,
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
        ),
        (
            "ValidationException",
            "Invocation of model ID m with on-demand throughput isn't supported.",
            400,
            FailureCode.INVALID_REQUEST,
        ),
        ("ResourceNotFoundException", "No such model.", 404, FailureCode.INVALID_REQUEST),
        ("ModelNotReadyException", "Not ready.", 429, FailureCode.OVERLOADED),
        ("ModelTimeoutException", "Too slow.", 408, FailureCode.TIMEOUT),
        ("ModelErrorException", "Failed.", 424, FailureCode.SERVER),
        ("ServiceUnavailableException", "Later.", 503, FailureCode.OVERLOADED),
        ("InternalServerException", "Oops.", 500, FailureCode.SERVER),
        ("502", "Bad Gateway", 502, FailureCode.SERVER),
    ],
)
def test_a_refusal_is_told_by_bedrock_s_own_code(
    code: str, message: str, status: int, cause: FailureCode
) -> None:
    failure = failure_of(client_error(code, message, status))

    assert str(failure) == f"Amazon Bedrock answered {status}"
    assert (failure.code, failure.status, failure.request_id) == (cause, status, "r-1")
    assert (failure.provider_code, failure.provider_message) == (code, message)


def test_a_refusal_may_say_when_to_come_back() -> None:
    error = client_error("ThrottlingException", "Slow down.", 429, {"retry-after": "7"})

    assert failure_of(error).retry_after_s == 7


def test_a_refusal_that_says_nothing_is_the_server_s_fault() -> None:
    response: Any = {}

    failure = failure_of(aws.ClientError(response, "ConverseStream"))

    assert (failure.code, failure.provider_code) == (FailureCode.SERVER, None)
    assert (failure.provider_message, failure.request_id) == (None, None)


@pytest.mark.parametrize(
    ("code", "message", "cause"),
    [
        ("throttlingException", "Too many tokens, please wait.", FailureCode.RATE_LIMIT),
        ("modelStreamErrorException", "Failed.", FailureCode.SERVER),
        ("serviceUnavailableException", "Later.", FailureCode.OVERLOADED),
        ("internalServerException", "Oops.", FailureCode.SERVER),
        ("validationException", "Odd.", FailureCode.INVALID_REQUEST),
        ("validationException", "Input is too long.", FailureCode.CONTEXT_WINDOW_EXCEEDED),
        ("unheardOfException", "?", FailureCode.SERVER),
        ("", "", FailureCode.SERVER),
    ],
)
def test_an_error_inside_the_stream_is_told_by_its_type(
    code: str, message: str, cause: FailureCode
) -> None:
    error = aws.EventStreamError({"Error": {"Code": code, "Message": message}}, "ConverseStream")

    failure = failure_of(error, "r-2")

    assert str(failure) == "Amazon Bedrock broke its answer off with an error"
    assert (failure.code, failure.status, failure.request_id) == (cause, None, "r-2")


@pytest.mark.parametrize(
    ("error", "told", "cause"),
    [
        (aws.NoCredentialsError(), NO_CREDENTIALS, FailureCode.AUTH),
        (
            aws.PartialCredentialsError(provider="env", cred_var="x"),
            NO_CREDENTIALS,
            FailureCode.AUTH,
        ),
        (aws.UnauthorizedSSOTokenError(), NO_CREDENTIALS, FailureCode.AUTH),
        (aws.ProfileNotFound(profile="p"), NO_CREDENTIALS, FailureCode.AUTH),
        (aws.NoRegionError(), NO_REGION, FailureCode.AUTH),
        (
            aws.EndpointConnectionError(endpoint_url=URL),
            "Amazon Bedrock could not be reached",
            FailureCode.NETWORK,
        ),
        (
            aws.ConnectTimeoutError(endpoint_url=URL),
            "Amazon Bedrock could not be reached",
            FailureCode.NETWORK,
        ),
        (
            aws.ReadTimeoutError(endpoint_url=URL),
            "Amazon Bedrock did not answer in time",
            FailureCode.TIMEOUT,
        ),
        (
            urllib3.exceptions.ReadTimeoutError(None, URL, "late"),  # type: ignore[arg-type]  # unread
            "Amazon Bedrock did not answer in time",
            FailureCode.TIMEOUT,
        ),
        (
            aws.ConnectionClosedError(endpoint_url=URL),
            "the connection to Amazon Bedrock broke off",
            FailureCode.NETWORK,
        ),
        (
            urllib3.exceptions.ProtocolError("cut"),
            "the connection to Amazon Bedrock broke off",
            FailureCode.NETWORK,
        ),
        (ConnectionResetError(), "the connection to Amazon Bedrock broke off", FailureCode.NETWORK),
        (ParserError(), "the answer of Amazon Bedrock cannot be read", FailureCode.SERVER),
        (ResponseParserError(), "the answer of Amazon Bedrock cannot be read", FailureCode.SERVER),
        (
            aws.ParamValidationError(report="messages[0]: Go."),
            "this version of botocore has no place in Amazon Bedrock for a part of the request",
            FailureCode.INVALID_REQUEST,
        ),
        (
            aws.InvalidRegionError(region_name="mars"),
            "Amazon Bedrock cannot be called: InvalidRegionError",
            FailureCode.INVALID_REQUEST,
        ),
    ],
)
def test_what_keeps_a_call_from_an_answer_is_told_apart(
    error: Exception, told: str, cause: FailureCode
) -> None:
    failure = failure_of(error)

    assert (str(failure), failure.code) == (told, cause)


def test_a_defect_stays_one() -> None:
    with pytest.raises(KeyError):
        failure_of(KeyError("stream"))


def test_no_failure_shows_what_was_said() -> None:
    failure = failure_of(aws.ParamValidationError(report="value: a secret"))

    assert isinstance(failure, ModelFailed)
    assert "secret" not in f"{failure} {failure.provider_message}"
