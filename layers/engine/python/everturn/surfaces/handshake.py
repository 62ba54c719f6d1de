"""What the handshake of a WebSocket says: a credential in one of four places, and a subprotocol.

Browsers can set no header but that of the subprotocols, hence the places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from everturn.ports.callers import NOBODY, Caller
from everturn.surfaces.callers import Callers, credential_in, headers_of

SUBPROTOCOL: Final = "everturn"
BEARER: Final = f"{SUBPROTOCOL}.bearer."
"""Begins the subprotocol that carries a credential; it is never the one that is chosen."""

IN_QUERY: Final = ("access_token", "api_key")


def caller_of(callers: Callers, event: Mapping[str, Any]) -> Caller:
    """Return who opens a connection; nobody where the handshake has no credential at all.

    Raises `Unauthenticated` for one that is not accepted.
    """
    credential = next(_credentials(event), None)
    return NOBODY if credential is None else callers.by_credential(credential)


def _credentials(event: Mapping[str, Any]) -> Iterator[str]:
    """Yield the credentials of an API Gateway event, the one that counts first."""
    in_headers = credential_in(headers_of(event))
    if in_headers is not None:
        yield in_headers
    for offered in _offered(event):
        if offered.startswith(BEARER):
            yield offered.removeprefix(BEARER)
    query = event.get("queryStringParameters") or {}
    yield from (query[name] for name in IN_QUERY if name in query)


def answer_to(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer that opens the connection, our subprotocol chosen where it was offered.

    Source: API Gateway, "WebSocket APIs that require a WebSocket subprotocol".
    """
    if SUBPROTOCOL not in _offered(event):
        return {"statusCode": 200}
    return {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": SUBPROTOCOL}}


def _offered(event: Mapping[str, Any]) -> list[str]:
    """Return the subprotocols that the client offers, in its order."""
    return [one.strip() for one in headers_of(event).get("sec-websocket-protocol", "").split(",")]
