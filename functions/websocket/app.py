"""WebSocket API -> a connection comes, says something, goes. Parse, call, map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everturn.observability import logger, metrics
from everturn.ports.callers import from_fields
from everturn.surfaces.handshake import answer_to
from everturn.wiring.surfaces import sockets

SOCKETS = sockets()

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Handle an API Gateway event of one of the three routes."""
    about = event["requestContext"]
    connection_id = about["connectionId"]
    match about["routeKey"]:
        case "$connect":
            SOCKETS.connect(connection_id, from_fields(about["authorizer"]))
            return answer_to(event)
        case "$disconnect":
            SOCKETS.disconnect(connection_id)
        case _:
            SOCKETS.frame(connection_id, event.get("body") or "")
    return {"statusCode": 200}
