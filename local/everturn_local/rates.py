"""EventBridge's rate expressions. Cron expressions are not played locally."""

from __future__ import annotations

import re

from everturn_local.intrinsics import TemplateError

_UNIT_S = {"minute": 60, "hour": 3600, "day": 86_400}


def rate_seconds(expression: str) -> float:
    """Seconds of `rate(5 minutes)`; raises `TemplateError` for cron and everything else."""
    found = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression.strip())
    if found is None:
        raise TemplateError(f"{expression} cannot be played locally, only rate(...)")
    return float(found[1]) * _UNIT_S[found[2]]
