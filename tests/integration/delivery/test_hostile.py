"""Webhooks that lead elsewhere, never end, or are more than they look."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from everturn.delivery.deliver import WebhookDecider
from everturn.ports.decider import DeliveryFailed
from everturn.protocol.limits import MAX_DELIVERY_BYTES
from integration.delivery.hook_server import EMPTY, Act, Deciders, Worker, deliver, respond

TOO_LARGE = DeliveryFailed(
    "the answer is larger than it may be", "too_large", False, "unknown", 200, invalid=True
)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_no_redirect_is_followed(worker: Worker, decider: WebhookDecider, status: int) -> None:
    elsewhere = f"http://127.0.0.1:{worker.server.server_port}/elsewhere"
    worker.act = respond(status, b"", Location=elsewhere)

    answer = deliver(decider, worker)

    assert answer == DeliveryFailed(
        f"the worker answered {status}", "redirect_refused", True, "unknown", status
    )
    assert [path for path, _, _ in worker.requests] == ["/decide?tier=1"]


def endless(worker: Worker, content_type: str, piece: bytes, encoding: str = "identity") -> Act:
    """Answer the same piece for ever, as fast as it is taken."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Encoding", encoding)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while not worker.over.is_set():
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    return act


DELTA = b'event: llm.token.delta\ndata: {"text":"' + b"x" * 60_000 + b'"}\n\n'
COMMENTS = (b": " + b"x" * 1_000 + b"\n") * 60


@pytest.mark.parametrize(
    ("content_type", "piece", "encoding"),
    [
        ("application/json", b" " * 65_536, "identity"),
        ("text/event-stream", DELTA, "identity"),
        ("text/event-stream", COMMENTS, "identity"),
        ("application/json", gzip.compress(b" " * 10_000_000), "gzip"),
        ("text/event-stream", gzip.compress(COMMENTS * 100), "gzip"),
    ],
    ids=["json", "deltas", "comments", "packed json", "packed comments"],
)
def test_an_answer_that_never_ends_is_given_up_at_its_limit(
    worker: Worker, decider: WebhookDecider, content_type: str, piece: bytes, encoding: str
) -> None:
    worker.act = endless(worker, content_type, piece, encoding)

    answer = deliver(decider, worker, timeout_s=20)

    assert answer == TOO_LARGE


@pytest.mark.parametrize("addresses", [["169.254.169.254"], ["0.0.0.0"], ["::ffff:127.0.0.1"]])  # noqa: S104
def test_a_name_that_leads_elsewhere_the_second_time_is_checked_the_second_time(
    worker: Worker, deciders: Deciders, addresses: list[str]
) -> None:
    answers: Iterator[list[str]] = iter([["127.0.0.1"], addresses])
    decider = deciders("any", resolve=lambda _host, _port: next(answers))
    worker.act = respond(200, b"{}", Connection="close")
    url = f"http://worker.test:{worker.server.server_port}/"

    told = [deliver(decider, url), deliver(decider, url)]

    refused = "the worker's URL is refused: the host has no address that may be called"
    assert told == [EMPTY, DeliveryFailed(refused, "url_refused", False, "no")]
    assert len(worker.requests) == 1


def test_a_request_over_the_limit_is_not_sent(worker: Worker, decider: WebhookDecider) -> None:
    answer = deliver(decider, worker, body=b" " * (MAX_DELIVERY_BYTES + 1))

    assert answer == DeliveryFailed(
        f"the request is over the {MAX_DELIVERY_BYTES} bytes that a worker is sent",
        "too_large",
        False,
        "no",
    )
    assert worker.requests == []
