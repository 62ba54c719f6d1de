"""What the route of models does: a request to a use case, its result to an answer."""

from __future__ import annotations

from http import HTTPStatus

from everturn.commands.list_models import ListModels
from everturn.surfaces.routes import Operation, Request, Result


def model_operations(models: ListModels) -> dict[str, Operation]:
    """Return the operations on models by name."""

    def list_models(request: Request) -> Result:
        return HTTPStatus.OK, models(request.caller.tenant)

    return {"list_models": list_models}
