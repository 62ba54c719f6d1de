"""$connect -> allow or deny, and whose connection it is. Parse, call, map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everturn.observability import logger
from everturn.ports.callers import to_fields
from everturn.rejections import Unauthenticated
from everturn.surfaces.handshake import caller_of
from everturn.wiring.use_cases import callers

CALLERS = callers()

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Return an IAM policy; who shows no credential is let in, to say at once who they are."""
    try:
        caller = caller_of(CALLERS, event)
    except Unauthenticated:
        return policy("anonymous", "Deny", event["methodArn"], {})
    return policy(caller.tenant or "anonymous", "Allow", event["methodArn"], to_fields(caller))


def policy(principal: str, effect: str, arn: str, context: dict[str, str]) -> dict[str, Any]:
    """Return an authorizer's answer. Source: API Gateway, "Output from a Lambda authorizer"."""
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": arn}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    return {"principalId": principal, "policyDocument": document, "context": context}
