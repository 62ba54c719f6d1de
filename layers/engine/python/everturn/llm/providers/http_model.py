"""`Model` over HTTP: a wire says what is sent and how frames read, and this does it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from pydantic_core import from_json

from everturn.llm.chunks import Chunk
from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from everturn.llm.providers.exchange import Exchange, RequestRefused, Sending, drained
from everturn.llm.providers.refusal import refused_request
from everturn.outbound.sse import SseFrame
from everturn.ports.model import NOTHING_BESIDE, Beside
from everturn.protocol.llm import LlmRequest
from everturn.protocol.wire import to_json

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class Asked:
    """One call, as a wire is given it."""

    request: Mapping[str, Any]
    """`LlmRequest` as JSON."""

    failed: frozenset[str]
    """Tool calls whose result is an error."""

    beside: Beside


Piece = TypeVar("Piece")
Piece_contra = TypeVar("Piece_contra", contravariant=True)


class Reads(Protocol[Piece_contra]):
    """Reads the pieces of one answer."""

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete; what it has cost may follow."""
        ...

    @property
    def is_done(self) -> bool:
        """Whether the provider has said all: no later frame can add to it."""
        ...

    def read(self, piece: Piece_contra, /) -> Iterable[Chunk]:
        """Yield what a piece says. Raises `ModelFailed` for an error in it."""
        ...

    def end(self) -> Iterable[Chunk]:
        """Yield what was used, as far as it is known, and the finish if the answer is whole."""
        ...


Reader = Reads[SseFrame]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A request as it goes out, and what will read the answer."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    reader: Reader


class Wire(Protocol):
    """How one provider's API is spoken; it opens no connection."""

    @property
    def provider(self) -> str:
        """Name for people."""
        ...

    def encode(self, asked: Asked) -> Encoded:
        """Return the request. Raises `ModelFailed` for what the provider has no place for."""
        ...


class HttpModel:
    """`Model` for one wire; serves all accounts."""

    def __init__(self, exchange: Exchange, wire: Wire) -> None:
        self._exchange = exchange
        self._wire = wire

    def stream(
        self,
        request: LlmRequest,
        *,
        attempt: int,  # noqa: ARG002  the same request, whichever attempt it is
        cancelled: Callable[[], bool],
        failed_tool_calls: frozenset[str] = frozenset(),
        beside: Beside = NOTHING_BESIDE,
    ) -> Iterator[Chunk]:
        """Yield the chunks of one attempt. Raises `ModelFailed`, `ModelAborted`."""
        encoded = self._wire.encode(Asked(to_json(request), failed_tool_calls, beside))
        body = _text_of(encoded.body)
        reader = encoded.reader
        frames = self._exchange.frames(
            Sending(
                url=encoded.url,
                headers=_checked({**beside.account.headers, **encoded.headers}),
                body=body,
                timeout_s=beside.timeout_s,
                cancelled=cancelled,
            )
        )
        try:
            yield from told(frames, reader)
            if reader.is_done:  # the stream may go on behind the last mark
                drained(frames)
        except RequestRefused as error:
            raise refused_request(self._wire.provider, error.refused) from error
        finally:
            frames.close()


def told(pieces: Iterable[Piece], reader: Reads[Piece]) -> Iterator[Chunk]:
    """Yield what an answer comes to; of one that fails or is given up, what it has used so far.

    Raises what reading raises, but for the failure of an answer that is whole without the rest.
    """
    try:
        for piece in pieces:
            yield from reader.read(piece)
            if reader.is_done:
                break
    except ModelAborted:
        yield from reader.end()
        raise
    except ModelFailed:
        yield from reader.end()
        if not reader.is_whole:
            raise
    else:
        yield from reader.end()


def _checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return headers that can be sent; all that an operator did not write himself is the key.

    Raises `ModelFailed` (`AUTH`), which shows none of it.
    """
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        told = "the API key has characters that no key has: store it again"
        raise ModelFailed(told, FailureCode.AUTH)
    return headers


def _text_of(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON. Raises `ModelFailed` where somebody wrote what JSON cannot hold."""
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except (ValueError, RecursionError) as error:
        told = "the request has characters, numbers or depths that JSON cannot hold"
        raise ModelFailed(told, FailureCode.INVALID_REQUEST) from error


def frame_object(frame: SseFrame) -> dict[str, Any]:
    """Return a frame's data as a JSON object. Raises `ModelFailed` where it is none."""
    try:
        value = from_json(frame.data)
    except ValueError:
        value = _patiently_read(frame.data)
    if not isinstance(value, dict):
        raise ModelFailed("the stream has a frame that is no object", FailureCode.SERVER)
    return value


def _patiently_read(source: str) -> Any:
    """Return JSON that the quick reader refuses: halves of surrogate pairs, deep nesting."""
    try:
        return _whole_characters(json.loads(source), source)
    except (ValueError, RecursionError) as error:
        raise ModelFailed("the stream has a frame that is not JSON", FailureCode.SERVER) from error


def _whole_characters(value: Any, source: str) -> Any:
    """Return `value` as it can be stored: half a surrogate pair, which JSON can spell, is lost."""
    if not _SURROGATE.search(source):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def key_of(beside: Beside, provider: str) -> str:
    """Return the API key. Raises `ModelFailed` (`AUTH`), which says how to set one."""
    if not beside.account.api_key:
        told = f"no API key for {provider}: name one with `everturn providers set`"
        raise ModelFailed(told, FailureCode.AUTH)
    return beside.account.api_key
