"""What the routes of sessions do: a request to a use case, its result to an answer; no rules."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from everturn.commands.read_session import ReadSession
from everturn.commands.reading import no_such_session
from everturn.commands.take_input import Continued, TakeInput, Taken
from everturn.errors import RejectedError
from everturn.observability import Metric, metrics
from everturn.protocol.client_input import read_input
from everturn.protocol.ids import is_id
from everturn.protocol.limits import MAX_INPUT_BODY_BYTES
from everturn.surfaces.http_answers import read_int
from everturn.surfaces.routes import Operation, Request, Result


def session_operations(take: TakeInput, read: ReadSession) -> dict[str, Operation]:
    """Return the operations on sessions by name."""

    def submit_input(request: Request) -> Result:
        given = read_input(request.body(MAX_INPUT_BODY_BYTES))
        try:
            taken = take(request.caller, given)
        except RejectedError:
            metrics.add_metric(Metric.INPUTS_REJECTED, "Count", 1)
            raise
        metrics.add_metric(Metric.INPUTS_ACCEPTED, "Count", 1)
        return HTTPStatus.ACCEPTED, accepted(taken)

    def get_session(request: Request) -> Result:
        session_id = named_session(request)
        tree = request.query.get("tree") in {"1", "true"}
        before = read_int(request.query.get("before"), "before", minimum=1)
        return HTTPStatus.OK, read(request.caller, session_id, tree=tree, before=before)

    return {"submit_input": submit_input, "get_session": get_session}


def named_session(request: Request) -> str:
    """Return the session that the path names. Raises `UnknownSession` for what cannot be an id."""
    session_id = request.path["session_id"]
    if not is_id(session_id):
        raise no_such_session()
    return session_id


def accepted(taken: Taken) -> dict[str, Any]:
    """Return the body of a 202. Source: decision-protocol T-3, T-4, O-22."""
    if isinstance(taken, Continued):
        resumed = {} if taken.resumed is None else {"resumed": taken.resumed}
        return {"ok": True, "session_id": taken.session_id, **resumed}
    body: dict[str, Any] = {"session_id": taken.session_id, "turn_id": taken.turn_id}
    if taken.duplicate:
        body |= {"duplicate": True, "turn_status": taken.turn_status}
    return {**body, "continued": True} if taken.is_continued else body
