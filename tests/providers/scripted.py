"""A provider on loopback that answers byte for byte as a test says, and notes what it was asked.

It knows HTTP/1.1 and no provider: what the bytes mean is the test's.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any, Final, NoReturn, cast

PATIENCE_S: Final = 10.0
"""How long anybody waits for what has to come."""

GLANCE_S: Final = 0.02
"""How often one who waits looks whether the client is still there."""

RESET: Final = struct.pack("ii", 1, 0)
"""Linger for no time: closing sends RST."""

Piece = bytes | threading.Event
"""Bytes to send as one chunk, or what to wait for before the next."""


class Ending(Enum):
    """What happens after the last piece."""

    COMPLETE = auto()
    """The last chunk; the connection is kept."""

    CLOSED = auto()
    """The connection is closed in the middle of the body."""

    RESET = auto()
    """The same by RST."""

    SILENT = auto()
    """Nothing more, until the client hangs up or the test is over."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    """With its query."""

    headers: Mapping[str, str]
    """By lower-case names."""

    body: bytes
    hung_up: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set when the client closed the connection before its answer was complete."""

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent: each piece of the body as one chunk, just as it is split."""

    pieces: tuple[Piece, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"content-type": "text/event-stream"}
    )
    ending: Ending = Ending.COMPLETE


def json_answer(status: int, body: Any, **headers: str) -> Answer:
    """Return an answer in JSON; header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    described = {"content-type": "application/json", **named}
    return Answer((json.dumps(body).encode(),), status, described)


class ScriptedProvider:
    """Gives one answer after another; made by `scripted_provider`."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        """Every request so far."""

        self.connections = 0
        """How many were opened so far."""

        self.over = threading.Event()
        self.unexpected: list[Asked] = []
        self._answers: deque[Answer] = deque()
        self._arrived: Queue[Asked] = Queue()
        self._guard = threading.Lock()
        self._server = _Server(self)

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def plays(self, *answers: Answer) -> None:
        """Say what the next requests are answered."""
        with self._guard:
            self._answers.extend(answers)

    def next_asked(self) -> Asked:
        """Return the next request, of those not returned yet; waits until it has come in full."""
        try:
            return self._arrived.get(timeout=PATIENCE_S)
        except Empty:
            raise AssertionError(f"no request came within {PATIENCE_S} s") from None

    def take(self, asked: Asked) -> Answer:
        """Return the answer to a request, in the order of the script."""
        with self._guard:
            self.asked.append(asked)
            self._arrived.put(asked)
            if self._answers:
                return self._answers.popleft()
            self.unexpected.append(asked)
        return Answer((b"the script has ended",), 418, {"content-type": "text/plain"})

    def run(self) -> None:
        """Serve until `stop`."""
        self._server.serve_forever(poll_interval=GLANCE_S)

    def stop(self) -> None:
        """Let go of whoever waits, and stop listening."""
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def check(self) -> None:
        """Raise `AssertionError` if a request was not in the script, or an answer not asked for."""
        assert not self.unexpected, f"not in the script: {[one.path for one in self.unexpected]}"
        assert not self._answers, f"never asked for: {len(self._answers)} answers"


@contextmanager
def scripted_provider(*answers: Answer) -> Iterator[ScriptedProvider]:
    """Serve `answers` in their order while the body runs; at its end the script has to be played.

    Raises `AssertionError` if answers are left over or more requests came.
    """
    provider = ScriptedProvider()
    provider.plays(*answers)
    thread = threading.Thread(target=provider.run, name="scripted-provider", daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.stop()
        thread.join(PATIENCE_S)
    provider.check()


class _Gone(Exception):
    """The client hung up, or the test is over."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, provider: ScriptedProvider) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.provider = provider

    def process_request(self, request: Any, client_address: Any) -> None:
        """Count the connection and serve it."""
        self.provider.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection; one that is to be reset without the FIN that would come first."""
        if request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, len(RESET)) == RESET:
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that leave are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer as the script says."""
        self.do_POST()

    def do_POST(self) -> None:
        """Answer as the script says."""
        provider = cast(_Server, self.server).provider
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        asked = Asked(self.command, self.path, headers, body)
        answer = provider.take(asked)
        try:
            self._send(answer, provider.over)
        except (_Gone, OSError):
            self.close_connection = True
            if not provider.over.is_set():
                asked.hung_up.set()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def _send(self, answer: Answer, over: threading.Event) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in answer.pieces:
            match piece:
                case threading.Event():
                    self._wait(piece, over)
                case bytes():
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        match answer.ending:
            case Ending.COMPLETE:
                self.wfile.write(b"0\r\n\r\n")
            case Ending.CLOSED:
                self.close_connection = True
            case Ending.RESET:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                self.close_connection = True
            case Ending.SILENT:
                self._wait_for_ever(over)

    def _wait(self, event: threading.Event, over: threading.Event) -> None:
        while not event.wait(GLANCE_S):
            if over.is_set() or self._hung_up():
                raise _Gone

    def _wait_for_ever(self, over: threading.Event) -> NoReturn:
        self._wait(threading.Event(), over)
        raise AssertionError("nobody sets this")

    def _hung_up(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        with suppress(BlockingIOError):
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        return False
