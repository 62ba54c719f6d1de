"""The routes of `reader`, which of them a request is for; what they answer is theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everturn.surfaces.routes import ROUTES

Api = Callable[[dict[str, Any]], dict[str, Any]]


class ReaderApi:
    """Hands each event of API Gateway to the surface of its route."""

    def __init__(self, read_events: Api, stream_run: Api) -> None:
        apis = {"read_events": read_events, "stream_run": stream_run}
        self._by_key = {
            f"{route.method} {route.path}": apis[route.operation]
            for route in ROUTES
            if route.function == "reader"
        }
        self._read_events = read_events

    def __call__(self, event: dict[str, Any]) -> dict[str, Any]:
        """Answer one API Gateway event (payload 2.0)."""
        return self._by_key.get(event.get("routeKey", ""), self._read_events)(event)
