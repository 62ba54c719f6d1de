"""Sockets to checked addresses only, watched throughout; HTTP is done elsewhere."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from math import inf
from time import monotonic
from typing import Any

import httpcore

from everturn.outbound.url_guard import Networks, allowed_address

Resolve = Callable[[str, int], Sequence[str]]
"""Host and port -> IP addresses in order of preference; raises OSError as `getaddrinfo` does."""

POLL_S = 0.1
"""How long a read may block before the limits of its delivery are looked at again."""
CONNECT_S = 5.0
"""For one address: to connect, and to shake hands."""
WRITE_STALL_S = 20.0
"""For one piece of the request; a server that takes nothing for so long is lost."""
MAX_ADDRESSES = 3

_PIECE_BYTES = 16 * 1024


class DeliveryCancelled(Exception):
    """Whoever asked for the delivery wants it no longer."""


class AddressRefused(Exception):
    """The name resolves to nothing that may be called."""


class Watch:
    """The limits of one delivery: a moment of time and a question to ask; notes what was sent."""

    __slots__ = ("_cancelled", "_deadline_s", "_idle_s", "bytes_sent")

    def __init__(
        self, timeout_s: float, cancelled: Callable[[], bool], idle_s: float = inf
    ) -> None:
        """Begin now; `idle_s` is how long one read may bring nothing."""
        self._deadline_s = monotonic() + timeout_s
        self._cancelled = cancelled
        self._idle_s = idle_s
        self.bytes_sent = False
        """False: the server cannot have seen anything of the request."""

    def left_s(self) -> float:
        """Return the time that is left, more than 0.

        Raises `httpcore.TimeoutException` when it is over, `DeliveryCancelled` when so asked.
        """
        if self._cancelled():
            raise DeliveryCancelled
        left_s = self._deadline_s - monotonic()
        if left_s <= 0:
            raise httpcore.TimeoutException
        return left_s

    def quiet_until_s(self) -> float:
        """Return the moment, by the monotonic clock, up to which a read may bring nothing."""
        return monotonic() + self._idle_s

    def shorten(self, timeout_s: float) -> None:
        """Leave `timeout_s` from now, where more was left."""
        self._deadline_s = min(self._deadline_s, monotonic() + timeout_s)


WATCH: ContextVar[Watch] = ContextVar("watch")
"""The delivery of this thread. A connection that is kept alive serves one after another."""


class GuardedBackend(httpcore.NetworkBackend):
    """Resolves a name once, drops what may not be called, and connects to what is left.

    The URL keeps the name, so Host, SNI and the certificate are checked against it; a second
    answer of the name server is never asked for, so it cannot lead elsewhere.
    """

    def __init__(self, networks: Networks, resolve: Resolve | None = None) -> None:
        self._networks = networks
        self._resolve = resolve or resolve_host
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002  the watch knows the time
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first allowed address that answers; raises `AddressRefused` for none."""
        found = _within(WATCH.get(), lambda: self._resolve(host, port))
        allowed = [address for address in found if allowed_address(address, self._networks)]
        if not allowed:
            raise AddressRefused
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in allowed[:MAX_ADDRESSES]:
            try:
                stream = self._sockets.connect_tcp(
                    address,
                    port,
                    timeout=min(WATCH.get().left_s(), CONNECT_S),
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return WatchedStream(stream)
        raise failure or AddressRefused


class WatchedStream(httpcore.NetworkStream):
    """A socket that asks the `Watch` of the delivery at hand before and while it blocks."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Return the next bytes, `b""` at the end."""
        watch = WATCH.get()
        quiet_until_s = watch.quiet_until_s()
        while True:
            wait_s = min(watch.left_s(), POLL_S)
            try:
                return self._stream.read(max_bytes, timeout=wait_s)
            except httpcore.ReadTimeout:
                if monotonic() >= quiet_until_s:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Send all of `buffer`, in pieces."""
        watch = WATCH.get()
        for start in range(0, len(buffer), _PIECE_BYTES):
            wait_s = min(watch.left_s(), WRITE_STALL_S)
            watch.bytes_sent = True
            self._stream.write(buffer[start : start + _PIECE_BYTES], timeout=wait_s)

    def close(self) -> None:
        """Close the socket; anyone may, at any time."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """Return the same connection, encrypted; `server_hostname` is the name in the URL."""
        wait_s = min(WATCH.get().left_s(), CONNECT_S)
        return WatchedStream(self._stream.start_tls(ssl_context, server_hostname, wait_s))

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore wants to know about the socket."""
        return self._stream.get_extra_info(info)


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in answers))


def _within(watch: Watch, resolve: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Run `resolve`, which nothing can interrupt, in a thread of its own that may be left behind.

    Raises `httpcore.ConnectError` when the name does not resolve.
    """
    found: list[Sequence[str]] = []
    failed: list[Exception] = []

    def ask() -> None:
        try:
            found.append(resolve())
        except (OSError, UnicodeError) as error:  # UnicodeError: no host name after all
            failed.append(error)

    asking = threading.Thread(target=ask, name="resolve", daemon=True)
    asking.start()
    while asking.is_alive():
        asking.join(min(watch.left_s(), POLL_S))
    try:
        for error in failed:
            raise error
    except (
        OSError,
        UnicodeError,
    ) as error:  # httpcore keeps the context of an error, not its cause
        raise httpcore.ConnectError(type(error).__name__) from error
    return found[0]
