"""A server that acts as told, what it can be told, and how a test delivers to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from everturn.delivery.deliver import WebhookDecider
from everturn.ports.decider import Answered, WorkerAnswer, WorkerTarget
from everturn.protocol.decision import DecisionResponse

NOW = 1_800_000_000
BODY = '{"session_id":"s1","trigger":{"type":"session.start"},"grüße":1}'.encode()
EMPTY = Answered(DecisionResponse())

Act = Callable[[BaseHTTPRequestHandler], None]

Deciders = Callable[..., WebhookDecider]
"""Makes a decider of networks and options."""


@dataclass
class Worker:
    """A server that acts as told and notes what it was sent."""

    url: str
    server: ThreadingHTTPServer
    act: Act | None = None
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    connections: list[Any] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    """Set at the end of the test: whoever hangs stops hanging."""


def deliver(
    decider: WebhookDecider,
    target: Worker | str,
    *,
    secret: str = "",
    timeout_s: float = 5.0,
    cancelled: Callable[[], bool] = lambda: False,
    on_delta: Callable[[str], None] | None = None,
    body: bytes = BODY,
) -> WorkerAnswer:
    return decider.deliver(
        WorkerTarget(target if isinstance(target, str) else target.url, secret),
        body,
        decision_id="dec-1",
        attempt=2,
        timeout_s=timeout_s,
        idempotency_key="key-1",
        cancelled=cancelled,
        on_delta=on_delta,
    )


def respond(status: int = 200, body: bytes = b"{}", **headers: str) -> Act:
    """Answer at once; header names are written with underscores."""
    named = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in named.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def stream(*pieces: bytes, ends: bool = True, content_type: str = "text/event-stream") -> Act:
    """Answer in chunks; without `ends` the connection closes in the middle."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            handler.wfile.flush()
        if ends:
            handler.wfile.write(b"0\r\n\r\n")
        else:
            handler.close_connection = True

    return act


def hang(worker: Worker) -> Act:
    def act(_handler: BaseHTTPRequestHandler) -> None:
        worker.over.wait(5)

    return act


def drip(worker: Worker) -> Act:
    """Send a byte every 20 ms: no single read ever takes long."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        while not worker.over.wait(0.02):
            handler.wfile.write(b" ")

    return act
