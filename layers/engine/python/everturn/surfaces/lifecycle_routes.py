"""What the routes of many sessions, and of their end, do: requests to use cases; no rules."""

from __future__ import annotations

from http import HTTPStatus

from everturn.commands.delete_session import DeleteSession
from everturn.commands.list_sessions import (
    DEFAULT_SESSIONS,
    PAGE_SESSIONS,
    STATUSES,
    ListSessions,
    Wanted,
)
from everturn.protocol.ids import check_id
from everturn.rejections import SchemaViolation
from everturn.surfaces.http_answers import read_int
from everturn.surfaces.routes import Operation, Request, Result
from everturn.surfaces.session_routes import named_session


def lifecycle_operations(lists: ListSessions, delete: DeleteSession) -> dict[str, Operation]:
    """Return the operations by name."""

    def list_sessions(request: Request) -> Result:
        return HTTPStatus.OK, lists(request.caller, _wanted(request))

    def delete_session(request: Request) -> Result:
        if delete(request.caller, named_session(request)):
            return HTTPStatus.OK, {"ok": True}
        return HTTPStatus.ACCEPTED, {"ok": True, "deleting": True}

    return {"list_sessions": list_sessions, "delete_session": delete_session}


def _wanted(request: Request) -> Wanted:
    query = request.query
    for name in ("agent_id", "owner"):
        if name in query:
            check_id(query[name], name)
    status = query.get("status")
    if status is not None and status not in STATUSES:
        raise SchemaViolation(f"status: must be one of {', '.join(STATUSES)}")
    limit = read_int(query.get("limit"), "limit", minimum=1, maximum=PAGE_SESSIONS)
    return Wanted(
        agent_id=query.get("agent_id"),
        status=status,
        owner=query.get("owner"),
        limit=limit or DEFAULT_SESSIONS,
        cursor=query.get("cursor"),
    )
