"""Lambda's Invoke API answered by functions of ours. It runs no function itself.

Upstream gap (moto 5.2.5): without Docker every invocation succeeds and echoes its payload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from moto.awslambda.exceptions import LambdaClientError, UnknownFunctionException
from moto.awslambda_simple.models import LambdaSimpleBackend

from everturn_local.patches.replacing import replaced


@dataclass(frozen=True, slots=True)
class Invoked:
    """What an invocation gave back."""

    payload: bytes
    """JSON: the result, or `{errorType, errorMessage, stackTrace}`."""
    failed: bool


class InvokeRefused(LambdaClientError):
    """Lambda refused the request before the function ran."""

    def __init__(self, status: int, error_type: str, message: str) -> None:
        super().__init__(error_type, message)
        self.code = status


Invoke = Callable[[str, bytes, bool], Invoked | None]
"""(function name, JSON payload, asynchronous) to result; None for an unknown function.

Raises `InvokeRefused`.
"""


def name_from_reference(reference: str) -> str:
    """The function's name in a name, a partial ARN or an ARN, with or without qualifier."""
    parts = reference.split(":")
    if "function" in parts:
        return parts[parts.index("function") + 1]
    return parts[0]


@contextmanager
def lambda_invoke(invoke: Invoke) -> Iterator[None]:
    """Serve boto3's invoke and the step machine's lambda:invoke by `invoke`."""

    def invoke_function(
        _backend: LambdaSimpleBackend, function_name: str, qualifier: str | None, *request: Any
    ) -> bytes:
        body, headers, response_headers = request
        payload = body.encode() if isinstance(body, str) else (body or b"{}")
        asynchronous = headers.get("X-Amz-Invocation-Type") == "Event"
        result = invoke(name_from_reference(function_name), payload, asynchronous)
        if result is None:
            raise UnknownFunctionException(function_name)
        if result.failed:
            response_headers["x-amz-function-error"] = "Unhandled"
        response_headers["x-amz-executed-version"] = qualifier or "$LATEST"
        return result.payload

    with replaced(LambdaSimpleBackend, "invoke", invoke_function):
        yield
