"""One attempt of a model call over real sockets. No test lives here."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from everturn.llm.chunks import Chunk, Finished
from everturn.llm.failure import ModelFailed
from everturn.llm.providers.exchange import Exchange
from everturn.llm.providers.http_model import HttpModel, Wire
from everturn.ports.model import Account, Beside, Replay
from everturn.protocol.llm import LlmRequest

USER = {"role": "user", "content": "Hi"}


@cache
def _no_certificates() -> ssl.SSLContext:
    """Loading them takes longer than most tests, and nothing here speaks TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Heard:
    """What an attempt has said so far."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.arrived = threading.Event()
        """Set with the first chunk."""

    @property
    def is_finished(self) -> bool:
        """Whether the attempt says that it is an answer."""
        return any(isinstance(one, Finished) for one in self.chunks)


class Caller:
    """Calls one wire's provider."""

    def __init__(self, wire: Wire, base_url: str, exchange: Exchange, key: str) -> None:
        self._model = HttpModel(exchange, wire)
        self._account = Account(base_url=base_url, api_key=key)
        self.cancelled = threading.Event()

    def hear(
        self,
        heard: Heard | None = None,
        *,
        model: str = "gpt-5",
        replays: Mapping[str, Replay] | None = None,
        timeout_s: float = 10,
        **settings: Any,
    ) -> Heard:
        """Return what one attempt says. Raises `ModelFailed`, `ModelAborted`."""
        heard = heard or Heard()
        request = {"model": model, "messages": [USER], **settings}
        beside = Beside(account=self._account, replays=replays or {}, timeout_s=timeout_s)
        for chunk in self._model.stream(
            LlmRequest.model_validate(request),
            attempt=1,
            cancelled=self.cancelled.is_set,
            beside=beside,
        ):
            heard.chunks.append(chunk)
            heard.arrived.set()
        return heard

    def failure(self, heard: Heard | None = None, **how: Any) -> ModelFailed | None:
        """Return why an attempt failed, nothing where it did not."""
        try:
            self.hear(heard, **how)
        except ModelFailed as error:
            return error
        return None


@contextmanager
def calling(wire: Wire, base_url: str, key: str = "test-key") -> Iterator[Caller]:
    """Open a caller with connections of its own."""
    exchange = Exchange("any", ssl_context=_no_certificates())
    try:
        yield Caller(wire, base_url, exchange, key)
    finally:
        exchange.close()
