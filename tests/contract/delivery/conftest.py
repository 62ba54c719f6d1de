"""One worker behind both transports: a webhook on this machine, a function in moto."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from everturn.delivery.by_target import DeciderByTarget
from everturn.delivery.deliver import WebhookDecider
from everturn.delivery.lambda_function import LambdaDecider
from everturn.ports.decider import Decider, WorkerAnswer, WorkerTarget
from everturn_local.patches.lambda_invoke import Invoked, InvokeRefused, lambda_invoke

REGION = "us-east-1"
ALLOWED = f"arn:aws:lambda:{REGION}:123456789012:function:everturn-worker-"
ARN = f"{ALLOWED}tools"
BODY = '{"session_id":"s1","trigger":{"type":"tool.execute"},"grüße":12345678901234567890}'.encode()


@dataclass(frozen=True, slots=True)
class Says:
    """What a worker does: a body, or a refusal to start at all."""

    body: bytes = b"{}"
    refuses: bool = False
    """It has no room: 429."""

    breaks: bool = False
    """Its platform fails: 500."""


@dataclass(slots=True)
class Worker:
    """What the worker is to do, and what it was sent."""

    act: Callable[[bytes], Says] = lambda _body: Says()
    bodies: list[bytes] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def take(self, body: bytes) -> Says:
        """Do one request."""
        self.bodies.append(body)
        return self.act(body)


@dataclass(frozen=True, slots=True)
class Transport:
    """A decider, and the worker at its other end."""

    decider: Decider
    target: str
    worker: Worker

    def deliver(
        self,
        body: bytes = BODY,
        *,
        timeout_s: float = 5.0,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> WorkerAnswer:
        """Make one delivery."""
        return self.decider.deliver(
            WorkerTarget(self.target),
            body,
            decision_id="d1",
            attempt=1,
            timeout_s=timeout_s,
            idempotency_key=None,
            cancelled=cancelled,
        )


@contextmanager
def webhook(worker: Worker) -> Iterator[str]:
    """Serve the worker over HTTP."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            said = worker.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(429 if said.refuses else 500 if said.breaks else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            try:
                self.wfile.write(said.body)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        worker.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def function(worker: Worker) -> Iterator[Any]:
    """Serve the worker as a function; gives the client that invokes it."""

    def invoke(name: str, payload: bytes, _asynchronous: bool) -> Invoked | None:
        if name != "everturn-worker-tools":
            return None
        said = worker.take(payload)
        if said.refuses:
            raise InvokeRefused(429, "TooManyRequestsException", "Rate Exceeded.")
        if said.breaks:
            raise InvokeRefused(500, "ServiceException", "secret")
        return Invoked(said.body, failed=False)

    with mock_aws(config={"lambda": {"use_docker": False}}), lambda_invoke(invoke):
        config = Config(retries={"total_max_attempts": 1}, read_timeout=299)
        yield boto3.client("lambda", region_name=REGION, config=config)
        worker.over.set()


@pytest.fixture
def worker() -> Worker:
    """A worker that answers `{}`."""
    return Worker()


@pytest.fixture(params=["webhook", "function"])
def transport(request: pytest.FixtureRequest, worker: Worker) -> Iterator[Transport]:
    """Both ways to the worker, each behind the decider that chooses."""
    hooks = WebhookDecider("any")
    with webhook(worker) as url, function(worker) as client:
        decider = DeciderByTarget(hooks, LambdaDecider(client, ALLOWED))
        yield Transport(decider, url if request.param == "webhook" else ARN, worker)
    hooks.close()


@pytest.fixture
def lambda_transport(worker: Worker) -> Iterator[Transport]:
    """The way to the function."""
    with function(worker) as client:
        yield Transport(LambdaDecider(client, ALLOWED), ARN, worker)


def says(value: Any) -> Callable[[bytes], Says]:
    """Return the act that answers a value."""
    return lambda _body: Says(json.dumps(value).encode())
