"""WebSocket frames to use cases, results to frames; no rule lives here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, assert_never

from everturn.commands.submit_input import SubmitInput
from everturn.commands.subscribe import FIRST, Subscribe
from everturn.errors import to_http
from everturn.ports.clock import Clock
from everturn.ports.directory import Directory
from everturn.protocol.client_input import InputRequest
from everturn.protocol.frames import (
    InputFrame,
    PingFrame,
    SubscribeFrame,
    UnsubscribeFrame,
    read_frame,
)
from everturn.protocol.json_text import read_json
from everturn.protocol.limits import WEBSOCKET_INBOUND_FRAME_BYTES, WEBSOCKET_OUTBOUND_BYTES
from everturn.push.envelopes import read_cursor
from everturn.push.outcome import Gone, PushOutcome, Sent, Throttled
from everturn.rejections import TooLarge, Unauthenticated
from everturn.surfaces.http_answers import log_failure
from everturn.surfaces.session_routes import accepted

CONNECTION_TTL_S: Final = 2 * 3600 + 600
"""A connection lives two hours at most. Source: architecture, section 5."""

TRIES: Final = 5

Post = Callable[[str, bytes], PushOutcome]


@dataclass(frozen=True, slots=True)
class Sockets:
    """The handler of `$connect`, `$default` and `$disconnect`."""

    directory: Directory
    submit: SubmitInput
    subscribe: Subscribe
    post: Post
    clock: Clock
    sleep: Callable[[float], None]

    def connect(self, connection_id: str, tenant: str) -> None:
        """Record a connection that the authorizer let in."""
        expires = self.clock.now_ms() // 1000 + CONNECTION_TTL_S
        self.directory.put_connection(connection_id, tenant, expires)

    def disconnect(self, connection_id: str) -> None:
        """Forget a connection."""
        self.subscribe.disconnect(connection_id)

    def frame(self, connection_id: str, text: str) -> None:
        """Do what a frame asks; a refusal is answered with an `error` frame."""
        frame_id: str | None = None
        try:
            data = _read(text)
            given = data.get("id") if isinstance(data, dict) else None
            frame_id = given if isinstance(given, str) else None
            self._do(connection_id, read_frame(data))
        except Exception as error:  # noqa: BLE001  # the one place where the table is applied
            log_failure(error)
            _, body = to_http(error)
            named = {"id": frame_id} if frame_id is not None else {}
            self._send(connection_id, {"type": "error", **named, **body})

    def _do(
        self,
        connection_id: str,
        frame: SubscribeFrame | InputFrame | PingFrame | UnsubscribeFrame,
    ) -> None:
        match frame:
            case PingFrame(id=frame_id):
                named = {"id": frame_id} if frame_id is not None else {}
                self._send(connection_id, {"type": "pong", **named})
            case SubscribeFrame():
                self.subscribe(
                    self._tenant(connection_id),
                    connection_id,
                    frame.id,
                    frame.session_id,
                    read_cursor(frame.after) if frame.after else FIRST,
                    frame.turn_id,
                    lambda body: self._send(connection_id, body),
                )
            case UnsubscribeFrame(id=frame_id):
                self.subscribe.end(self._tenant(connection_id), connection_id, frame_id)
                self._send(connection_id, {"type": "unsubscribed", "id": frame_id})
            case InputFrame():
                request = InputRequest(
                    session_id=frame.session_id, identity=frame.identity, input=frame.input
                )
                body = accepted(self.submit(self._tenant(connection_id), request))
                self._send(connection_id, {"type": "accepted", "id": frame.id, **body})
            case _:
                assert_never(frame)

    def _tenant(self, connection_id: str) -> str:
        connection = self.directory.connection(connection_id)
        if connection is None:
            raise Unauthenticated("The connection is not known any more; open another one.")
        return str(connection["tenant"])

    def _send(self, connection_id: str, body: dict[str, Any]) -> bool:
        """Send one frame; returns `False` once the connection is gone."""
        frame = _bytes(body)
        if len(frame) > WEBSOCKET_OUTBOUND_BYTES and "event" in body:
            frame = _bytes(_reference(body))
        for tried in range(TRIES):
            match self.post(connection_id, frame):
                case Sent():
                    return True
                case Throttled():
                    self.sleep(0.1 * 2**tried)
                case Gone():
                    return False
                case _:
                    return True
        return True


def _read(text: str) -> Any:
    if len(text.encode("utf-8", "surrogatepass")) > WEBSOCKET_INBOUND_FRAME_BYTES:
        raise TooLarge("The frame is over 32 KB; send a large input over HTTP.")
    return read_json(text)


def _reference(body: dict[str, Any]) -> dict[str, Any]:
    """Return what stands for a frame over 128 KB: the event's number, to fetch it by."""
    kept = {name: body[name] for name in ("id", "session_id", "seq", "prev_seq", "cursor")}
    return {"type": "event_ref", **kept, "event_type": body["event"]["payload"]["type"]}


def _bytes(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
