"""HTTP answers of the WebSocket API: refused handshakes and the @connections API. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.responses import JSONResponse

from everturn_local.websocket_events import Handshake


def refusal(status: int) -> JSONResponse:
    """The answer to a handshake that is refused with `status`."""
    messages = {401: "Unauthorized", 403: "Forbidden"}
    return JSONResponse({"message": messages.get(status, "Internal server error")}, status)


def error(status: int, name: str) -> JSONResponse:
    """An error of the @connections API, as boto3 reads it."""
    return JSONResponse({"message": name}, status, headers={"x-amzn-ErrorType": name})


def described(handshake: Handshake, connected_s: float, last_active_s: float) -> JSONResponse:
    """The answer to `GetConnection`; both times in epoch seconds."""

    def text(epoch_s: float) -> str:
        return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    return JSONResponse(
        {
            "connectedAt": text(connected_s),
            "lastActiveAt": text(last_active_s),
            "identity": {
                "sourceIp": handshake.source_ip,
                "userAgent": handshake.header("user-agent"),
            },
        }
    )
