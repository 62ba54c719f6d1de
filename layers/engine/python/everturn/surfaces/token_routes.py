"""What the route of client tokens does: a request to a use case, its result to an answer."""

from __future__ import annotations

from http import HTTPStatus

from everturn.commands.mint_token import MintToken
from everturn.protocol.limits import MAX_TOKEN_REQUEST_BYTES
from everturn.surfaces.routes import Operation, Request, Result


def token_operations(mint: MintToken) -> dict[str, Operation]:
    """Return the operation by name."""

    def create_client_token(request: Request) -> Result:
        return HTTPStatus.CREATED, mint(request.caller, request.body(MAX_TOKEN_REQUEST_BYTES))

    return {"create_client_token": create_client_token}
