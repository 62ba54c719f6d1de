"""What the OAuth routes do: a form to a use case, its result to an answer."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from everturn.commands.oauth import OAuth
from everturn.ports.callers import Caller
from everturn.protocol.client_token import SCOPES
from everturn.protocol.limits import MAX_OAUTH_REQUEST_BYTES
from everturn.protocol.oauth import ClientProof, Form, read_form, read_proof
from everturn.rejections import InvalidJson, InvalidRequest, TooLarge
from everturn.surfaces.callers import headers_of
from everturn.surfaces.http_answers import read_bytes
from everturn.surfaces.routes import Operation, Request, Result


def oauth_operations(oauth: OAuth) -> dict[str, Operation]:
    """Return the operations by name."""

    def oauth_token(request: Request) -> Result:
        return HTTPStatus.OK, oauth.token(*_asked(request))

    def oauth_revoke(request: Request) -> Result:
        oauth.revoke(*_asked(request))
        return HTTPStatus.OK, {"ok": True}

    def get_userinfo(request: Request) -> Result:
        return HTTPStatus.OK, _about(request.caller)

    return {
        "oauth_token": oauth_token,
        "oauth_revoke": oauth_revoke,
        "get_userinfo": get_userinfo,
    }


def _asked(request: Request) -> tuple[ClientProof, Form]:
    """Return who asks, and for what. Raises `InvalidRequest`, `InvalidClient`."""
    headers = headers_of(request.event)
    try:
        body = read_bytes(request.event, MAX_OAUTH_REQUEST_BYTES)
    except (InvalidJson, TooLarge) as error:  # no codes of RFC 6749
        raise InvalidRequest(error.message) from None
    form = read_form(headers.get("content-type", ""), body)
    return read_proof(headers.get("authorization"), form), form


def _about(caller: Caller) -> dict[str, Any]:
    scopes = caller.scopes if caller.is_frontend else SCOPES
    about = {
        "sub": caller.key_name if caller.owner is None else caller.owner.id,
        "kind": "client_token" if caller.is_frontend else "api_key",
        "workspace": {"id": caller.tenant, "slug": caller.tenant},
        "scopes": list(scopes),
        "scope": " ".join(scopes),
        "expires_at": caller.expires_epoch_s,
    }
    return {name: value for name, value in about.items() if value is not None}
