"""What a load balancer or a deploy asks: whether the function starts and answers."""

from __future__ import annotations

from http import HTTPStatus

from everturn.surfaces.routes import Operation, Request, Result


def health_operations() -> dict[str, Operation]:
    """Return the operation by name."""

    def health(_request: Request) -> Result:
        return HTTPStatus.OK, {"ok": True}

    return {"health": health}
