"""API Gateway's WebSocket limits, and a server protocol that closes on large frames."""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

FRAME_MAX_BYTES = 32 * 1024
MESSAGE_MAX_BYTES = 128 * 1024
IDLE_TIMEOUT_S = 600.0
CONNECTION_MAX_S = 7200.0
ROUTE_TIMEOUT_S = 29.0
"""All five: Amazon API Gateway Developer Guide, "Quotas for WebSocket APIs"."""

TOO_BIG = 1009
GOING_AWAY = 1001


class FrameLimitProtocol(WebSocketsSansIOProtocol):
    """uvicorn's sans-I/O protocol, closing with 1009 on a frame over 32 KB.

    Messages over 128 KB are closed by the same code through uvicorn's `ws_max_size`.
    """

    def handle_text(self, event: Frame) -> None:
        """Take a text frame."""
        if self._fits(event):
            super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        """Take a binary frame."""
        if self._fits(event):
            super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        """Take a continuation frame."""
        if self._fits(event):
            super().handle_cont(event)

    def _fits(self, event: Frame) -> bool:
        if len(event.data) <= FRAME_MAX_BYTES:
            return True
        if self.conn.close_sent is None:
            self.conn.fail(TOO_BIG, "frame over 32 KB")
            self.handle_parser_exception()
        return False
