"""What the routes of budgets do: a request to a use case, its result to an answer."""

from __future__ import annotations

from http import HTTPStatus

from everturn.commands.session_budgets import SessionBudgets
from everturn.commands.shared_budgets import SharedBudgets
from everturn.protocol.ids import check_id
from everturn.protocol.limits import MAX_BUDGET_REQUEST_BYTES
from everturn.surfaces.routes import Operation, Request, Result
from everturn.surfaces.session_routes import named_session


def budget_operations(sessions: SessionBudgets, shared: SharedBudgets) -> dict[str, Operation]:
    """Return the operations by name."""
    return _of_sessions(sessions) | _of_tenant(shared) | _of_owners(shared)


def _of_sessions(sessions: SessionBudgets) -> dict[str, Operation]:

    def get_session_budgets(request: Request) -> Result:
        return HTTPStatus.OK, sessions.get(request.caller, named_session(request))

    def put_session_budgets(request: Request) -> Result:
        body = request.body(MAX_BUDGET_REQUEST_BYTES)
        return HTTPStatus.OK, sessions.put(request.caller, named_session(request), body)

    def delete_session_budgets(request: Request) -> Result:
        return HTTPStatus.OK, sessions.clear(request.caller, named_session(request))

    return {
        "get_session_budgets": get_session_budgets,
        "put_session_budgets": put_session_budgets,
        "delete_session_budgets": delete_session_budgets,
    }


def _of_tenant(shared: SharedBudgets) -> dict[str, Operation]:
    def get_tenant_budget(request: Request) -> Result:
        return HTTPStatus.OK, shared.get(request.caller, None)

    def put_tenant_budget(request: Request) -> Result:
        body = request.body(MAX_BUDGET_REQUEST_BYTES)
        return HTTPStatus.OK, shared.put(request.caller, None, body)

    def delete_tenant_budget(request: Request) -> Result:
        return HTTPStatus.OK, shared.delete(request.caller, None)

    return {
        "get_tenant_budget": get_tenant_budget,
        "put_tenant_budget": put_tenant_budget,
        "delete_tenant_budget": delete_tenant_budget,
    }


def _of_owners(shared: SharedBudgets) -> dict[str, Operation]:
    def get_owner_budget(request: Request) -> Result:
        return HTTPStatus.OK, shared.get(request.caller, _named_owner(request))

    def put_owner_budget(request: Request) -> Result:
        body = request.body(MAX_BUDGET_REQUEST_BYTES)
        return HTTPStatus.OK, shared.put(request.caller, _named_owner(request), body)

    def delete_owner_budget(request: Request) -> Result:
        return HTTPStatus.OK, shared.delete(request.caller, _named_owner(request))

    return {
        "get_owner_budget": get_owner_budget,
        "put_owner_budget": put_owner_budget,
        "delete_owner_budget": delete_owner_budget,
    }


def _named_owner(request: Request) -> str:
    """Return the owner of the path. Raises `InvalidId`."""
    owner_id = request.path["owner_id"]
    check_id(owner_id, "owner_id")
    return owner_id
