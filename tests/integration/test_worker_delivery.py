"""The webhook adapter against real servers: well-behaved, slow, broken and hostile ones."""

from __future__ import annotations

import gzip
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from everturn.delivery.deliver import WebhookDecider
from everturn.delivery.signature import sign_body, verify
from everturn.delivery.url_guard import Networks
from everturn.ports.decider import Answered, Deferred, DeliveryFailed, WorkerAnswer, WorkerTarget
from everturn.protocol.decision import DecisionResponse

NOW = 1_800_000_000
BODY = '{"session_id":"s1","trigger":{"type":"session.start"},"grüße":1}'.encode()
EMPTY = Answered(DecisionResponse())
BROKEN_OFF = DeliveryFailed(
    "the worker's answer broke off or is not HTTP", "connection_failed", True, "unknown"
)

Act = Callable[[BaseHTTPRequestHandler], None]


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


Deciders = Callable[..., WebhookDecider]


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


def test_a_delivery_carries_the_headers_of_the_protocol_and_a_signature(
    worker: Worker, decider: WebhookDecider
) -> None:
    worker.act = respond()

    answer = deliver(decider, worker, secret="whsec")

    [(path, headers, body)] = worker.requests
    timestamp, signature = headers.pop("X-Everturn-Timestamp"), headers.pop("X-Everturn-Signature")
    traceparent = headers.pop("traceparent")
    assert (answer, path, body) == (EMPTY, "/decide?tier=1", BODY)
    assert headers == {
        "Host": f"127.0.0.1:{worker.server.server_port}",
        "Content-Type": "application/json",
        "Content-Length": str(len(BODY)),
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "everturn",
        "X-Decision-Id": "dec-1",
        "X-Decision-Attempt": "2",
        "Idempotency-Key": "key-1",
    }
    assert verify(b"whsec", BODY, signature=signature, timestamp=timestamp, now_epoch_s=NOW)
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", traceparent)


def test_without_a_secret_nothing_is_signed(worker: Worker, decider: WebhookDecider) -> None:
    worker.act = respond()

    deliver(decider, worker)

    assert not any(name.startswith("X-Everturn") for name in worker.requests[0][1])


def test_a_further_header_may_sign_the_bare_body(worker: Worker, deciders: Deciders) -> None:
    decider = deciders("any", body_signature_header="X-Other-Signature")
    worker.act = respond()

    deliver(decider, worker, secret="whsec")

    assert worker.requests[0][1]["X-Other-Signature"] == sign_body(b"whsec", BODY)


def test_deliveries_one_after_another_share_a_connection(
    worker: Worker, decider: WebhookDecider
) -> None:
    worker.act = respond()

    answers = [deliver(decider, worker) for _ in range(3)]

    assert answers == [EMPTY] * 3
    assert len(set(worker.connections)) == 1


def test_deliveries_at_once_do_not_wait_for_each_other(
    worker: Worker, decider: WebhookDecider
) -> None:
    together = threading.Barrier(5, timeout=5)
    answers: list[WorkerAnswer] = []

    def act(handler: BaseHTTPRequestHandler) -> None:
        together.wait()
        respond()(handler)

    worker.act = act
    threads = [
        threading.Thread(target=lambda: answers.append(deliver(decider, worker))) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)

    assert answers == [EMPTY] * 5


def test_a_streamed_answer_forwards_its_deltas_as_they_come(
    worker: Worker, decider: WebhookDecider
) -> None:
    seen = threading.Event()
    deltas: list[str] = []

    def act(handler: BaseHTTPRequestHandler) -> None:
        first = b': hi\r\n\r\nevent: llm.token.delta\r\ndata: {"text":"gr\xc3'
        rest = b'\xbc"}\r\n\r\n'
        last = b'event: decision.result\r\ndata: {"state":\r\ndata: 1}\r\n\r\n'
        stream(first, rest, ends=False)(handler)
        assert seen.wait(5)
        handler.wfile.write(f"{len(last):x}\r\n".encode() + last + b"\r\n0\r\n\r\n")

    def on_delta(data: str) -> None:
        deltas.append(data)
        seen.set()

    worker.act = act

    answer = deliver(decider, worker, on_delta=on_delta)

    assert (answer, deltas) == (Answered(DecisionResponse(state=1)), ['{"text":"grü"}'])


def test_what_the_receiver_of_deltas_raises_passes_through(
    worker: Worker, decider: WebhookDecider
) -> None:
    worker.act = stream(b"event: llm.token.delta\ndata: {}\n\n")

    def on_delta(_data: str) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        deliver(decider, worker, on_delta=on_delta)


def test_202_with_nothing_in_it_is_a_promise(worker: Worker, decider: WebhookDecider) -> None:
    worker.act = respond(202, b"")

    assert deliver(decider, worker) == Deferred()


@pytest.mark.parametrize(
    ("act", "failure"),
    [
        pytest.param(
            respond(200, b"<html>", Content_Type="text/html"),
            DeliveryFailed(
                "the worker answered text/html instead of JSON",
                "invalid_json",
                True,
                "unknown",
                200,
                invalid=True,
            ),
            id="html",
        ),
        pytest.param(
            respond(302, Location="http://127.0.0.1:1/"),
            DeliveryFailed("the worker answered 302", "redirect_refused", True, "unknown", 302),
            id="redirect",
        ),
        pytest.param(
            respond(429, Retry_After="9"),
            DeliveryFailed("the worker answered 429", "rate_limited", True, "no", 429, 9.0),
            id="throttled",
        ),
        pytest.param(
            respond(503),
            DeliveryFailed("the worker answered 503", "unavailable", True, "no", 503),
            id="unavailable",
        ),
        pytest.param(
            respond(500, b"secret"),
            DeliveryFailed("the worker answered 500", "http_status", True, "unknown", 500),
            id="server error",
        ),
        pytest.param(
            stream(b"event: llm.token.delta\ndata: {}\n\n"),
            DeliveryFailed(
                "the stream ended without a final frame", "stream_ended", True, "unknown", 200
            ),
            id="stream without an end",
        ),
        pytest.param(
            stream(b"event: decision.result\ndata: {}\n", ends=False), BROKEN_OFF, id="cut stream"
        ),
        pytest.param(
            stream(b"{", ends=False, content_type="application/json"), BROKEN_OFF, id="cut JSON"
        ),
        pytest.param(
            respond(200, gzip.compress(b" " * 50_000_000, 1), Content_Encoding="gzip"),
            DeliveryFailed(
                "the answer is larger than it may be",
                "too_large",
                False,
                "unknown",
                200,
                invalid=True,
            ),
            id="gzip bomb",
        ),
        pytest.param(
            respond(200, b" " * 9_000_000),
            DeliveryFailed(
                "the answer is larger than it may be",
                "too_large",
                False,
                "unknown",
                200,
                invalid=True,
            ),
            id="huge",
        ),
        pytest.param(
            stream(b"data: " + b"x" * 2_000_000),
            DeliveryFailed(
                "a frame of the answer is larger than it may be",
                "too_large",
                False,
                "unknown",
                200,
                invalid=True,
            ),
            id="huge frame",
        ),
        pytest.param(
            lambda handler: handler.wfile.write(b"secret\r\n\r\n"), BROKEN_OFF, id="no HTTP"
        ),
        pytest.param(
            lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000),
            BROKEN_OFF,
            id="endless headers",
        ),
        pytest.param(
            lambda handler: setattr(handler, "close_connection", True),
            BROKEN_OFF,
            id="closes without an answer",
        ),
    ],
)
def test_a_failed_delivery_is_a_fact_and_says_whether_it_may_have_started(
    worker: Worker, decider: WebhookDecider, act: Act, failure: DeliveryFailed
) -> None:
    worker.act = act

    answer = deliver(decider, worker)
    worker.act = respond()

    assert answer == failure
    assert deliver(decider, worker) == EMPTY


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


@pytest.mark.parametrize("acts", [hang, drip])
def test_the_time_limit_spans_the_whole_delivery(
    worker: Worker, decider: WebhookDecider, acts: Callable[[Worker], Act]
) -> None:
    worker.act = acts(worker)

    begun = monotonic()
    answer = deliver(decider, worker, timeout_s=0.3)

    assert answer == DeliveryFailed(
        "the worker did not answer in time", "deadline_exceeded", True, "unknown"
    )
    assert 0.3 <= monotonic() - begun < 3


@pytest.mark.parametrize("acts", [hang, drip])
def test_a_cancelled_delivery_ends_at_once(
    worker: Worker, decider: WebhookDecider, acts: Callable[[Worker], Act]
) -> None:
    begun = monotonic()
    worker.act = acts(worker)

    answer = deliver(decider, worker, cancelled=lambda: bool(worker.requests))

    assert answer == DeliveryFailed("the delivery was cancelled", "cancelled", False, "unknown")
    assert monotonic() - begun < 3


def test_a_delivery_cancelled_before_it_began_sends_nothing(
    worker: Worker, decider: WebhookDecider
) -> None:
    answer = deliver(decider, worker, cancelled=lambda: True)

    assert answer == DeliveryFailed("the delivery was cancelled", "cancelled", False, "no")
    assert worker.requests == []


def test_a_worker_that_takes_nothing_in_runs_into_the_time_limit(decider: WebhookDecider) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"

        answer = deliver(decider, url, timeout_s=0.3, body=b" " * 20_000_000)

    assert answer == DeliveryFailed(
        "the worker did not answer in time", "deadline_exceeded", True, "unknown"
    )


def test_a_refused_connection_has_started_nothing(decider: WebhookDecider) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"

    answer = deliver(decider, url)

    assert answer == DeliveryFailed(
        "the worker refused the connection", "connection_failed", True, "no"
    )


def test_a_name_that_does_not_resolve_has_started_nothing(deciders: Deciders) -> None:
    def resolve(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    answer = deliver(deciders("public", resolve=resolve), "https://worker.test/")

    assert answer == DeliveryFailed(
        "the worker's host name does not resolve", "connection_failed", True, "no"
    )


def test_a_name_server_that_hangs_runs_into_the_time_limit(
    worker: Worker, deciders: Deciders
) -> None:
    def resolve(_host: str, _port: int) -> list[str]:
        worker.over.wait(5)
        return []

    answer = deliver(deciders("public", resolve=resolve), "https://worker.test/", timeout_s=0.2)

    assert answer == DeliveryFailed(
        "the worker did not answer in time", "deadline_exceeded", True, "no"
    )


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["::ffff:127.0.0.1", "10.0.0.1"], []])
def test_a_public_name_with_an_inner_address_is_never_connected_to(
    worker: Worker, addresses: list[str], deciders: Deciders
) -> None:
    decider = deciders("public", resolve=lambda _host, _port: addresses)

    answer = deliver(decider, f"https://worker.test:{worker.server.server_port}/")

    assert answer == DeliveryFailed(
        "the worker's URL is refused: the host has no address that may be called",
        "url_refused",
        False,
        "no",
    )
    assert worker.requests == []


def test_a_refused_url_is_not_even_resolved(decider: WebhookDecider) -> None:
    answer = deliver(decider, "https://user:secret@worker.test/")

    assert answer == DeliveryFailed(
        "the worker's URL is refused: credentials must not stand in the URL",
        "url_refused",
        False,
        "no",
    )


def test_a_name_is_resolved_once_and_the_checked_address_is_used(
    worker: Worker, deciders: Deciders
) -> None:
    asked: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["169.254.169.254", "127.0.0.1"]

    worker.act = respond()
    url = f"http://worker.test:{worker.server.server_port}/"

    answer = deliver(deciders("any", resolve=resolve), url)

    assert (answer, asked) == (EMPTY, ["worker.test"])
    assert worker.requests[0][1]["Host"] == f"worker.test:{worker.server.server_port}"


def test_the_next_address_is_tried_where_the_first_refuses(
    worker: Worker, deciders: Deciders
) -> None:
    worker.act = respond()
    decider = deciders("any", resolve=lambda _host, _port: ["127.0.0.2", "127.0.0.1"])

    answer = deliver(decider, f"http://worker.test:{worker.server.server_port}/")

    assert answer == EMPTY


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate of worker.test that nobody vouches for, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "worker.test")])
    today = datetime.now(tz=UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("worker.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "worker.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


def encrypt(worker: Worker, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    worker.server.socket = context.wrap_socket(
        worker.server.socket, server_side=True, do_handshake_on_connect=False
    )


def test_the_certificate_is_checked_against_the_name_not_the_address(
    worker: Worker, certificate: Path, deciders: Deciders
) -> None:
    encrypt(worker, certificate)
    worker.act = respond(200, json.dumps({"state": "x" * 200_000}).encode())
    trusting = ssl.create_default_context(cafile=str(certificate))
    port = worker.server.server_port

    making = [
        deciders("any", resolve=lambda _host, _port: ["127.0.0.1"], ssl_context=context)
        for context in (trusting, None)
    ]
    answers = [
        deliver(making[0], f"https://worker.test:{port}/"),
        deliver(making[0], f"https://other.test:{port}/"),
        deliver(making[1], f"https://worker.test:{port}/"),
    ]

    refused = DeliveryFailed(
        "the worker's certificate is not accepted", "connection_failed", True, "no"
    )
    assert answers == [Answered(DecisionResponse(state="x" * 200_000)), refused, refused]
