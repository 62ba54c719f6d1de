"""A worker that acts as a test tells it, and notes what it was sent."""

from __future__ import annotations

import json
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from published import check_question

Act = Callable[["Delivery"], None]


@dataclass(slots=True)
class Delivery:
    """One request to the worker, and how to answer it."""

    request: dict[str, Any]
    headers: dict[str, str]
    handler: BaseHTTPRequestHandler = field(repr=False)
    over: threading.Event = field(repr=False)

    @property
    def tool(self) -> str:
        """The tool that is to run."""
        return str(self.request["trigger"]["name"])

    @property
    def arguments(self) -> Any:
        """What the model wrote, parsed."""
        return json.loads(self.request["trigger"]["arguments"])

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        """Send an answer."""
        self.handler.send_response(status)
        named = {"content-type": "application/json", "content-length": str(len(body))}
        for name, value in (named | {n.replace("_", "-"): v for n, v in headers.items()}).items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(body)


@dataclass(slots=True)
class ScriptedWorker:
    """Plays for each tool one act after another, the last one for ever."""

    url: str
    deliveries: list[Delivery] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    _acts: dict[str, deque[Act]] = field(default_factory=lambda: defaultdict(deque))
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def plays(self, tool: str, *acts: Act) -> None:
        """Say what happens to deliveries of a tool."""
        self._acts[tool].extend(acts)

    def sent(self, tool: str | None = None) -> list[Delivery]:
        """Return the deliveries of a tool, in the order they came."""
        return [one for one in self.deliveries if tool in {None, one.tool}]

    def take(self, delivery: Delivery) -> None:
        """Handle one delivery."""
        with self._guard:
            self.deliveries.append(delivery)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            acts = self._acts[delivery.tool]
            act = acts.popleft() if len(acts) > 1 else acts[0] if acts else result("fine")
        try:
            act(delivery)
        finally:
            with self._guard:
                self.at_once -= 1


@contextmanager
def scripted_worker() -> Iterator[ScriptedWorker]:
    """Serve a worker on this machine while the body runs.

    Raises `Undescribed` at the end if a delivery is not as published.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                worker.take(Delivery(json.loads(body), dict(self.headers), self, worker.over))
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_: object) -> None:
            """A client that breaks off is part of many tests."""

    server = Server(("127.0.0.1", 0), Handler)
    worker = ScriptedWorker(f"http://127.0.0.1:{server.server_port}/decide")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield worker
        for delivery in worker.deliveries:
            check_question(delivery.request)
    finally:
        worker.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def closed_port() -> str:
    """Return the URL of a worker that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/decide"


def result(value: Any, **more: Any) -> Act:
    """Answer with a result; `state` may be among `more`."""
    return answers({"actions": [{"type": "tool.result", "result": value}], **more})


def refuses(error: str, **more: Any) -> Act:
    """Answer with a tool error."""
    return answers(
        {"actions": [{"type": "tool.error", "error": error, "retryable": False, **more}]}
    )


def answers(body: Any) -> Act:
    """Answer with JSON."""
    return lambda delivery: delivery.answer(200, json.dumps(body).encode())


def status(code: int, body: bytes = b"{}", **headers: str) -> Act:
    """Answer with a status."""
    return lambda delivery: delivery.answer(code, body, **headers)


def html(delivery: Delivery) -> None:
    """Answer with a page for people."""
    page = b"<html><body>Sign in to continue: secret-of-the-proxy</body></html>"
    delivery.answer(200, page, content_type="text/html")


def hangs_up(delivery: Delivery) -> None:
    """Break off in the middle of an answer."""
    delivery.handler.send_response(200)
    delivery.handler.send_header("content-type", "application/json")
    delivery.handler.send_header("content-length", "1000")
    delivery.handler.end_headers()
    delivery.handler.wfile.write(b'{"actions":[{"type":"tool.re')
    delivery.handler.wfile.flush()
    delivery.handler.close_connection = True
    delivery.handler.connection.shutdown(socket.SHUT_RDWR)


def after(seconds: float, act: Act) -> Act:
    """Do something later, unless the test is over."""

    def wait(delivery: Delivery) -> None:
        if not delivery.over.wait(seconds):
            act(delivery)

    return wait


def once(event: threading.Event, act: Act) -> Act:
    """Do something once the test sets an event."""

    def wait(delivery: Delivery) -> None:
        event.wait(30)
        act(delivery)

    return wait


def tool(name: str, effect: str | None = "read", **more: Any) -> dict[str, Any]:
    """Return a tool of an agent; its arguments are any object."""
    classified = {"effect": effect} if effect else {}
    return {"name": name, "input": {"type": "object"}, **classified, **more}
