"""`Wake` on the FIFO queue and the step machine: one request each, a repeated one changes nothing.

It must not decide whether anybody has to be woken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from everturn.errors import DefectError, QueueUnavailable
from everturn.ports.sessions import SessionKey
from everturn.ports.wake import FunctionRun
from everturn.protocol.ids import SessionId, TenantId, uuid7_ms
from everturn.protocol.json_text import compact
from everturn.protocol.wake import Step, WakeUp
from everturn.store import keys
from everturn.store.pace import Pace
from everturn.store.patience import error_code, is_busy, while_busy

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_stepfunctions import SFNClient

DEDUP_CHARS: Final = 128
"""Source: SQS, MessageDeduplicationId."""

_WRONG: Final = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AWS.SimpleQueueService.NonExistentQueue",
        "InvalidExecutionInput",
        "InvalidMessageContents",
        "InvalidName",
        "InvalidParameterValue",
        "QueueDoesNotExist",
        "StateMachineDoesNotExist",
        "ValidationException",
    }
)
"""Codes that no repetition changes; all else passes."""


class SqsWake:
    """`Wake`; its names contain `created`, so that a deleted session's id can be used again."""

    def __init__(
        self,
        sqs: SQSClient,
        queue_url: str,
        sfn: SFNClient,
        machine_arn: str,
        pace: Pace | None = None,
    ) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._sfn = sfn
        self._machine_arn = machine_arn
        self._pace = pace or Pace()

    def now(self, key: SessionKey, created: str, step: str, version: int, dedup: str) -> None:
        """Enqueue a wake-up: one SendMessage."""
        with wake_errors():
            while_busy(
                self._pace,
                lambda: self._sqs.send_message(
                    QueueUrl=self._queue_url,
                    MessageBody=compact(message_of(key, step, version)),
                    MessageGroupId=keys.group_id(key),
                    MessageDeduplicationId=dedup_id(created, dedup),
                ),
            )

    def at(  # the port's signature
        self, key: SessionKey, created: str, step: str, version: int, due_ms: int, subject: str
    ) -> None:
        """Have one sent at `due_ms`: one StartExecution; one of that name is the same timer."""
        due = keys.iso_ms(due_ms)
        self._start(
            timer_name(key, created, subject, due),
            key,
            created,
            kind="wait",
            until=due,
            message=message_of(key, step, version, due=due, subject=subject),
        )

    def after(self, key: SessionKey, created: str, version: int, run: FunctionRun) -> None:
        """Have a function run: one StartExecution; one of that name is the same run."""
        self._start(
            run_name(key, created, run),
            key,
            created,
            kind="invoke",
            until=keys.iso_ms(run.deadline_ms),
            function=run.function,
            request=run.request,
            message=message_of(key, "tool", version, subject=run.decision_id),
            settles={"decision_id": run.decision_id, "attempt": run.attempt},
        )

    def _start(self, name: str, key: SessionKey, created: str, **given: Any) -> None:
        reply_to = {"group": keys.group_id(key), "dedup": dedup_id(created, name)}
        with wake_errors():
            try:
                while_busy(
                    self._pace,
                    lambda: self._sfn.start_execution(
                        stateMachineArn=self._machine_arn,
                        name=name,
                        input=compact(given | reply_to),
                    ),
                )
            except ClientError as error:
                if error_code(error) != "ExecutionAlreadyExists":
                    raise


def message_of(key: SessionKey, step: str, version: int, **more: Any) -> dict[str, Any]:
    """Return a wake-up as JSON."""
    wake = WakeUp(
        step=cast(Step, step),
        tenant=TenantId(key.tenant),
        session=SessionId(key.session),
        version=version,
        **more,
    )
    return wake.model_dump(mode="json", exclude_unset=True)


def timer_name(key: SessionKey, created: str, subject: str, due: str) -> str:
    """Return the name of a waiting execution: 57 of 80 characters. Source: architecture, 4."""
    return f"wait-{keys.digest32(key.tenant, key.session, created, subject, due)}"


def run_name(key: SessionKey, created: str, run: FunctionRun) -> str:
    """Return the name of an invoking execution: 59 of 80 characters. Source: architecture, 4."""
    due = keys.iso_ms(run.deadline_ms)
    parts = (key.tenant, key.session, created, run.decision_id, str(run.attempt), due)
    return f"invoke-{keys.digest32(*parts)}"


def dedup_id(created: str, dedup: str) -> str:
    """Return a message's deduplication id; one that would be too long is hashed."""
    whole = f"{created}:{dedup}"
    fits = (
        len(whole) <= DEDUP_CHARS and whole.isascii() and whole.isprintable() and " " not in whole
    )
    return whole if fits else f"{created}:{keys.digest32(dedup)}"


def created_in(dedup: str) -> str:
    """Return the incarnation in a message's deduplication id; empty where it has none."""
    created, colon, _ = dedup.partition(":")
    return created if colon and uuid7_ms(created) is not None else ""


@contextmanager
def wake_errors() -> Iterator[None]:
    """Turn botocore's errors into ours."""
    try:
        yield
    except ClientError as error:
        if error_code(error) in _WRONG:
            raise DefectError(f"wake-up refused: {error_code(error)}") from error
        raise QueueUnavailable(f"wake-up: {error_code(error)}", retry_after_s=1.0) from error
    except ParamValidationError as error:
        raise DefectError("wake-up refused: malformed request") from error
    except BotoCoreError as error:
        raise QueueUnavailable("the wake-up got no answer", retry_after_s=1.0) from error


def extend(
    sqs: SQSClient, queue_url: str, receipt_handle: str, seconds: int, pace: Pace | None = None
) -> None:
    """Keep a message invisible for so long from now: one ChangeMessageVisibility.

    Raises `PermissionError` where that is refused, another `OSError` where there was no answer.
    """
    with visibility_errors():
        while_busy(
            pace or Pace(),
            lambda: sqs.change_message_visibility(
                QueueUrl=queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            ),
        )


@contextmanager
def visibility_errors() -> Iterator[None]:
    """Turn botocore's errors into `PermissionError`, where a lease cannot be had any more, or into
    another `OSError`, where nothing is known: it was too busy, or there was no answer.
    """
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        is_ours = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        if is_ours and not is_busy(error):
            raise PermissionError("the queue refused to extend the lease") from error
        raise OSError("the queue did not extend the lease") from error
    except BotoCoreError as error:
        raise OSError("the queue did not answer") from error
