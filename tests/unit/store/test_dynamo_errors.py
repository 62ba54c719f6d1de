"""What DynamoDB's errors say about a write."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    ParamValidationError,
)

from everturn.errors import StoreRefused, StoreUnavailable
from everturn.store.dynamo_errors import Fault, dynamo_errors, fault_of, item_in


def answered(code: str, *reasons: str, status: int = 400) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": ""},
            "ResponseMetadata": {"HTTPStatusCode": status},  # type: ignore[typeddict-item]  # one of its keys
            "CancellationReasons": [{"Code": reason} for reason in reasons],
        },
        "TransactWriteItems",
    )


CANCELLED = "TransactionCanceledException"


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (answered("ConditionalCheckFailedException"), Fault.CONDITION),
        (answered(CANCELLED, "None", "ConditionalCheckFailed"), Fault.CONDITION),
        (answered(CANCELLED, "TransactionConflict", "ConditionalCheckFailed"), Fault.CONDITION),
        (answered(CANCELLED, "TransactionConflict", "None"), Fault.CONTENDED),
        (answered("TransactionInProgressException"), Fault.CONTENDED),
        (answered(CANCELLED, "ThrottlingError"), Fault.THROTTLED),
        (answered("ProvisionedThroughputExceededException"), Fault.THROTTLED),
        (answered("RequestLimitExceeded"), Fault.THROTTLED),
        (answered("InternalServerError", status=500), Fault.UNCLEAR),
        (answered("Anything", status=503), Fault.UNCLEAR),
        (answered(CANCELLED, "ValidationError"), Fault.REFUSED),
        (answered("IdempotentParameterMismatchException"), Fault.REFUSED),
        (answered("AccessDeniedException"), Fault.REFUSED),
        (ConnectTimeoutError(endpoint_url="https://dynamodb"), Fault.UNCLEAR),
        (ParamValidationError(report="Key"), Fault.REFUSED),
    ],
)
def test_an_error_says_what_happened(error: ClientError | BotoCoreError, fault: Fault) -> None:
    assert fault_of(error) is fault


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (answered("ThrottlingException"), StoreUnavailable),
        (ConnectTimeoutError(endpoint_url="https://dynamodb"), StoreUnavailable),
        (answered("ConditionalCheckFailedException"), StoreRefused),
        (answered("ResourceNotFoundException"), StoreRefused),
    ],
)
def test_no_error_of_the_library_travels_further(
    error: Exception, ours: type[StoreUnavailable | StoreRefused]
) -> None:
    with pytest.raises(ours), dynamo_errors():
        raise error


def test_an_error_without_an_item_has_none() -> None:
    assert item_in(answered("ConditionalCheckFailedException")) is None
    assert item_in(ConnectTimeoutError(endpoint_url="https://dynamodb")) is None
