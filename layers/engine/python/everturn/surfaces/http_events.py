"""The HTTP route of `reader`: a page of events, or a stream of them; no rule lives here."""

from __future__ import annotations

from typing import Any, Final

from everturn.commands.read_events import DEFAULT_PAGE_EVENTS, PAGE_EVENTS, ReadEvents, sse
from everturn.commands.reading import no_such_session
from everturn.protocol.ids import is_id
from everturn.push.envelopes import Cursor, read_cursor
from everturn.rejections import UnknownTurn
from everturn.surfaces.admission import admitted
from everturn.surfaces.callers import Callers, headers_of
from everturn.surfaces.http_answers import read_int
from everturn.surfaces.http_responses import answer as json_answer
from everturn.surfaces.http_responses import failed, packed, to_gateway
from everturn.surfaces.routes import ROUTES

EVENT_STREAM: Final = "text/event-stream"
END_OF_STREAM: Final = 204
"""Tells an EventSource not to come back."""

_ROUTE: Final = next(route for route in ROUTES if route.operation == "read_events")


class EventsApi:
    """`GET /v1/sessions/{session_id}/events`. Source: decision-protocol O-1, O-24."""

    def __init__(self, callers: Callers, events: ReadEvents) -> None:
        self._callers = callers
        self._events = events

    def __call__(self, event: dict[str, Any]) -> dict[str, Any]:
        """Answer one API Gateway event (payload 2.0)."""
        try:
            return packed(self._answer(event), event)
        except Exception as error:  # noqa: BLE001  # the one place where the table is applied
            return to_gateway(failed(error))

    def _answer(self, event: dict[str, Any]) -> dict[str, Any]:
        headers = headers_of(event)
        query = event.get("queryStringParameters") or {}
        caller = admitted(self._callers, _ROUTE, headers)
        session_id = (event.get("pathParameters") or {}).get("session_id") or ""
        if not is_id(session_id):
            raise no_such_session()
        turn_id = query.get("turn_id")
        if turn_id is not None and not is_id(turn_id):
            raise UnknownTurn("There is no such turn.")
        if EVENT_STREAM not in headers.get("accept", ""):
            after = read_int(query.get("after_seq"), "after_seq", minimum=0) or 0
            limit = read_int(query.get("limit"), "limit", minimum=1, maximum=PAGE_EVENTS)
            page = self._events.page(
                caller,
                session_id,
                after,
                limit or DEFAULT_PAGE_EVENTS,
                turn_id,
                requests=query.get("requests") in {"1", "true"},
            )
            body = {
                "events": page.events,
                "next_after_seq": page.next_after_seq,
                "more": page.more,
            }
            return to_gateway(json_answer(200, body))
        place = headers.get("last-event-id") or query.get("after_seq")
        cursor = read_cursor(place) if place else Cursor()
        streamed = self._events.stream(caller, session_id, cursor, turn_id)
        if streamed.ended:
            return {"statusCode": END_OF_STREAM, "headers": {"cache-control": "no-store"}}
        return {
            "statusCode": 200,
            "headers": {"content-type": EVENT_STREAM, "cache-control": "no-store"},
            "body": sse(streamed),
        }
