"""A worker that decides, for tests: a function from a request to what it answers, over a socket.

What it is asked is held against the published descriptions.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from published import Undescribed, check_question
from transcripts.ledger import LEDGER

Answer = dict[str, Any] | list[tuple[str, Any]] | bytes | None
"""A decision; frames of a stream, as `(event, data)`; a body as it is; or nothing: `202`, the
answer comes later."""


def echo(request: dict[str, Any]) -> Answer:
    """Answer what is proposed."""
    proposed: dict[str, Any] = request["proposed"]
    return proposed


@dataclass(slots=True)
class DecidingWorker:
    """Answers as it is told at the moment, and notes what it was asked."""

    url: str
    answer: Callable[[dict[str, Any]], Answer] = echo
    asked: list[dict[str, Any]] = field(default_factory=list)
    undescribed: list[Undescribed] = field(default_factory=list)
    """What it was asked and no description has."""

    def triggers(self) -> list[str]:
        """Return the types of the questions so far."""
        return [request["trigger"]["type"] for request in self.asked]

    def last(self, trigger: str) -> dict[str, Any]:
        """Return the newest question of a type."""
        return [one for one in self.asked if one["trigger"]["type"] == trigger][-1]


@contextmanager
def deciding_worker() -> Iterator[DecidingWorker]:
    """Serve such a worker on this machine while the body runs.

    Raises `Undescribed` at the end if a question is not as published.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            worker.asked.append(request)
            LEDGER.note_question(request)
            try:
                check_question(request)
            except Undescribed as wrong:
                worker.undescribed.append(wrong)
            self._send(worker.answer(request))

        def _send(self, answer: Answer) -> None:
            kind, body = "application/json", b""
            if isinstance(answer, list):
                kind = "text/event-stream"
                frames = [f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in answer]
                body = "".join(frames).encode()
            elif isinstance(answer, bytes):
                body = answer
            elif answer is not None:
                body = json.dumps(answer).encode()
            self.send_response(202 if answer is None else 200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    worker = DecidingWorker(f"http://127.0.0.1:{server.server_port}/decide")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield worker
        for wrong in worker.undescribed:
            raise wrong
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
