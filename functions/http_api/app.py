"""HTTP API -> one use case -> an answer. Parse, call, map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everturn.observability import logger, metrics
from everturn.wiring.surfaces import http_api

API = http_api()
"""Made at the cold start: what is missing stops it there."""

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an API Gateway event (HTTP API, payload 2.0)."""
    return API(event, context)
