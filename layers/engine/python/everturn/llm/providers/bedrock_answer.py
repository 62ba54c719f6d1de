"""The events of one call of boto3's, read in a thread that may be left behind; it knows no event.

boto3 blocks while it connects, sends and waits, and nothing can interrupt that from outside. So
one thread does so and another one, the caller's, waits for it with an eye on the clock.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final

import httpcore
from botocore.eventstream import ParserError

from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from everturn.llm.providers.bedrock_failures import failure_of
from everturn.llm.providers.bedrock_parts import BEDROCK
from everturn.llm.providers.exchange import DRAIN_S
from everturn.outbound.connection import POLL_S, DeliveryCancelled, Watch

Event = Mapping[str, Any]

_END: Final = None


class Answer:
    """One answer on its way."""

    def __init__(self, ask: Callable[[], Mapping[str, Any]]) -> None:
        """Take what makes the call and returns boto3's response, its `stream` unread."""
        self._ask = ask
        self._said: SimpleQueue[Event | Exception | None] = SimpleQueue()
        self._stream: Any = None
        self._is_left = threading.Event()
        self._thread = threading.Thread(target=self._read, name="bedrock", daemon=True)
        self._request_id: str | None = None

    def events(self, watch: Watch) -> Iterator[Event]:
        """Make the call and yield its events.

        Raises `ModelFailed` and `ModelAborted`, within a moment of what `watch` says.
        """
        self._thread.start()
        while True:
            said = self._next(watch)
            if isinstance(said, Exception):
                raise failure_of(said, self._request_id) from said
            if said is _END:
                return
            yield said

    def drain(self) -> None:
        """Wait a moment for the end of an answer that is complete, so its connection lives on."""
        self._thread.join(DRAIN_S)

    def leave(self) -> None:
        """Read no further: the connection of an answer that is still on its way is dropped.

        A call that has no answer yet is left to itself, and dropped as soon as it has one.
        """
        self._is_left.set()
        if self._thread.is_alive():
            _wake(self._stream)

    def _next(self, watch: Watch) -> Event | Exception | None:
        quiet_until_s = watch.quiet_until_s()
        while True:
            try:
                return self._said.get(timeout=min(watch.left_s(), POLL_S))
            except Empty:
                if monotonic() >= quiet_until_s:
                    raise _too_late() from None
            except DeliveryCancelled as error:
                raise ModelAborted("the attempt was broken off") from error
            except httpcore.TimeoutException as error:
                raise _too_late() from error

    def _read(self) -> None:
        try:
            response = self._ask()
            self._request_id = response.get("ResponseMetadata", {}).get("RequestId")
            self._stream = response["stream"]
            if not self._is_left.is_set():  # seen here, or the stream is seen by who leaves
                for event in _parsed(self._stream):
                    if self._is_left.is_set():
                        break
                    self._said.put(event)
            self._said.put(_END)
        except Exception as error:  # noqa: BLE001  # handed to whoever waits, who raises it
            self._said.put(error)
        finally:
            if self._stream is not None:
                self._stream.close()


def _parsed(stream: Iterable[Event]) -> Iterator[Event]:
    """Yield the events; what botocore's parser trips over is an answer that cannot be read."""
    try:
        yield from stream
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ParserError(type(error).__name__) from error


def _too_late() -> ModelFailed:
    return ModelFailed(f"{BEDROCK} did not answer in time", FailureCode.TIMEOUT)


def _wake(stream: Any) -> None:
    """End the read in which a thread may be stuck: by its socket, to which no public way leads."""
    found = stream
    for name in ("_raw_stream", "_fp", "fp", "raw", "_sock"):
        found = getattr(found, name, None)
    if found is None:  # no answer yet, or read to its end
        return
    try:
        found.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed already
