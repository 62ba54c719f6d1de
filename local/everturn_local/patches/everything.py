"""All patches of moto in one block. Each is explained and tested in its own module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from everturn_local.bell import Bell
from everturn_local.clock import LocalClock
from everturn_local.patches.dynamodb_answers import dynamodb_answers
from everturn_local.patches.dynamodb_lock import dynamodb_lock
from everturn_local.patches.dynamodb_query import dynamodb_query
from everturn_local.patches.dynamodb_streams import dynamodb_streams
from everturn_local.patches.dynamodb_transactions import dynamodb_transactions
from everturn_local.patches.instances import untracked_instances
from everturn_local.patches.lambda_invoke import Invoke, lambda_invoke
from everturn_local.patches.sqs_fifo import sqs_fifo, wake_receivers
from everturn_local.patches.states_executions import (
    states_from_cloudformation,
    states_names,
    states_stops,
    states_waits,
)
from everturn_local.patches.states_jsonata import states_jsonata
from everturn_local.patches.states_tasks import states_sizes, states_timeouts


@contextmanager
def patched_moto(clock: LocalClock, stream_bell: Bell, invoke: Invoke) -> Iterator[None]:
    """moto as the local runtime needs it; everything is put back at the end of the block."""
    clock.on_skip(wake_receivers)
    with ExitStack() as stack:
        for patch in (
            untracked_instances(),
            dynamodb_lock(),
            dynamodb_transactions(),
            dynamodb_streams(stream_bell),
            dynamodb_query(),
            dynamodb_answers(),
            sqs_fifo(clock),
            lambda_invoke(invoke),
            states_jsonata(),
            states_from_cloudformation(),
            states_names(),
            states_waits(clock),
            states_timeouts(clock),
            states_sizes(),
            states_stops(clock),
        ):
            stack.enter_context(patch)
        yield


@contextmanager
def patched_dynamodb() -> Iterator[None]:
    """Only the DynamoDB patches, for tests of a store on plain `mock_aws`."""
    with (
        dynamodb_lock(),
        dynamodb_transactions(),
        dynamodb_streams(Bell()),
        dynamodb_query(),
        dynamodb_answers(),
    ):
        yield
