"""One streamed request to a provider: sends bytes, yields frames; knows no provider's words."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpcore

from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from everturn.outbound.body import BodyTooLarge, BodyUnreadable, unpacked
from everturn.outbound.connection import (
    WATCH,
    AddressRefused,
    DeliveryCancelled,
    GuardedBackend,
    Resolve,
    Watch,
)
from everturn.outbound.sse import FrameTooLarge, SseFrame, SseParser
from everturn.outbound.url_guard import Destination, Networks, UrlRefused, check_url

IDLE_S: Final = 300.0
"""How long a provider may say nothing. Source: session-log ST-8."""

DRAIN_S: Final = 0.5
"""How long the end of an answer that is complete is waited for, so that its connection lives on."""

KEEP_ALIVE_S: Final = 20.0
MAX_IDLE_CONNECTIONS: Final = 20
MAX_FRAME_BYTES: Final = 32 * 1024 * 1024
"""One event of a stream; the last one of some providers repeats the whole answer."""

MAX_REFUSAL_BYTES: Final = 64 * 1024
"""Of a refusal's body, how much is read."""

USER_AGENT: Final = "everturn"


@dataclass(frozen=True, slots=True)
class Sending:
    """One request."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float
    cancelled: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that is no stream."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names."""

    body: bytes


class RequestRefused(Exception):
    """The provider gave a status, or a body, that is not a stream's."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.status)
        self.refused = refused


class Exchange:
    """Streams over HTTP/1.1. One instance serves all threads and all providers of a process."""

    def __init__(
        self,
        networks: Networks,
        *,
        resolve: Resolve | None = None,
        ssl_context: ssl.SSLContext | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        """Make the connection pool; no connection yet."""
        self._networks = networks
        self._idle_s = idle_s
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl_context or httpcore.default_ssl_context(),
            max_connections=None,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=KEEP_ALIVE_S,
            network_backend=GuardedBackend(networks, resolve),
        )

    def close(self) -> None:
        """Close the idle connections."""
        self._pool.close()

    def frames(self, sending: Sending) -> Generator[SseFrame]:
        """Yield the frames of the answer, up to the end of it.

        Closed early, it drops the connection; `drained` reads what is left of a complete answer.
        Raises `RequestRefused` for another status than 200 and another body than a stream,
        `ModelFailed` where there is no answer or it breaks off, and `ModelAborted`.
        """
        destination = self._checked(sending.url)
        watch = Watch(sending.timeout_s, sending.cancelled, self._idle_s)
        before = WATCH.set(watch)
        try:
            with _told_as_failures(), self._answer(destination, sending) as pieces:
                yield from _parsed(pieces)
        finally:
            WATCH.reset(before)

    def _checked(self, url: str) -> Destination:
        match check_url(url, self._networks):
            case UrlRefused(reason=reason):
                raise ModelFailed(
                    f"the provider's URL is refused: {reason}", FailureCode.INVALID_REQUEST
                )
            case destination:
                return destination

    @contextmanager
    def _answer(self, to: Destination, sending: Sending) -> Iterator[Iterable[bytes]]:
        url = httpcore.URL(scheme=to.scheme, host=to.host, port=to.port, target=to.target)
        headers: dict[bytes | str, bytes | str] = {
            "Host": to.authority,
            "Content-Length": str(len(sending.body)),
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
        }
        headers.update({**sending.headers})
        with self._pool.stream("POST", url, headers=headers, content=sending.body) as response:
            told = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in response.headers
            }
            encoding = told.get("content-encoding", "")
            is_stream = told.get("content-type", "").lower().startswith("text/event-stream")
            if response.status != HTTPStatus.OK or not is_stream:
                body = _start_of(response.iter_stream(), encoding)
                raise RequestRefused(Refused(response.status, told, body))
            yield (
                unpacked(response.iter_stream(), encoding, limit_bytes=1 << 40)
                if encoding
                else response.iter_stream()
            )


def drained(frames: Iterator[SseFrame]) -> None:
    """Read the rest of an answer that is complete; whatever happens to it does not matter."""
    WATCH.get().shorten(DRAIN_S)
    try:
        for _ in frames:
            pass
    except (ModelFailed, ModelAborted):
        return


def _parsed(pieces: Iterable[bytes]) -> Iterator[SseFrame]:
    parser = SseParser(limit_bytes=MAX_FRAME_BYTES)
    for piece in pieces:
        for frame in parser.feed(piece):
            if isinstance(frame, FrameTooLarge):
                raise ModelFailed("an event of the stream is too large", FailureCode.SERVER)
            yield frame


def _start_of(pieces: Iterable[bytes], encoding: str) -> bytes:
    """Return a refusal's body as far as it is read; one that breaks off is as good as none."""
    read = bytearray()
    try:
        for piece in unpacked(pieces, encoding, limit_bytes=MAX_REFUSAL_BYTES):
            read += piece
    except (BodyTooLarge, BodyUnreadable, httpcore.NetworkError, httpcore.ProtocolError):
        pass
    return bytes(read)


@contextmanager
def _told_as_failures() -> Iterator[None]:
    """Source: vocabulary, "Failures"."""
    try:
        yield
    except DeliveryCancelled as error:
        raise ModelAborted("the attempt was broken off") from error
    except AddressRefused as error:
        told = "the provider's host has no address that may be called"
        raise ModelFailed(told, FailureCode.INVALID_REQUEST) from error
    except httpcore.ConnectTimeout as error:
        raise ModelFailed("the provider could not be reached", FailureCode.NETWORK) from error
    except httpcore.TimeoutException as error:
        raise ModelFailed("the provider did not answer in time", FailureCode.TIMEOUT) from error
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        raise ModelFailed(
            "the connection to the provider broke off", FailureCode.NETWORK
        ) from error
    except BodyUnreadable as error:
        raise ModelFailed("the provider's answer cannot be unpacked", FailureCode.SERVER) from error
