"""Which Lambda functions a user may have the engine invoke; invokes and looks up nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]{1,64}"
    r"(?::(?:\$LATEST|[A-Za-z0-9_-]{1,128}))?"
)
"""With or without a version or an alias. Source: Lambda API, Invoke, FunctionName."""


@dataclass(frozen=True, slots=True)
class FunctionRefused:
    """The engine will not invoke this; `reason` is fit for whoever configured it."""

    reason: str


def check_function(arn: str, allowed: str) -> FunctionRefused | None:
    """Say why `arn` is refused, `None` where it is not.

    `allowed` is how the ARNs begin that may be invoked: region, account and the first letters of
    the name. Where it is empty nothing is known of it here, and IAM decides alone.
    """
    if not _ARN.fullmatch(arn):
        return FunctionRefused("this is not the ARN of a Lambda function")
    if not arn.startswith(allowed):
        return FunctionRefused(f"only functions whose ARN begins with {allowed} may be called")
    return None
