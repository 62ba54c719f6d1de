"""A tail comes back at its cursor, shows each thing once, and knows when there is an end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from everturn_local.remote import Refused, Remote, Unreachable
from everturn_local.tailing import TRIES, Tail

Step = Callable[[httpx.Request], httpx.Response]


def frame(cursor: str, name: str, data: str = "{}") -> str:
    return f"id: {cursor}\nevent: {name}\ndata: {data}\n\n"


def stream(*parts: str) -> Step:
    """Return an answer of the reader."""
    text = "".join(parts)
    headers = {"content-type": "text/event-stream"}
    return lambda _request: httpx.Response(200, headers=headers, text=text)


def error(status: int, **body: Any) -> Step:
    return lambda _request: httpx.Response(status, json=body)


def breaks(_request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("gone")


def cut(text: str) -> Step:
    """Return an answer that breaks off behind `text`."""

    def body() -> Iterator[bytes]:
        yield text.encode()
        raise httpx.ReadError("gone")

    headers = {"content-type": "text/event-stream"}
    return lambda _request: httpx.Response(200, headers=headers, content=body())


IDLE = stream("retry: 15000\n\n")
NOTHING = stream(": nothing new\n\n")


def end(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(204)


class Server:
    """Plays one step a request; notes what it was asked and how long the tail slept."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.asked: list[tuple[str, str]] = []
        self.slept: list[float] = []
        self.remote = Remote("http://127.0.0.1:1", "k")
        self.remote.http = httpx.Client(
            base_url="http://127.0.0.1:1", transport=httpx.MockTransport(self._answer)
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((request.url.query.decode(), request.headers.get("last-event-id", "")))
        return self._steps.pop(0)(request)

    def tail(self, **how: Any) -> Tail:
        return Tail(self.remote, "s1", sleep=self.slept.append, **how)

    def seen(self, **how: Any) -> list[str]:
        """Return the cursors of what a tail yields."""
        with self.remote:
            return [one["cursor"] for one in self.tail(**how).frames()]


def test_a_tail_shows_what_there_is_and_ends_where_no_turn_is_open() -> None:
    server = Server(stream(frame("1.0-0", "session.created"), frame("2.0-0", "x")), IDLE)

    seen = server.seen()

    assert seen == ["1.0-0", "2.0-0"]
    assert server.asked == [("", ""), ("", "2.0-0")]


def test_a_frame_is_that_of_a_websocket() -> None:
    server = Server(
        stream(
            frame("1.0-0", "message.new", '{"seq": 1}'),
            frame("1.13-1", "llm.token.delta", '{"text": "a"}'),
        ),
        IDLE,
    )

    with server.remote:
        frames = list(server.tail().frames())

    assert frames == [
        {"type": "event", "cursor": "1.0-0", "event": {"seq": 1}},
        {"type": "delta", "cursor": "1.13-1", "delta": {"text": "a"}},
    ]


def test_a_tail_of_a_turn_ends_with_it() -> None:
    server = Server(stream(frame("3.0-0", "turn.completed")), end)

    seen = server.seen(turn_id="t1", cursor="2")

    assert seen == ["3.0-0"]
    assert server.asked == [("turn_id=t1", "2"), ("turn_id=t1", "3.0-0")]


def test_a_stream_that_breaks_off_goes_on_behind_the_last_frame() -> None:
    server = Server(
        breaks,
        cut(frame("1.0-0", "a") + "id: 2.0-0\nevent: b\nda"),
        error(503, code="store_unavailable", message="busy"),
        NOTHING,
        stream(frame("2.0-0", "b")),
        IDLE,
    )

    seen = server.seen()

    assert seen == ["1.0-0", "2.0-0"]
    assert [cursor for _, cursor in server.asked] == ["", "", "1.0-0", "1.0-0", "1.0-0", "2.0-0"]
    assert server.slept == [0.25, 0.25, 0.5]


def test_a_follower_stays_where_no_turn_is_open() -> None:
    server = Server(IDLE, stream(frame("1.0-0", "a")), error(404, code="unknown_session"))

    with server.remote, pytest.raises(Refused) as refused:
        list(server.tail(follow=True).frames())

    assert server.slept == [15.0]
    assert refused.value.code == "unknown_session"


@pytest.mark.parametrize(
    ("step", "raised"),
    [(breaks, Unreachable), (error(500, code="internal", message="no"), Refused)],
)
def test_a_server_that_stays_away_is_given_up(step: Step, raised: type[Exception]) -> None:
    server = Server(*[step] * TRIES)

    with server.remote, pytest.raises(raised):
        list(server.tail().frames())

    assert len(server.slept) == TRIES - 1
    assert max(server.slept) <= 10


def test_a_refusal_is_no_reason_to_come_back() -> None:
    server = Server(error(401, code="unauthenticated", message="no key"))

    with server.remote, pytest.raises(Refused) as refused:
        list(server.tail().frames())

    assert (refused.value.status, refused.value.message) == (401, "no key")


# ---- other answers


@pytest.mark.parametrize(
    ("step", "code", "status"),
    [
        (error(404, code="unknown_agent", message="none", hint="h"), "unknown_agent", 404),
        (lambda _request: httpx.Response(502, text="<html>"), "http_502", 502),
        (lambda _request: httpx.Response(429, json=["x"]), "http_429", 429),
        (lambda _request: httpx.Response(200, text="<html>"), "no_json", 400),
    ],
)
def test_what_is_no_success_is_refused_with_what_was_said(
    step: Step, code: str, status: int
) -> None:
    server = Server(step)

    with server.remote as remote, pytest.raises(Refused) as refused:
        remote.get("/v1/agents")

    assert (refused.value.code, refused.value.status) == (code, status)


def test_nobody_there_is_unreachable() -> None:
    server = Server(breaks)

    with server.remote as remote, pytest.raises(Unreachable, match="does not answer"):
        remote.delete("/v1/sessions/s1")
