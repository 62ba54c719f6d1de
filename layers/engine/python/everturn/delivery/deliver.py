"""Delivering a decision to an HTTPS webhook: one request, one fact; decides nothing from it."""

from __future__ import annotations

import secrets
import socket
import ssl
import time
from collections.abc import Callable
from typing import Literal, assert_never

import httpcore

from everturn.delivery.answer import AnswerHead, read_answer
from everturn.outbound.connection import (
    WATCH,
    AddressRefused,
    DeliveryCancelled,
    GuardedBackend,
    Resolve,
    Watch,
)
from everturn.outbound.url_guard import Destination, Networks, UrlRefused, check_url
from everturn.ports.decider import DeliveryCode, DeliveryFailed, WorkerAnswer, WorkerTarget
from everturn.protocol.limits import MAX_DELIVERY_BYTES
from everturn.protocol.signature import sign_body, signed_headers

KEEP_ALIVE_S = 5.0
"""Short: a request lost on a connection that the worker had closed leaves a write's end unknown."""
MAX_IDLE_CONNECTIONS = 10
USER_AGENT = "everturn"

_CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (httpcore.ConnectTimeout, "no connection to the worker came about in time"),
    (httpcore.RemoteProtocolError, "the worker's answer broke off or is not HTTP"),
    (ssl.SSLCertVerificationError, "the worker's certificate is not accepted"),
    (ssl.SSLError, "no encrypted connection to the worker came about"),
    (socket.gaierror, "the worker's host name does not resolve"),
    (ConnectionRefusedError, "the worker refused the connection"),
    (ConnectionResetError, "the worker broke the connection off"),
    (BrokenPipeError, "the worker broke the connection off"),
)


class WebhookDecider:
    """`Decider` over HTTPS. One instance serves all threads and all workers of a process.

    It stands on httpcore, below httpx, because that layer lets a read be interrupted and continued,
    and knows neither proxies from the environment, nor cookies, nor redirects.
    """

    def __init__(
        self,
        networks: Networks,
        *,
        body_signature_header: str = "",
        resolve: Resolve | None = None,
        ssl_context: ssl.SSLContext | None = None,
        now_epoch_s: Callable[[], float] = time.time,
        traceparent: Callable[[], str] | None = None,
    ) -> None:
        """Make the connection pool; no connection yet.

        `body_signature_header` names a further header with a signature of the bare body, for
        workers written for another engine (A-8).
        """
        self._networks = networks
        self._body_signature_header = body_signature_header
        self._now_epoch_s = now_epoch_s
        self._traceparent = traceparent or new_traceparent
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

    def deliver(
        self,
        target: WorkerTarget,
        body: bytes,
        *,
        decision_id: str,
        attempt: int,
        timeout_s: float,
        idempotency_key: str | None,
        cancelled: Callable[[], bool],
        on_delta: Callable[[str], None] | None = None,
    ) -> WorkerAnswer:
        """Send `body`, a DecisionRequest as JSON, and return what came of it, whatever happens.

        `timeout_s` spans everything, from the name server to the last byte. `cancelled` is asked
        every 0.1 s while reading, at longest after 5 s while connecting. `on_delta` gets the JSON
        text of each `llm.token.delta` (W-8); what it raises passes through, as nothing else does.
        """
        destination = self._checked(target.url, body)
        if isinstance(destination, DeliveryFailed):
            return destination
        headers = self._headers(target, destination, body)
        headers |= decision_headers(decision_id, attempt, idempotency_key)
        watch = Watch(timeout_s, cancelled)
        before = WATCH.set(watch)
        try:
            return self._exchange(destination, headers, body, on_delta)
        except DeliveryCancelled:
            told = "the delivery was cancelled"
            return _failed(watch, DeliveryCode.CANCELLED, told, retryable=False)
        except AddressRefused:
            return _refused("the host has no address that may be called")
        except (httpcore.ConnectTimeout, httpcore.NetworkError, httpcore.ProtocolError) as error:
            return _failed(watch, DeliveryCode.CONNECTION_FAILED, _why(error))
        except httpcore.TimeoutException:
            told = "the worker did not answer in time"
            return _failed(watch, DeliveryCode.DEADLINE_EXCEEDED, told)
        finally:
            WATCH.reset(before)

    def _checked(self, url: str, body: bytes) -> Destination | DeliveryFailed:
        match check_url(url, self._networks):
            case UrlRefused(reason=reason):
                return _refused(reason)
            case Destination() as destination if len(body) <= MAX_DELIVERY_BYTES:
                return destination
            case Destination():
                told = f"the request is over the {MAX_DELIVERY_BYTES} bytes that a worker is sent"
                return DeliveryFailed(told, DeliveryCode.TOO_LARGE, retryable=False, started="no")
            case never:
                assert_never(never)

    def _exchange(
        self,
        destination: Destination,
        headers: dict[bytes | str, bytes | str],
        body: bytes,
        on_delta: Callable[[str], None] | None,
    ) -> WorkerAnswer:
        url = httpcore.URL(
            scheme=destination.scheme,
            host=destination.host,
            port=destination.port,
            target=destination.target,
        )
        with self._pool.stream("POST", url, headers=headers, content=body) as response:
            return read_answer(
                to_head(response),
                response.iter_stream(),
                on_delta=on_delta,
                now_epoch_s=self._now_epoch_s(),
            )

    def _headers(
        self,
        target: WorkerTarget,
        destination: Destination,
        body: bytes,
    ) -> dict[bytes | str, bytes | str]:
        """Source: decision protocol, section 5 and A-8."""
        headers: dict[bytes | str, bytes | str] = {
            "Host": destination.authority,
            "Content-Length": str(len(body)),
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
            "traceparent": self._traceparent(),
        }
        if target.secret:
            secret = target.secret.encode()
            headers.update({**signed_headers(secret, body, int(self._now_epoch_s()))})
            if self._body_signature_header:
                headers[self._body_signature_header] = sign_body(secret, body)
        return headers


def decision_headers(
    decision_id: str, attempt: int, idempotency_key: str | None
) -> dict[bytes | str, bytes | str]:
    """Return what a worker may want for its logs before it reads the body.

    Source: decision protocol, section 5; agent-session.md 5.
    """
    headers: dict[bytes | str, bytes | str] = {
        "X-Decision-Id": decision_id,
        "X-Decision-Attempt": str(attempt),
    }
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    return headers


def new_traceparent() -> str:
    """Return a fresh W3C trace context, sampled. Source: Trace Context, 3.2."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def to_head(response: httpcore.Response) -> AnswerHead:
    """Return the status and the headers that matter."""
    headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
    return AnswerHead(
        status=response.status,
        content_type=headers.get(b"content-type", ""),
        content_encoding=headers.get(b"content-encoding", ""),
        retry_after=headers.get(b"retry-after", ""),
    )


def _refused(reason: str) -> DeliveryFailed:
    return DeliveryFailed(
        error=f"the worker's URL is refused: {reason}",
        code=DeliveryCode.URL_REFUSED,
        retryable=False,
        started="no",
    )


def _failed(
    watch: Watch, code: DeliveryCode, error: str, *, retryable: bool = True
) -> DeliveryFailed:
    started: Literal["no", "unknown"] = "unknown" if watch.bytes_sent else "no"
    return DeliveryFailed(error=error, code=code, retryable=retryable, started=started)


def _why(error: BaseException) -> str:
    """Say in constant words why there was no answer; the cause is at the end of the chain."""
    cause: BaseException | None = error
    while cause is not None:
        for kind, words in _CAUSES:
            if isinstance(cause, kind):
                return words
        cause = cause.__cause__ or cause.__context__
    return "the connection to the worker failed"
