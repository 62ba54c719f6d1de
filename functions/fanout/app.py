"""Table stream -> readers hear of commits, drivers are woken. Parse, call, report what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everturn.observability import Metric, logger, metrics
from everturn.wiring.use_cases import fan_out

FAN_OUT = fan_out()

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Fan out new log items; from the first that may work later on, they come again."""
    fanned = FAN_OUT(event["Records"])
    if fanned.skipped:
        metrics.add_metric(Metric.RECORDS_SKIPPED, "Count", fanned.skipped)
    failures = [] if fanned.again is None else [{"itemIdentifier": fanned.again}]
    return {"batchItemFailures": failures}
