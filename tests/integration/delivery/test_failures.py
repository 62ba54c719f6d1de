"""The webhook adapter against broken and hostile servers, and against time."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable
from time import monotonic

import pytest

from everturn.delivery.deliver import WebhookDecider
from everturn.ports.decider import DeliveryFailed
from integration.delivery.hook_server import (
    EMPTY,
    Act,
    Worker,
    deliver,
    drip,
    hang,
    respond,
    stream,
)

BROKEN_OFF = DeliveryFailed(
    "the worker's answer broke off or is not HTTP", "connection_failed", True, "unknown"
)


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
