"""One lock around DynamoDB and its streams. It changes no behaviour of a single thread.

Upstream gap (moto 5.2.5): the backend reads, checks and writes without a lock, so threads lose
updates and several of them win the same conditional write.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from moto.dynamodb.responses import DynamoHandler
from moto.dynamodbstreams.responses import DynamoDBStreamsHandler

from everturn_local.patches.replacing import replaced

DYNAMODB_LOCK = threading.RLock()
"""Held by every DynamoDB and stream request; take it to look at moto's tables consistently."""


def _locked(call_action: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def locked_call_action(handler: Any) -> Any:
        with DYNAMODB_LOCK:
            return call_action(handler)

    return locked_call_action


@contextmanager
def dynamodb_lock() -> Iterator[None]:
    """Make every DynamoDB and DynamoDB Streams request run alone."""
    with (
        replaced(DynamoHandler, "call_action", _locked(DynamoHandler.call_action)),
        replaced(
            DynamoDBStreamsHandler, "call_action", _locked(DynamoDBStreamsHandler.call_action)
        ),
    ):
        yield
