"""A worker's server and what delivers to it, for each test anew."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from everturn.delivery.deliver import WebhookDecider
from everturn.outbound.url_guard import Networks
from integration.delivery.hook_server import NOW, Deciders, Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.requests.append((self.path, dict(self.headers), body))
            made.connections.append(self.client_address)
            assert made.act is not None
            try:
                made.act(self)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that breaks off is part of many tests."""

    server = Server(("127.0.0.1", 0), Handler)
    made = Worker(url=f"http://127.0.0.1:{server.server_port}/decide?tier=1", server=server)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def deciders() -> Iterator[Deciders]:
    """Makes deciders, and closes them at the end."""
    made: list[WebhookDecider] = []

    def make(networks: Networks, **options: Any) -> WebhookDecider:
        made.append(WebhookDecider(networks, now_epoch_s=lambda: float(NOW), **options))
        return made[-1]

    yield make
    for decider in made:
        decider.close()


@pytest.fixture
def decider(deciders: Deciders) -> WebhookDecider:
    return deciders("any")
