"""An A2A peer over HTTP that echoes; clients under test speak to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class _Peer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        port = int(self.headers["host"].rpartition(":")[2])
        self._answer(
            {
                "protocolVersion": "0.3.0",
                "name": "Acme HR",
                "description": "Answers questions about leave.",
                "url": f"http://127.0.0.1:{port}/a2a",
                "skills": [{"id": "leave", "name": "Leave", "description": "Counts days."}],
            }
        )

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = given["params"]["message"]["parts"][0]["text"]
        part = {"kind": "text", "text": f"peer heard: {asked}"}
        message = {"kind": "message", "role": "agent", "messageId": "m1", "parts": [part]}
        self._answer({"jsonrpc": "2.0", "id": given["id"], "result": message})

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def a2a_peer() -> Iterator[str]:
    """Give the URL of the peer's card."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Peer)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/.well-known/agent-card.json"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
