"""The HTTP routes of `http_api`: a request to a use case, its result to an answer; no rules."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from everturn.commands.agents import Agents
from everturn.commands.read_session import ReadSession
from everturn.commands.submit_input import SubmitInput, Submitted
from everturn.commands.uploads import Uploads
from everturn.errors import (
    EverturnError,
    InvalidId,
    InvalidJson,
    MethodNotAllowed,
    RejectedError,
    SchemaViolation,
    TooLarge,
    UnknownAgent,
    UnknownRoute,
    UnknownSession,
    log_level,
    to_http,
)
from everturn.observability import Metric, logger, metrics
from everturn.protocol.client_input import read_input
from everturn.protocol.ids import is_id
from everturn.protocol.json_text import read_json
from everturn.protocol.limits import (
    MAX_AGENT_BYTES,
    MAX_INPUT_BODY_BYTES,
    MAX_UPLOAD_REQUEST_BYTES,
)
from everturn.surfaces.callers import Caller, Callers

JSON: Final = "application/json"
ROUTES: Final = (
    (re.compile("/v1/health"), "GET"),
    (re.compile("/v1/sessions/input"), "POST"),
    (re.compile("/v1/sessions/[^/]+"), "GET"),
    (re.compile("/v1/sessions/[^/]+/events"), "GET"),
    (re.compile("/v1/agents/[^/]+"), "DELETE, GET, PUT"),
    (re.compile("/v1/uploads"), "POST"),
    (re.compile("/v1/uploads/[^/]+"), "GET"),
)
"""Paths, and the methods that they take; what comes here asked for another one."""

PACKED_FROM_BYTES: Final = 512 * 1024

Result = tuple[int, dict[str, Any]]


class HttpApi:
    """All routes but the events stream."""

    def __init__(
        self,
        callers: Callers,
        submit: SubmitInput,
        read_session: ReadSession,
        agents: Agents,
        uploads: Uploads,
        ready: Callable[[], dict[str, Any]],
    ) -> None:
        self._callers = callers
        self._submit = submit
        self._read_session = read_session
        self._agents = agents
        self._uploads = uploads
        self._ready = ready
        self._app = APIGatewayHttpResolver(strip_prefixes=None)
        self._add_routes()

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer one API Gateway event (payload 2.0)."""
        answer: dict[str, Any] = self._app.resolve(event, context)
        return packed(answer, event)

    def _add_routes(self) -> None:
        app = self._app
        app.get("/v1/health")(lambda: answer(HTTPStatus.OK, self._ready()))
        app.post("/v1/sessions/input")(self._guarded(self._post_input))
        app.get("/v1/sessions/<session_id>")(self._guarded(self._get_session))
        app.put("/v1/agents/<agent_id>")(self._guarded(self._put_agent))
        app.get("/v1/agents/<agent_id>")(self._guarded(self._get_agent))
        app.delete("/v1/agents/<agent_id>")(self._guarded(self._delete_agent))
        app.post("/v1/uploads")(self._guarded(self._post_upload))
        app.get("/v1/uploads/<upload_id>")(self._guarded(self._get_upload))
        app.not_found(self._no_route)

    def _guarded(self, route: Callable[..., Result]) -> Callable[..., Response[str]]:
        """Return `route` behind the check of the credential, its errors mapped."""

        def handle(**path: str) -> Response[str]:
            try:
                caller = self._callers.by_headers(self._headers())
                return answer(*route(caller, **path))
            except Exception as error:  # noqa: BLE001  # the one place where the table is applied
                return failed(error)

        return handle

    def _post_input(self, caller: Caller) -> Result:
        request = read_input(self._body(MAX_INPUT_BODY_BYTES))
        try:
            submitted = self._submit(caller.tenant, request)
        except RejectedError:
            metrics.add_metric(Metric.INPUTS_REJECTED, "Count", 1)
            raise
        metrics.add_metric(Metric.INPUTS_ACCEPTED, "Count", 1)
        return HTTPStatus.ACCEPTED, accepted(submitted)

    def _get_session(self, caller: Caller, session_id: str) -> Result:
        if not is_id(session_id):
            raise UnknownSession("There is no such session.")
        query = self._app.current_event.query_string_parameters or {}
        tree = query.get("tree") in {"1", "true"}
        before = read_int(query.get("before"), "before", minimum=1)
        return HTTPStatus.OK, self._read_session(
            caller.tenant, session_id, tree=tree, before=before
        )

    def _put_agent(self, caller: Caller, agent_id: str) -> Result:
        if not is_id(agent_id):
            raise InvalidId("The agent's id has 1 to 200 characters of A-Z a-z 0-9 . _ : @ -")
        written = self._agents.put(caller.tenant, agent_id, self._body(MAX_AGENT_BYTES))
        return (HTTPStatus.CREATED if written.created else HTTPStatus.OK), written.agent

    def _get_agent(self, caller: Caller, agent_id: str) -> Result:
        if not is_id(agent_id):
            raise UnknownAgent("There is no such agent.")
        return HTTPStatus.OK, self._agents.get(caller.tenant, agent_id)

    def _delete_agent(self, caller: Caller, agent_id: str) -> Result:
        if not is_id(agent_id):
            raise UnknownAgent("There is no such agent.")
        self._agents.delete(caller.tenant, agent_id)
        return HTTPStatus.OK, {"ok": True}

    def _post_upload(self, caller: Caller) -> Result:
        body = self._body(MAX_UPLOAD_REQUEST_BYTES)
        return HTTPStatus.CREATED, self._uploads.create(caller.tenant, body)

    def _get_upload(self, caller: Caller, upload_id: str) -> Result:
        return HTTPStatus.OK, self._uploads.get(caller.tenant, upload_id)

    def _no_route(self, _error: NotFoundError) -> Response[str]:
        event = self._app.current_event
        allowed = [methods for path, methods in ROUTES if path.fullmatch(event.path)]
        if allowed and event.http_method not in allowed[0]:
            refused = MethodNotAllowed(f"This path takes {allowed[0]}.", allow=allowed[0])
            return failed(refused)
        return failed(UnknownRoute("There is no such route."))

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self._app.current_event.headers.items()}

    def _body(self, limit_bytes: int) -> Any:
        return read_body(self._app.current_event.raw_event, limit_bytes)


def read_body(event: dict[str, Any], limit_bytes: int) -> Any:
    """Return the JSON body of an API Gateway event. Raises `TooLarge`, `InvalidJson`."""
    text = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error:
            raise InvalidJson("The body is not readable.") from None
    else:
        raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > limit_bytes:
        raise TooLarge(
            f"The body has {len(raw)} bytes; at most {limit_bytes} are taken.",
            limit_bytes=limit_bytes,
            size_bytes=len(raw),
        )
    return read_json(raw)


def read_int(text: str | None, name: str, *, minimum: int, maximum: int = 10**15) -> int | None:
    """Return a whole number of a query string. Raises `SchemaViolation`."""
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and minimum <= int(text[:20]) <= maximum):
        raise SchemaViolation(f"{name}: must be a whole number from {minimum} to {maximum}")
    return int(text)


def accepted(submitted: Submitted) -> dict[str, Any]:
    """Return the body of a 202. Source: decision-protocol T-4."""
    body: dict[str, Any] = {"session_id": submitted.session_id, "turn_id": submitted.turn_id}
    if submitted.duplicate:
        body |= {"duplicate": True, "turn_status": submitted.turn_status}
    return body


def packed(response: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """Return a large answer compressed, where the caller takes that.

    A Lambda answer holds 6 MB of JSON, in which a JSON body is escaped once more.
    """
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    body = (response.get("body") or "").encode()
    if len(body) < PACKED_FROM_BYTES or "gzip" not in headers.get("accept-encoding", ""):
        return response
    about = {**(response.get("headers") or {}), "content-encoding": "gzip"}
    for name, values in (response.get("multiValueHeaders") or {}).items():
        about.setdefault(name, ", ".join(values))
    return {
        **response,
        "headers": about,
        "body": base64.b64encode(gzip.compress(body, compresslevel=5)).decode(),
        "isBase64Encoded": True,
    }


def answer(status: int, body: dict[str, Any]) -> Response[str]:
    """Return a JSON answer."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    headers = {"cache-control": "no-store"}
    if "retry_after" in body:
        headers["retry-after"] = str(body["retry_after"])
    return Response(int(status), JSON, text, headers=headers)


def failed(error: BaseException) -> Response[str]:
    """Return the answer to an error, and log it at its family's level."""
    log_failure(error)
    return answer(*to_http(error))


def log_failure(error: BaseException) -> None:
    """Log an error once, without anything that a caller sent."""
    code = getattr(error, "code", type(error).__name__)
    match log_level(error):
        case "info":
            logger.info("request refused", code=code)
        case "warning":
            logger.warning("request failed", code=code)
        case "exception":
            known = isinstance(error, EverturnError)
            logger.error("request failed", code=code, known=known, exc_info=error)
