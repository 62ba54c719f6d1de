"""What botocore raises -> why an attempt failed; it sends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import urllib3.exceptions
from botocore import exceptions as aws
from botocore.eventstream import ParserError
from botocore.parsers import ResponseParserError

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.bedrock_parts import BEDROCK
from everturn.llm.providers.refusal import MAX_SENTENCE_CHARS, ErrorBody, code_of, retry_after_of

_STREAM_STATUSES: Final = {
    "validationException": HTTPStatus.BAD_REQUEST,
    "throttlingException": HTTPStatus.TOO_MANY_REQUESTS,
    "modelStreamErrorException": HTTPStatus.FAILED_DEPENDENCY,
    "internalServerException": HTTPStatus.INTERNAL_SERVER_ERROR,
    "serviceUnavailableException": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""What an error event would have had as an answer. Source: "ConverseStreamOutput"."""

NO_CREDENTIALS: Final = (
    f"no AWS credentials for {BEDROCK}: give the function a role, or a laptop a profile"
)
NO_REGION: Final = (
    f"no region for {BEDROCK}: name one with `everturn providers set` or in AWS_REGION"
)


def failure_of(error: Exception, request_id: str | None = None) -> ModelFailed:
    """Return why an attempt failed. Raises `error` itself where it is nothing of botocore's.

    `request_id` is that of an answer that had begun. Source: vocabulary, "Failures".
    """
    match error:
        case aws.ClientError():
            return _refused(error, request_id)
        case (
            aws.NoCredentialsError()
            | aws.PartialCredentialsError()
            | aws.CredentialRetrievalError()
            | aws.TokenRetrievalError()
            | aws.NoAuthTokenError()
            | aws.ProfileNotFound()
            | aws.SSOError()
        ):
            return ModelFailed(NO_CREDENTIALS, FailureCode.AUTH)
        case aws.NoRegionError():
            return ModelFailed(NO_REGION, FailureCode.AUTH)
        case _:
            told, code = _told(error)
            return ModelFailed(told, code, request_id=request_id)


def _told(error: Exception) -> tuple[str, FailureCode]:
    match error:
        case aws.ConnectionError():
            return f"{BEDROCK} could not be reached", FailureCode.NETWORK
        case aws.ReadTimeoutError() | urllib3.exceptions.TimeoutError():
            return f"{BEDROCK} did not answer in time", FailureCode.TIMEOUT
        case aws.HTTPClientError() | urllib3.exceptions.HTTPError() | OSError():
            return f"the connection to {BEDROCK} broke off", FailureCode.NETWORK
        case ParserError() | ResponseParserError():
            return f"the answer of {BEDROCK} cannot be read", FailureCode.SERVER
        case aws.ParamValidationError():
            told = f"this version of botocore has no place in {BEDROCK} for a part of the request"
            return told, FailureCode.INVALID_REQUEST
        case aws.BotoCoreError():  # a region, an endpoint or a setting that cannot be
            return f"{BEDROCK} cannot be called: {type(error).__name__}", (
                FailureCode.INVALID_REQUEST
            )
        case _:
            raise error


def _refused(error: aws.ClientError, request_id: str | None) -> ModelFailed:
    response: Mapping[str, Any] = error.response
    code = str(response.get("Error", {}).get("Code") or "")
    sentence = str(response.get("Error", {}).get("Message") or "")[:MAX_SENTENCE_CHARS]
    about = response.get("ResponseMetadata") or {}
    in_stream = isinstance(error, aws.EventStreamError)
    status = about.get("HTTPStatusCode") or HTTPStatus.INTERNAL_SERVER_ERROR
    if in_stream:
        status = _STREAM_STATUSES.get(code, HTTPStatus.INTERNAL_SERVER_ERROR)
    told = "broke its answer off with an error" if in_stream else f"answered {status}"
    words = (code,) if code else ()
    return ModelFailed(
        f"{BEDROCK} {told}",
        code_of(ErrorBody(sentence, words), status),
        status=None if in_stream else int(status),
        retry_after_s=retry_after_of(about.get("HTTPHeaders") or {}),
        request_id=about.get("RequestId") or request_id,
        provider_code=code or None,
        provider_message=sentence or None,
    )
