"""The HTTP route of `reader` that streams a run; no rule lives here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.commands.find_run import check_run_id
from everturn.commands.read_run import ReadRun, RunStreamed
from everturn.errors import TransientError
from everturn.rejections import InvalidRequest
from everturn.runs.frames import NOTHING_NEW
from everturn.surfaces.admission import admitted, check_slug
from everturn.surfaces.callers import Callers, headers_of
from everturn.surfaces.http_answers import log_failure
from everturn.surfaces.http_events import EVENT_STREAM
from everturn.surfaces.http_responses import failed, packed, to_gateway
from everturn.surfaces.routes import ROUTES

MAX_CURSOR_DIGITS: Final = 18

_ROUTE: Final = next(route for route in ROUTES if route.operation == "stream_run")


class RunStreamApi:
    """`GET /api/v1/workspaces/{slug}/agent-runs/{run_id}/stream`. Source: agent-runs.md."""

    def __init__(self, callers: Callers, runs: ReadRun) -> None:
        self._callers = callers
        self._runs = runs

    def __call__(self, event: dict[str, Any]) -> dict[str, Any]:
        """Answer one API Gateway event (payload 2.0)."""
        try:
            return packed(_answer(self._streamed(event)), event)
        except TransientError as error:  # another status ends a client's run
            log_failure(error)
            return _answer(self._runs.nothing())
        except Exception as error:  # noqa: BLE001  # the one place where the table is applied
            return to_gateway(failed(error, hints=True))

    def _streamed(self, event: dict[str, Any]) -> RunStreamed:
        headers, path = headers_of(event), event.get("pathParameters") or {}
        caller = admitted(self._callers, _ROUTE, headers)
        check_slug(caller, path.get("slug") or "")
        run_id = check_run_id(path.get("run_id") or "")
        after = _cursor(headers, event.get("queryStringParameters") or {})
        return self._runs.stream(caller, run_id, after)


def _answer(streamed: RunStreamed) -> dict[str, Any]:
    return {
        "statusCode": 200,
        "headers": {"content-type": EVENT_STREAM, "cache-control": "no-store"},
        "body": "".join(frame.text() for frame in streamed.frames) or NOTHING_NEW,
    }


def _cursor(headers: Mapping[str, str], query: Mapping[str, str]) -> int:
    """Return the last frame that a client knows; it says so in two places, or in none."""
    told = {"lastSeq": query.get("lastSeq"), "Last-Event-ID": headers.get("last-event-id")}
    return max(_number(name, text) for name, text in told.items())


def _number(name: str, text: str | None) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_CURSOR_DIGITS):
        raise InvalidRequest(f"/{name}: must be the seq of a frame of this run")
    return int(text)
