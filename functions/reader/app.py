"""HTTP API -> events, or a run's frames, waiting up to 25 s. Parse, call, map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everturn.observability import logger
from everturn.wiring.surfaces import reader_api

API = reader_api()

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Answer an API Gateway event (HTTP API, payload 2.0)."""
    return API(event)
