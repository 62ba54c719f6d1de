"""What the routes of sessions made for runs do: a body to a use case, its result to an answer.

Source: agent-runs.md, "Routes".
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl

from everturn.commands.agent_sessions import (
    HISTORY,
    MAX_MESSAGES,
    AgentSessions,
    Filter,
    Line,
)
from everturn.commands.run_specs import RunSpecs
from everturn.commands.start_run import StartRun, Wanted
from everturn.observability import Metric, metrics
from everturn.protocol.events import to_rfc3339
from everturn.protocol.limits import MAX_RUN_BODY_BYTES
from everturn.protocol.runs.bodies import read_message, read_session
from everturn.rejections import InvalidRequest
from everturn.runs.history import conversation, frames_of
from everturn.runs.messages import drafts, system_texts
from everturn.runs.spec import inherited
from everturn.session.inbox_commands import RunOrder
from everturn.surfaces.http_answers import read_int
from everturn.surfaces.routes import Operation, Request, Result
from everturn.surfaces.run_routes import accepted, run_of
from everturn.surfaces.session_routes import named_session

DEFAULT_SESSIONS: Final = 50
PAGE_SESSIONS: Final = 200
MAX_OFFSET: Final = 10_000
STATUSES: Final = {"active": False, "ended": True}


def agent_session_operations(
    start: StartRun, specs: RunSpecs, sessions: AgentSessions
) -> dict[str, Operation]:
    """Return the operations by name."""
    return {**_writing(start, specs, sessions), **_reading(sessions)}


def _writing(start: StartRun, specs: RunSpecs, sessions: AgentSessions) -> dict[str, Operation]:
    def create_agent_session(request: Request) -> Result:
        body = read_session(request.body(MAX_RUN_BODY_BYTES))
        spec = body.spec
        resolved = specs.resolve(request.caller.tenant, spec)
        order = RunOrder(run_of(body, spec), resolved.config, resolved.client)
        session_id, at_ms = start.begin(request.caller, resolved.agent_id, order)
        made = {"sessionId": session_id, "name": body.name or "", "createdAt": to_rfc3339(at_ms)}
        return HTTPStatus.CREATED, made

    def send_message(request: Request) -> Result:
        session_id = named_session(request)
        body = read_message(request.body(MAX_RUN_BODY_BYTES))
        session = sessions.beginning(request.caller, session_id)
        spec = inherited(session.description.get("spec") or {}, body.spec)
        resolved = specs.resolve(
            request.caller.tenant, spec, system_texts(body.turn), session.config
        )
        order = RunOrder(run_of(body, spec), resolved.config, resolved.client)
        messages = tuple(drafts(body.turn))
        wanted = Wanted(session.agent_id, order, messages, session_id)
        started = start(request.caller, wanted)
        metrics.add_metric(Metric.INPUTS_ACCEPTED, "Count", 1)
        return HTTPStatus.ACCEPTED, accepted(request, started)

    def end_agent_session(request: Request) -> Result:
        sessions.end(request.caller, named_session(request))
        return HTTPStatus.OK, {"ok": True}

    return {
        "create_agent_session": create_agent_session,
        "send_message": send_message,
        "end_agent_session": end_agent_session,
    }


def _reading(sessions: AgentSessions) -> dict[str, Operation]:
    def list_agent_sessions(request: Request) -> Result:
        wanted = _wanted(request)
        found = sessions.lines(request.caller, wanted)
        return HTTPStatus.OK, {
            "total": found.total,
            "limit": wanted.limit,
            "offset": wanted.offset,
            "nextCursor": found.cursor,
            "sessions": [_line(one) for one in found.lines],
        }

    def get_agent_session(request: Request) -> Result:
        session_id = named_session(request)
        session = sessions.get(request.caller, session_id)
        nodes, _ = sessions.messages(request.caller, session_id, before_seq=None, count=HISTORY)
        ended_ms, about = session.ended_ms, session.description
        return HTTPStatus.OK, {
            "id": session_id,
            "name": about.get("name") or "",
            "status": "ended" if session.is_ended else "active",
            "createdAt": to_rfc3339(session.created_ms),
            "lastUsedAt": to_rfc3339(session.last_used_ms),
            "endedAt": None if ended_ms is None else to_rfc3339(ended_ms),
            "agentSpec": about.get("spec") or {},
            "messages": conversation(nodes),
            "metadata": about.get("metadata") or {},
        }

    def replay_agent_session(request: Request) -> Result:
        session_id, query = named_session(request), request.query
        is_full = query.get("full") in {"1", "true"}
        last = read_int(query.get("lastMessages"), "lastMessages", minimum=1, maximum=MAX_MESSAGES)
        before = read_int(query.get("beforeSeq"), "beforeSeq", minimum=1)
        count = last if last is not None and not is_full else MAX_MESSAGES
        replay = frames_of(
            lambda before_seq, many: sessions.messages(
                request.caller, session_id, before_seq=before_seq, count=many
            ),
            before,
            count,
        )
        return HTTPStatus.OK, {"sessionId": session_id, **replay}

    return {
        "list_agent_sessions": list_agent_sessions,
        "get_agent_session": get_agent_session,
        "replay_agent_session": replay_agent_session,
    }


def _wanted(request: Request) -> Filter:
    query = request.query
    status = query.get("status")
    if status is not None and status not in STATUSES:
        raise InvalidRequest(f"status: should be one of {', '.join(STATUSES)}")
    limit = read_int(query.get("limit"), "limit", minimum=1, maximum=PAGE_SESSIONS)
    offset = read_int(query.get("offset"), "offset", minimum=0, maximum=MAX_OFFSET)
    return Filter(
        metadata=_metadata(request.event.get("rawQueryString") or ""),
        is_ended=STATUSES[status] if status is not None else None,
        limit=limit or DEFAULT_SESSIONS,
        offset=offset or 0,
        cursor=query.get("cursor"),
    )


def _metadata(raw_query: str) -> tuple[str, ...]:
    """Return the pairs that a session is to have; the gateway joins repeated ones by commas."""
    pairs = []
    for name, value in parse_qsl(raw_query, keep_blank_values=True):
        if name != "metadata":
            continue
        if value.find(":") < 1:
            raise InvalidRequest("metadata: should be a key and a value with a colon between them")
        pairs.append(value)
    return tuple(pairs)


def _line(line: Line) -> dict[str, Any]:
    return {
        "sessionId": line.session_id,
        "creationDate": to_rfc3339(line.created_ms),
        "lastInteractionDate": to_rfc3339(line.last_used_ms),
        "summary": line.name,
        "metadata": dict(line.metadata),
        "status": "ended" if line.is_ended else "active",
    }
