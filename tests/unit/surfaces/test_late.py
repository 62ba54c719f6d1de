"""Routes that are imported when they are asked for are those of the table."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.ports.callers import Caller
from everturn.surfaces.agent_session_routes import agent_session_operations
from everturn.surfaces.late import late
from everturn.surfaces.oauth_routes import oauth_operations
from everturn.surfaces.routes import ROUTES, Request
from everturn.surfaces.run_routes import run_operations

REQUEST = Request(Caller("acme"), {}, {}, {})


def test_nothing_is_made_before_the_first_is_asked_for_and_then_once() -> None:
    made: list[str] = []

    def make() -> dict[str, Any]:
        made.append("made")
        return {route.operation: lambda _request: (200, {"ok": True}) for route in ROUTES}

    operations = late("/api/v1/", make)

    assert made == []
    assert operations["create_run"](REQUEST) == (200, {"ok": True})
    assert operations["get_run"](REQUEST) == (200, {"ok": True})
    assert made == ["made"]


NOTHING: Any = None


@pytest.mark.parametrize(
    ("under", "made"),
    [
        (
            "/api/v1/",
            run_operations(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)
            | agent_session_operations(NOTHING, NOTHING, NOTHING),
        ),
        ("/api/oauth/", oauth_operations(NOTHING)),
    ],
)
def test_what_is_made_is_what_the_table_has(under: str, made: dict[str, Any]) -> None:
    assert made.keys() == late(under, dict).keys()
