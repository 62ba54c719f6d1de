"""$connect -> allow or deny, and whose connection it is. Parse, call, map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everturn.observability import logger
from everturn.rejections import Unauthenticated
from everturn.wiring.use_cases import callers

CALLERS = callers()

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Return an IAM policy; browsers, which cannot send headers, may use `?api_key=`."""
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    key = (event.get("queryStringParameters") or {}).get("api_key")
    try:
        caller = CALLERS.by_key(key) if key else CALLERS.by_headers(headers)
    except Unauthenticated:
        return policy("anonymous", "Deny", event["methodArn"], {})
    return policy(caller.tenant, "Allow", event["methodArn"], {"tenant": caller.tenant})


def policy(principal: str, effect: str, arn: str, context: dict[str, str]) -> dict[str, Any]:
    """Return an authorizer's answer. Source: API Gateway, "Output from a Lambda authorizer"."""
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": arn}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    return {"principalId": principal, "policyDocument": document, "context": context}
