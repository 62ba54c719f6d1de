"""The HTTP API of `http_api`: finds the caller and the route, applies the table of errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from everturn.errors import DefectError
from everturn.rejections import MethodNotAllowed, UnknownRoute
from everturn.surfaces.admission import admitted, check_slug
from everturn.surfaces.callers import Callers, headers_of
from everturn.surfaces.http_responses import answer, failed, kept_by_nobody, packed
from everturn.surfaces.routes import ROUTES, WORKSPACE, Operation, Request, Route, methods_of


class HttpApi:
    """All routes but the events stream."""

    def __init__(self, callers: Callers, operations: Mapping[str, Operation]) -> None:
        """Serve `operations`, one for each route of `http_api`. Raises `DefectError` otherwise."""
        self._callers = callers
        self._app = APIGatewayHttpResolver(strip_prefixes=None)
        served = [route for route in ROUTES if route.function == "http_api"]
        if unlike := {route.operation for route in served} ^ operations.keys():
            raise DefectError(f"routes and operations differ in {sorted(unlike)}")
        for route in served:
            pattern = route.path.replace("{", "<").replace("}", ">")
            self._app.route(pattern, route.method)(
                self._guarded(route, operations[route.operation])
            )
        self._app.not_found(self._no_route)

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer one API Gateway event (payload 2.0)."""
        answered: dict[str, Any] = self._app.resolve(event, context)
        return packed(answered, event)

    def _guarded(self, route: Route, operation: Operation) -> Callable[..., Response[str]]:
        """Return `operation` behind the check of the caller, its errors mapped."""

        def handle(**path: str) -> Response[str]:
            event = self._app.current_event
            headers = headers_of(event.raw_event)
            try:
                caller = admitted(self._callers, route, headers)
                if "slug" in path:
                    check_slug(caller, path["slug"])
                query = event.query_string_parameters or {}
                answered = answer(*operation(Request(caller, path, query, event.raw_event)))
            except Exception as error:  # noqa: BLE001  # the one place where the table is applied
                answered = failed(
                    error,
                    says_ok=route.says_ok,
                    oauth=route.oauth,
                    hints=route.path.startswith(WORKSPACE),
                )
            return kept_by_nobody(answered) if route.oauth else answered

        return handle

    def _no_route(self, _error: NotFoundError) -> Response[str]:
        event = self._app.current_event
        allowed = methods_of(event.path)
        if allowed and event.http_method not in allowed:
            named = ", ".join(allowed)
            return failed(MethodNotAllowed(f"This path takes {named}.", allow=named))
        return failed(UnknownRoute("There is no such route."))
