"""The webhook adapter against a well-behaved server: what is sent, what comes back."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from everturn.delivery.deliver import WebhookDecider
from everturn.ports.decider import Answered, Deferred, WorkerAnswer
from everturn.protocol.decision import DecisionResponse
from everturn.protocol.signature import sign_body, verify
from integration.delivery.hook_server import (
    BODY,
    EMPTY,
    NOW,
    Deciders,
    Worker,
    deliver,
    respond,
    stream,
)


def test_a_delivery_carries_the_headers_of_the_protocol_and_a_signature(
    worker: Worker, decider: WebhookDecider
) -> None:
    """Conformance 38: A-8, O-2."""
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
    """Conformance 19: W-8, W-10."""
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
