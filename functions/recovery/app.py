"""Dead letters and the clock -> somebody looks after forgotten sessions. Parse, call, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from everturn.commands.recover import Settled
from everturn.observability import Metric, logger, metrics
from everturn.protocol.wake import read_wake
from everturn.store.wake import created_in
from everturn.wiring.use_cases import finish_deletions, recover

RECOVER = recover()
DELETIONS = finish_deletions()

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Settle the dead letters of a queue event; sweep, and finish deletions, on any other."""
    if "Records" not in event:
        swept = RECOVER.sweep()
        metrics.add_metric(Metric.WOKEN_BY_SWEEP, "Count", swept.woken)
        if swept.quarantined:
            metrics.add_metric(Metric.QUARANTINED, "Count", swept.quarantined)
        deleted = DELETIONS.sweep()
        return {"woken": swept.woken} | ({"deleted": deleted} if deleted else {})
    failures = []
    for record in event["Records"]:
        try:
            _settle(record["body"], record["attributes"].get("MessageDeduplicationId", ""))
        except Exception:  # noqa: BLE001  # the family table of errors.py, applied to a queue
            logger.exception("a dead letter stays")
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}


def _settle(body: str, dedup: str) -> None:
    try:
        wake = read_wake(body)
    except ValidationError:
        logger.error("a message that is no wake-up was dropped")
        return
    with logger.append_context_keys(session_id=wake.session, step=wake.step):
        if RECOVER.settle(wake, created_in(dedup)) is Settled.QUARANTINED:
            metrics.add_metric(Metric.QUARANTINED, "Count", 1)
