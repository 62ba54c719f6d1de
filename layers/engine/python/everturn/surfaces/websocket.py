"""WebSocket frames to use cases, results to frames; no rule lives here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

from everturn.commands.subscribe import FIRST, Subscribe
from everturn.commands.take_input import TakeInput
from everturn.errors import RejectedError, to_http
from everturn.ports.callers import Caller
from everturn.protocol.client_input import InputRequest
from everturn.protocol.frames import (
    AuthenticateFrame,
    InFrame,
    InputFrame,
    PingFrame,
    SubscribeFrame,
    UnsubscribeFrame,
    read_frame,
)
from everturn.protocol.json_text import read_json
from everturn.protocol.limits import WEBSOCKET_INBOUND_FRAME_BYTES, WEBSOCKET_OUTBOUND_BYTES
from everturn.push.envelopes import read_cursor
from everturn.push.outcome import Failed, Gone, PushOutcome, Sent, Throttled, TooLarge
from everturn.rejections import TooLarge as FrameTooLarge
from everturn.surfaces.admission import check_scope
from everturn.surfaces.connections import Connections, Standing
from everturn.surfaces.http_answers import log_failure
from everturn.surfaces.session_routes import accepted

SCOPES: Final[Mapping[str, str]] = {
    "subscribe": "sessions:read",
    "unsubscribe": "",
    "input": "sessions:write",
    "ping": "",
    "authenticate": "",
}
"""What a client token has to carry for each kind of frame."""

TRIES: Final = 5

Post = Callable[[str, bytes], PushOutcome]


@dataclass(frozen=True, slots=True)
class Sockets:
    """The handler of `$connect`, `$default` and `$disconnect`."""

    connections: Connections
    submit: TakeInput
    subscribe: Subscribe
    post: Post
    sleep: Callable[[float], None]
    hang_up: Callable[[str], object]
    """Closes a connection, for example one that did not take a frame: its client comes back."""

    def connect(self, connection_id: str, caller: Caller) -> None:
        """Record a connection that the authorizer let in."""
        self.connections.open(connection_id, caller)

    def disconnect(self, connection_id: str) -> None:
        """Forget a connection."""
        self.subscribe.disconnect(connection_id)

    def frame(self, connection_id: str, text: str) -> None:
        """Do what a frame asks; a refusal is answered with an `error` frame.

        A connection that may do nothing is closed behind that.
        """
        said = _said(text)
        lasts = True
        try:
            standing = self.connections.standing(connection_id)
            lasts = standing.refusal is None
            self._act(connection_id, standing, said)
        except Exception as error:  # noqa: BLE001  # the one place where the table is applied
            log_failure(error)
            _, body = to_http(error)
            self._send(connection_id, {"type": "error", **said.named, **body})
            if not lasts and isinstance(error, RejectedError):
                self.hang_up(connection_id)

    def _act(self, connection_id: str, standing: Standing, said: _Said) -> None:
        is_let_in = standing.may_authenticate and said.authenticates
        if standing.refusal is not None and not is_let_in:
            raise standing.refusal
        if said.refusal is not None:
            raise said.refusal
        self._do(connection_id, standing.caller, read_frame(said.data))

    def _do(self, connection_id: str, caller: Caller, frame: InFrame) -> None:
        check_scope(caller, SCOPES[frame.action])
        match frame:
            case PingFrame(id=frame_id):
                named = {"id": frame_id} if frame_id is not None else {}
                self._send(connection_id, {"type": "pong", **named})
            case SubscribeFrame():
                self.subscribe(
                    caller,
                    connection_id,
                    frame.id,
                    frame.session_id,
                    read_cursor(frame.after) if frame.after else FIRST,
                    frame.turn_id,
                    lambda body: self._send(connection_id, body),
                )
            case UnsubscribeFrame(id=frame_id):
                self.subscribe.end(caller, connection_id, frame_id)
                self._send(connection_id, {"type": "unsubscribed", "id": frame_id})
            case InputFrame():
                request = InputRequest(
                    session_id=frame.session_id, identity=frame.identity, input=frame.input
                )
                body = accepted(self.submit(caller, request))
                self._send(connection_id, {"type": "accepted", "id": frame.id, **body})
            case AuthenticateFrame():
                self._authenticate(connection_id, caller, frame)
            case _:
                assert_never(frame)

    def _authenticate(self, connection_id: str, before: Caller, frame: AuthenticateFrame) -> None:
        caller = self.connections.authenticate(connection_id, before, frame.token)
        self.subscribe.renew(connection_id)
        expires = caller.expires_epoch_s
        until = {} if expires is None else {"expires_at": expires}
        self._send(connection_id, {"type": "authenticated", "id": frame.id, **until})

    def _send(self, connection_id: str, body: dict[str, Any]) -> bool:
        """Send one frame; returns `False` where the connection is gone, or closed for want of it.

        A frame that is left out would leave its client waiting, without a gap that it could see.
        """
        frame = _bytes(body)
        if len(frame) > WEBSOCKET_OUTBOUND_BYTES and "event" in body:
            frame = _bytes(_reference(body))
        for tried in range(TRIES):
            if tried:
                self.sleep(0.1 * 2 ** (tried - 1))
            match self.post(connection_id, frame):
                case Sent():
                    return True
                case Throttled() | Failed():
                    continue
                case Gone():
                    return False
                case TooLarge():
                    break
                case other:
                    assert_never(other)
        self.hang_up(connection_id)
        return False


@dataclass(frozen=True, slots=True)
class _Said:
    """A frame as far as it could be read."""

    data: Any = None
    refusal: RejectedError | None = None
    """Why it could not."""

    @property
    def named(self) -> dict[str, str]:
        """The frame's id, where it has one, as its answers repeat it."""
        given = self.data.get("id") if isinstance(self.data, dict) else None
        return {"id": given} if isinstance(given, str) else {}

    @property
    def authenticates(self) -> bool:
        """Whether it is to say who is there."""
        return isinstance(self.data, dict) and self.data.get("action") == "authenticate"


def _said(text: str) -> _Said:
    if len(text.encode("utf-8", "surrogatepass")) > WEBSOCKET_INBOUND_FRAME_BYTES:
        too_large = FrameTooLarge("The frame is over 32 KB; send a large input over HTTP.")
        return _Said(refusal=too_large)
    try:
        return _Said(read_json(text))
    except RejectedError as error:
        return _Said(refusal=error)


def _reference(body: dict[str, Any]) -> dict[str, Any]:
    """Return what stands for a frame over 128 KB: the event's number, to fetch it by."""
    kept = {name: body[name] for name in ("id", "session_id", "seq", "prev_seq", "cursor")}
    return {"type": "event_ref", **kept, "event_type": body["event"]["payload"]["type"]}


def _bytes(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
