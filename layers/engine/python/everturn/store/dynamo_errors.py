"""What a refusal of DynamoDB means to us; the only place that knows its error codes.

It must not decide what is done about one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from everturn.errors import StoreRefused, StoreUnavailable
from everturn.store.pace import Pace

Answer = TypeVar("Answer")

AwsError = (ClientError, BotoCoreError)
"""All that a client raises."""

RETRY_AFTER_S: Final = 1.0

_THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingError",
        "ThrottlingException",
    }
)
_CONTENDED: Final = frozenset(
    {"TransactionConflict", "TransactionConflictException", "TransactionInProgressException"}
)
_CONDITION: Final = frozenset({"ConditionalCheckFailed", "ConditionalCheckFailedException"})
_UNCLEAR: Final = frozenset({"InternalServerError", "ServiceUnavailable"})


class Fault(StrEnum):
    """What is known about the write that failed."""

    CONDITION = "condition"
    """Nothing written: a condition does not hold."""

    CONTENDED = "contended"
    """Nothing written: another transaction holds one of the items."""

    THROTTLED = "throttled"
    """Nothing written: too much traffic."""

    UNCLEAR = "unclear"
    """Perhaps written, perhaps not, perhaps later."""

    REFUSED = "refused"
    """Nothing written: our request is wrong."""


def fault_of(error: ClientError | BotoCoreError) -> Fault:
    """Return what `error` says about the request. Source: DynamoDB, "Error handling"."""
    match error:
        case ClientError():
            return _fault_of_codes(error)
        case ParamValidationError():
            return Fault.REFUSED
        case _:
            return Fault.UNCLEAR


def _fault_of_codes(error: ClientError) -> Fault:
    codes = error_codes(error)
    for known, fault in (
        (_CONDITION, Fault.CONDITION),
        (_CONTENDED, Fault.CONTENDED),
        (_THROTTLED, Fault.THROTTLED),
        (_UNCLEAR, Fault.UNCLEAR),
    ):
        if codes & known:
            return fault
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    return Fault.UNCLEAR if status >= 500 else Fault.REFUSED  # noqa: PLR2004  # HTTP's own boundary


def error_codes(error: ClientError) -> frozenset[str]:
    """Return the error's code and those of a transaction's actions."""
    reasons = {str(reason.get("Code", "None")) for reason in cancellation_reasons(error)}
    return frozenset({error.response.get("Error", {}).get("Code", "")} | reasons) - {"None"}


def cancellation_reasons(error: ClientError) -> Sequence[Mapping[str, Any]]:
    """Return one entry for each action of a cancelled transaction; `Item` is what stood there."""
    response: Mapping[str, Any] = error.response
    reasons: Sequence[Mapping[str, Any]] = response.get("CancellationReasons", ())
    return reasons


def item_in(error: ClientError | BotoCoreError) -> dict[str, Any] | None:
    """Return what stood where a single write's condition failed, if it was asked for."""
    response: Mapping[str, Any] = error.response if isinstance(error, ClientError) else {}
    item: dict[str, Any] | None = response.get("Item")
    return item


def when_free(pace: Pace, request: Callable[[], Answer]) -> Answer:
    """Return what `request` answers, made again while it is known that nothing happened.

    That is while a transaction holds one of its items, or while the table is throttled: giving up a
    running model call for the latter would cost more than to wait.
    """
    deadline = pace.deadline()
    throttled = 0
    while True:
        try:
            return request()
        except ClientError as error:
            fault = fault_of(error)
            if fault not in (Fault.CONTENDED, Fault.THROTTLED) or pace.is_over(deadline):
                raise
        pace.pause(throttled)
        throttled += fault is Fault.THROTTLED


def if_holds(pace: Pace, request: Callable[[], Any]) -> dict[str, Any] | None:
    """Make a conditional write; `None` where it was made, else what stands there.

    That is `{}` where nothing does, or where the request did not ask for it.
    """
    try:
        when_free(pace, request)
    except AwsError as error:
        if fault_of(error) is not Fault.CONDITION:
            raise translated(error) from error
        return item_in(error) or {}
    return None


@contextmanager
def dynamo_errors() -> Iterator[None]:
    """Turn botocore's errors into ours; a condition that may fail is caught before."""
    try:
        yield
    except AwsError as error:
        raise translated(error) from error


def translated(error: ClientError | BotoCoreError) -> StoreUnavailable | StoreRefused:
    """Return our error for one of botocore's."""
    name = (
        str(sorted(error_codes(error))) if isinstance(error, ClientError) else type(error).__name__
    )
    match fault_of(error):
        case Fault.CONTENDED | Fault.THROTTLED | Fault.UNCLEAR:
            return StoreUnavailable(f"DynamoDB: {name}", retry_after_s=RETRY_AFTER_S)
        case Fault.CONDITION | Fault.REFUSED:
            return StoreRefused(f"DynamoDB: {name}")
