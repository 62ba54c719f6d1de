"""What the routes of agents do: a request to a use case, its result to an answer; no rules."""

from __future__ import annotations

from http import HTTPStatus

from everturn.commands.agents import DEFAULT_AGENTS, PAGE_AGENTS, Agents
from everturn.protocol.ids import is_id
from everturn.protocol.limits import MAX_AGENT_BYTES
from everturn.rejections import InvalidId, UnknownAgent
from everturn.surfaces.http_answers import read_int
from everturn.surfaces.routes import Operation, Request, Result


def agent_operations(agents: Agents) -> dict[str, Operation]:
    """Return the operations on agents by name."""

    def put_agent(request: Request) -> Result:
        agent_id = request.path["agent_id"]
        if not is_id(agent_id):
            raise InvalidId("The agent's id has 1 to 200 characters of A-Z a-z 0-9 . _ : @ -")
        written = agents.put(request.caller.tenant, agent_id, request.body(MAX_AGENT_BYTES))
        return (HTTPStatus.CREATED if written.created else HTTPStatus.OK), written.agent

    def list_agents(request: Request) -> Result:
        limit = read_int(request.query.get("limit"), "limit", minimum=1, maximum=PAGE_AGENTS)
        cursor = request.query.get("cursor")
        return HTTPStatus.OK, agents.list(request.caller.tenant, limit or DEFAULT_AGENTS, cursor)

    def get_agent(request: Request) -> Result:
        return HTTPStatus.OK, agents.get(request.caller.tenant, _named(request))

    def delete_agent(request: Request) -> Result:
        agents.delete(request.caller.tenant, _named(request))
        return HTTPStatus.OK, {"ok": True}

    return {
        "list_agents": list_agents,
        "put_agent": put_agent,
        "get_agent": get_agent,
        "delete_agent": delete_agent,
    }


def _named(request: Request) -> str:
    agent_id = request.path["agent_id"]
    if not is_id(agent_id):
        raise UnknownAgent("There is no such agent.")
    return agent_id
