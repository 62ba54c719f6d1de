"""Table stream -> readers hear of commits, drivers are woken. Parse, call, report what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everturn.observability import logger
from everturn.wiring.adapters import logged_commit
from everturn.wiring.use_cases import fan_out

FAN_OUT = fan_out()

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Fan out each new log item, in order; the first that fails, and all after it, come again."""
    try:
        return {"batchItemFailures": fanned_out(event["Records"])}
    finally:
        FAN_OUT.flush()


def fanned_out(records: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Fan out records until one fails; return that one, as its number."""
    for record in records:
        image = record["dynamodb"].get("NewImage")
        if record["eventName"] != "INSERT" or image is None or not is_log(image):
            continue
        try:
            FAN_OUT(*logged_commit(image))
        except Exception:  # noqa: BLE001  # the family table of errors.py, applied to a stream
            logger.exception("fan-out will be repeated")
            return [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]
    return []


def is_log(image: dict[str, Any]) -> bool:
    """Return whether an item is a commit's; the mapping filters too, this is for the rest."""
    return str(image.get("sk", {}).get("S", "")).startswith("LOG#")
