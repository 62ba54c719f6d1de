"""A worker's answer as the engine takes it in, for tests of what it may hold."""

from __future__ import annotations

from typing import Any

from everturn.protocol.agent import Decides
from everturn.protocol.decision import DECISION_RESPONSE, DecisionResponse, check_response
from everturn.protocol.wire import parse


def read_response(data: Any, *, decides: Decides) -> DecisionResponse:
    """Return the response that `data` is, checked.

    Raises `SchemaViolation`, `InvalidId` and the errors of `check_response`.
    """
    response = parse(DECISION_RESPONSE, data)
    check_response(response, decides=decides)
    return response
