"""FIFO queue -> one typed wake-up -> the session advances. Parse, call, report what failed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from everturn.drive.lease import held, redelivery_s
from everturn.drive.tools import Invocation
from everturn.errors import ConflictError, TransientError
from everturn.observability import logger, metrics
from everturn.protocol.wake import read_wake
from everturn.settings import settings
from everturn.wiring.adapters import extend_visibility
from everturn.wiring.use_cases import advance_session

ADVANCE = advance_session()

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Advance the session of each wake-up; what failed comes back to the queue."""
    failures = []
    for record in event["Records"]:  # batch size 1; a list all the same
        try:
            _advance(record, context)
        except (ConflictError, TransientError) as error:
            logger.warning("wake-up will be redelivered", reason=type(error).__name__)
            failures.append(retried_soon(record))
        except Exception:  # noqa: BLE001  # the family table of errors.py, applied to a queue
            logger.exception("wake-up failed")
            failures.append(retried_soon(record))
    return {"batchItemFailures": failures}


def _advance(record: dict[str, Any], context: LambdaContext) -> None:
    wake = read_wake(record["body"])  # what cannot be read ends in the dead-letter queue
    invocation = Invocation(
        request_id=context.aws_request_id,
        receive_count=int(record["attributes"]["ApproximateReceiveCount"]),
        remaining_ms=context.get_remaining_time_in_millis,
    )
    renew = partial(extend_visibility, record["receiptHandle"])
    about = logger.append_context_keys(session_id=wake.session, step=wake.step)
    with about, held(renew, settings().lease_seconds) as lease:
        ADVANCE(wake, lease, invocation)


def retried_soon(record: dict[str, Any]) -> dict[str, str]:
    """Return the failure of a record, and have it delivered again before the lease is over."""
    received = int(record["attributes"]["ApproximateReceiveCount"])
    with suppress(OSError):
        wait_s = redelivery_s(received, settings().lease_seconds)
        extend_visibility(record["receiptHandle"], wait_s)
    return {"itemIdentifier": record["messageId"]}
