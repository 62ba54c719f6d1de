"""Delivering a decision to a Lambda function: one invocation, one fact; decides nothing from it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)

from everturn.delivery.function_answer import (
    from_function_error,
    from_lambda_error,
    read_return,
    refused,
    request_too_large,
    timed_out,
)
from everturn.delivery.function_guard import check_function
from everturn.outbound.connection import POLL_S
from everturn.outbound.retry_after import to_retry_after_s
from everturn.ports.decider import DeliveryCode, DeliveryFailed, WorkerAnswer, WorkerTarget
from everturn.protocol.limits import LAMBDA_PAYLOAD_BYTES, MAX_DECISION_BODY_BYTES

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_UNSENT: Final = (ConnectTimeoutError, EndpointConnectionError, NoCredentialsError, SSLError)
"""Failures before anything of the request was sent."""


class LambdaDecider:
    """`Decider` by Lambda's Invoke API, which vouches for the engine: nothing is signed.

    Source: decision protocol O-2. One instance serves all threads of a process.
    """

    def __init__(
        self,
        client: LambdaClient,
        allowed: str,
        *,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        """Take a client that repeats nothing; `allowed` is how ARNs begin that may be invoked."""
        self._client = client
        self._allowed = allowed
        self._now_epoch_s = now_epoch_s

    def deliver(
        self,
        target: WorkerTarget,
        body: bytes,
        *,
        decision_id: str,  # noqa: ARG002  the body says it
        attempt: int,  # noqa: ARG002
        timeout_s: float,
        idempotency_key: str | None,  # noqa: ARG002
        cancelled: Callable[[], bool],
        on_delta: Callable[[str], None] | None = None,  # noqa: ARG002  a function does not stream
    ) -> WorkerAnswer:
        """Invoke the function with `body`, a DecisionRequest, as its event, and wait for its end.

        `timeout_s` spans everything. `cancelled` is asked every 0.1 s. An invocation that is given
        up goes on in Lambda: its outcome is not known here.
        """
        if (refusal := check_function(target.url, self._allowed)) is not None:
            return refused(refusal.reason)
        if len(body) > LAMBDA_PAYLOAD_BYTES:
            return request_too_large()
        until = monotonic() + timeout_s
        if cancelled():
            return _cancelled(sent=False)
        outcome: SimpleQueue[WorkerAnswer | Exception] = SimpleQueue()

        def invoke() -> None:
            try:
                outcome.put(self._invoked(target.url, body))
            except Exception as error:  # noqa: BLE001  # handed to whoever waits, who raises it
                outcome.put(error)

        Thread(target=invoke, name="invoke", daemon=True).start()
        return _awaited(outcome, until, cancelled)

    def _invoked(self, arn: str, body: bytes) -> WorkerAnswer:
        try:
            response = self._client.invoke(
                FunctionName=arn, InvocationType="RequestResponse", Payload=body
            )
            payload = response["Payload"].read(MAX_DECISION_BODY_BYTES + 1)
        except ClientError as error:
            return self._told(error.response)
        except ReadTimeoutError:
            return timed_out()
        except _UNSENT:
            told = "no connection to Lambda came about"
            return DeliveryFailed(told, DeliveryCode.CONNECTION_FAILED, True, "no")
        except BotoCoreError:
            told = "the connection to Lambda broke off"
            return DeliveryFailed(told, DeliveryCode.CONNECTION_FAILED, True, "unknown")
        if "FunctionError" in response:
            return from_function_error(_error_type(payload))
        return read_return(payload)

    def _told(self, response: Any) -> DeliveryFailed:
        """Return what an error of the API says. Source: Lambda API, Invoke, "Errors"."""
        about = response.get("ResponseMetadata", {})
        return from_lambda_error(
            response.get("Error", {}).get("Code", ""),
            about.get("HTTPStatusCode"),
            to_retry_after_s(
                about.get("HTTPHeaders", {}).get("retry-after", ""), self._now_epoch_s()
            ),
        )


def _awaited(
    outcome: SimpleQueue[WorkerAnswer | Exception], until: float, cancelled: Callable[[], bool]
) -> WorkerAnswer:
    """Wait for what comes, and look up now and then; raises what nobody foresaw."""
    while True:
        left_s = until - monotonic()
        if cancelled():
            return _cancelled(sent=True)
        if left_s <= 0:
            return timed_out()
        try:
            found = outcome.get(timeout=min(left_s, POLL_S))
        except Empty:
            continue
        if isinstance(found, Exception):
            raise found
        return found


def _cancelled(*, sent: bool) -> DeliveryFailed:
    told = "the delivery was cancelled"
    return DeliveryFailed(told, DeliveryCode.CANCELLED, False, "unknown" if sent else "no")


def _error_type(payload: bytes) -> str:
    """Return the type of a function's error, empty where it names none."""
    try:
        error = json.loads(payload)
    except ValueError:
        return ""
    name = error.get("errorType") if isinstance(error, dict) else None
    return name if isinstance(name, str) else ""
