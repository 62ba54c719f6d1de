"""A worker behind uvicorn, over real sockets: well-behaved clients, slow ones and lost ones."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from everturn.protocol.signature import signed_headers
from everturn.workers import Context, Worker
from integration.served import served
from unit.workers.asking import about, error, execute, result

LIMIT_BYTES = 64 * 1024


@dataclass
class Seen:
    """What happens inside the tools."""

    started: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    together: threading.Barrier = field(default_factory=lambda: threading.Barrier(4))
    threads: set[str] = field(default_factory=set)


def made(seen: Seen, **options: Any) -> Worker:
    worker = Worker(max_body_bytes=LIMIT_BYTES, **options)

    @worker.tool(effect="read")
    def add(a: int, b: int) -> int:
        seen.threads.add(threading.current_thread().name.partition("_")[0])
        return a + b

    @worker.tool(effect="read")
    async def twice(text: str, context: Context) -> str:
        await asyncio.sleep(0)
        seen.threads.add(threading.current_thread().name)
        return f"{text}{text} for {context.owner}"

    @worker.tool(effect="read")
    def meet() -> str:
        seen.together.wait(10)
        return "met"

    @worker.tool(effect="read")
    async def hang() -> None:
        seen.started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.cancelled.set()
            raise

    @worker.tool(effect="read")
    def block() -> None:
        seen.started.set()
        seen.over.wait(10)

    @worker.on("session.start")
    def start(_request: Any) -> None:
        raise LookupError("hunter2")

    return worker


@pytest.fixture
def seen() -> Iterator[Seen]:
    made_here = Seen()
    yield made_here
    made_here.over.set()


@pytest.fixture
def url(seen: Seen) -> Iterator[str]:
    with served(made(seen).asgi) as found:
        yield found


@pytest.fixture
def signed_url(seen: Seen) -> Iterator[str]:
    with served(made(seen, secret=b"whsec").asgi) as found:
        yield found


def post(url: str, request: Any, **more: Any) -> httpx.Response:
    return httpx.post(url, content=json.dumps(request).encode(), timeout=20, **more)


def test_sync_and_async_tools_are_answered_on_any_path(url: str, seen: Seen) -> None:
    added = post(f"{url}/", execute("add", {"a": 1, "b": 2}))
    doubled = post(f"{url}/any/where?x=1", execute("twice", {"text": "é"}))

    assert (added.status_code, added.json()) == (200, result(3))
    assert doubled.json() == result("éé for ann")
    assert doubled.headers["content-type"] == "application/json"
    assert doubled.headers["cache-control"] == "no-store"
    assert seen.threads == {"everturn-worker", "worker-server"}


def test_sync_tools_wait_in_threads_while_the_loop_goes_on(url: str, seen: Seen) -> None:
    with ThreadPoolExecutor(5) as pool:
        meeting = [pool.submit(post, url, execute("meet")) for _ in range(3)]
        meanwhile = post(url, execute("twice", {"text": "a"}))
        seen.together.wait(10)

        assert [one.result().json() for one in meeting] == [result("met")] * 3
    assert meanwhile.json() == result("aa for ann")


def test_more_sync_tools_than_threads_wait_for_one(seen: Seen) -> None:
    with served(made(seen, max_threads=1).asgi) as url, ThreadPoolExecutor(2) as pool:
        blocking = pool.submit(post, url, execute("block"))
        assert seen.started.wait(10)
        waiting = pool.submit(post, url, execute("add", {"a": 1, "b": 2}))
        quick = post(url, execute("twice", {"text": "a"}))

        assert (quick.json(), waiting.done()) == (result("aa for ann"), False)
        seen.over.set()
        assert blocking.result().json() == result(None)
        assert waiting.result().json() == result(3)


def hang_up_on(url: str, content: bytes, announced: int | None = None) -> socket.socket:
    """Send a request, or only a part of it, and return its connection."""
    host, port = urlsplit(url).hostname, urlsplit(url).port
    connection = socket.create_connection((host, port), timeout=10)
    length = len(content) if announced is None else announced
    head = f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n"
    connection.sendall(head.encode() + content)
    return connection


def test_a_client_that_hangs_up_ends_its_async_tool(url: str, seen: Seen) -> None:
    with hang_up_on(url, json.dumps(execute("hang")).encode()):
        assert seen.started.wait(10)

    assert seen.cancelled.wait(10)
    assert post(url, execute("add", {"a": 1, "b": 2})).json() == result(3)


def test_a_client_that_hangs_up_leaves_its_sync_tool_behind(url: str, seen: Seen) -> None:
    with hang_up_on(url, json.dumps(execute("block")).encode()):
        assert seen.started.wait(10)

    assert post(url, execute("add", {"a": 1, "b": 2})).json() == result(3)


def test_a_client_that_hangs_up_before_its_body_is_over_starts_nothing(
    url: str, seen: Seen
) -> None:
    content = json.dumps(execute("hang")).encode()
    with hang_up_on(url, content, announced=len(content) + 1):
        pass

    assert post(url, execute("add", {"a": 1, "b": 2})).json() == result(3)
    assert not seen.started.is_set()


def test_a_body_may_come_in_pieces(url: str) -> None:
    content = json.dumps(execute("add", {"a": 1, "b": 2})).encode()

    reply = httpx.post(url, content=iter([content[:7], content[7:40], b"", content[40:]]))

    assert reply.json() == result(3)


@pytest.mark.parametrize("length", [LIMIT_BYTES, LIMIT_BYTES + 1])
@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_the_limit_is_refused_before_it_is_kept(
    url: str, length: int, announced: bool
) -> None:
    body = json.dumps(execute("add", {"a": 1, "b": 2})).encode().ljust(length)
    content: Any = body if announced else (body[at : at + 4096] for at in range(0, length, 4096))

    reply = httpx.post(url, content=content, timeout=10)

    refused = {
        "error": "too_large",
        "code": "too_large",
        "message": f"A request has at most {LIMIT_BYTES} bytes.",
        "limit_bytes": LIMIT_BYTES,
    }
    told = (200, result(3)) if length == LIMIT_BYTES else (413, refused)
    assert (reply.status_code, reply.json()) == told


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"\xff\xfe{\x00}\x00", "invalid_json"),
        (b"[" * 50_000, "invalid_json"),
        (b"[]", "schema_violation"),
        (b'{"trigger": {"type": "tool.execute"}}', "schema_violation"),
    ],
)
def test_what_is_no_decision_request_is_told_why(url: str, content: bytes, code: str) -> None:
    reply = httpx.post(url, content=content)

    assert (reply.status_code, reply.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    ("method", "status"), [("GET", 200), ("HEAD", 200), ("PUT", 405), ("OPTIONS", 405)]
)
def test_a_worker_takes_posts_and_says_that_it_is_there(
    signed_url: str, method: str, status: int
) -> None:
    reply = httpx.request(method, signed_url)

    assert reply.status_code == status
    assert reply.headers.get("allow") == ("GET, HEAD, POST" if status == 405 else None)
    assert method != "GET" or reply.json() == {"ok": True}


def test_a_signed_request_is_answered_and_no_other(signed_url: str) -> None:
    body = json.dumps(execute("add", {"a": 1, "b": 2})).encode()
    now = int(time.time())
    fine = signed_headers(b"whsec", body, now)

    def status(content: bytes, headers: dict[str, str]) -> int:
        return httpx.post(signed_url, content=content, headers=headers).status_code

    assert status(body, fine) == 200
    assert status(body, fine) == 200  # within the tolerance a repetition cannot be told
    assert status(body, {}) == 401
    assert status(body + b" ", fine) == 401
    assert status(b"{", fine) == 401
    assert status(body, {**fine, "X-Everturn-Timestamp": str(now + 1)}) == 401
    assert status(body, signed_headers(b"whsec", body, now - 301)) == 401
    assert status(body, signed_headers(b"other", body, now)) == 401


def test_what_fails_is_told_without_a_traceback(url: str) -> None:
    failed = post(url, execute("add", {"a": 1, "b": 2}, trigger={"arguments": '{"a":1}'}))
    broken = post(url, about({"type": "session.start"}))

    assert failed.json() == error(
        "Arguments for add do not fit: /b: is required", detail={"reason": "invalid_arguments"}
    )
    assert (broken.status_code, broken.json()["code"]) == (500, "internal")
    assert "hunter2" not in broken.text


def test_a_worker_takes_no_websocket() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Worker().asgi({"type": "websocket"}, receive, send))

    assert sent == [{"type": "websocket.close", "code": 1000}]


def test_a_worker_serves_nothing_that_it_does_not_know() -> None:
    async def unused(*_: Any) -> Any:
        raise AssertionError

    with pytest.raises(ValueError, match="a worker does not serve carrier_pigeon"):
        asyncio.run(Worker().asgi({"type": "carrier_pigeon"}, unused, unused))


def test_a_worker_serves_again_after_its_server_stopped(seen: Seen) -> None:
    app = made(seen).asgi

    for _ in range(2):
        with served(app) as url:
            assert post(url, execute("add", {"a": 1, "b": 2})).json() == result(3)
