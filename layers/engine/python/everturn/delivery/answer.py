"""What a worker's answer means, as one of three facts; reads given bytes, opens no connection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, assert_never

from everturn.errors import RejectedError
from everturn.outbound.body import BodyTooLarge, BodyUnreadable, unpacked
from everturn.outbound.retry_after import to_retry_after_s
from everturn.outbound.sse import FrameTooLarge, SseFrame, SseParser
from everturn.ports.decider import Answered, Deferred, DeliveryCode, DeliveryFailed, WorkerAnswer
from everturn.protocol.decision import DECISION_RESPONSE
from everturn.protocol.json_text import read_json
from everturn.protocol.limits import MAX_DECISION_BODY_BYTES, MAX_SSE_FRAME_BYTES
from everturn.protocol.wire import parse

MAX_STREAM_BYTES = 64 * 1024 * 1024
"""All frames together: a long answer, told in a provider's wordy chunks, is some 30 MB."""
MAX_ERROR_CHARS = 1000

_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """What is known before the body: the status, and three headers (`""` where absent)."""

    status: int
    content_type: str = ""
    content_encoding: str = ""
    retry_after: str = ""

    @property
    def media_type(self) -> str:
        """The content type without its parameters, in lower case."""
        return self.content_type.partition(";")[0].strip().lower()


def read_answer(
    head: AnswerHead,
    chunks: Iterable[bytes],
    *,
    on_delta: Callable[[str], None] | None = None,
    now_epoch_s: float,
) -> WorkerAnswer:
    """Read an answer as far as it counts; the rest of `chunks` is left alone.

    `on_delta` gets the data of each `llm.token.delta` as it comes, JSON text that nobody has looked
    at yet. Source: decision protocol W-8, D-6 to D-9; errors that `chunks` raises pass through.
    """
    if not HTTPStatus.OK <= head.status < HTTPStatus.MULTIPLE_CHOICES:
        return refused_status(head, now_epoch_s)
    try:
        if head.media_type == "text/event-stream":
            body = unpacked(chunks, head.content_encoding, limit_bytes=MAX_STREAM_BYTES)
            return _read_stream(body, on_delta)
        body = unpacked(chunks, head.content_encoding, limit_bytes=MAX_DECISION_BODY_BYTES)
        return _read_json(head, b"".join(body))
    except BodyTooLarge:
        return too_large("the answer is larger than it may be", head.status)
    except BodyUnreadable:
        told = "the answer is packed in a way that cannot be unpacked"
        return invalid(told, DeliveryCode.INVALID_JSON, head.status)


def refused_status(head: AnswerHead, now_epoch_s: float) -> DeliveryFailed:
    """Say what a status other than 2xx means; the body is of no interest."""
    started: Literal["no", "unknown"] = "unknown"
    retry_after_s = None
    match head.status:
        case HTTPStatus.TOO_MANY_REQUESTS | HTTPStatus.SERVICE_UNAVAILABLE as status:
            limited = status == HTTPStatus.TOO_MANY_REQUESTS
            code = DeliveryCode.RATE_LIMITED if limited else DeliveryCode.UNAVAILABLE
            started = "no"
            retry_after_s = to_retry_after_s(head.retry_after, now_epoch_s)
        case status if status < HTTPStatus.BAD_REQUEST:
            code = DeliveryCode.REDIRECT_REFUSED
        case _:
            code = DeliveryCode.HTTP_STATUS
    return DeliveryFailed(
        error=f"the worker answered {head.status}",
        code=code,
        retryable=True,
        started=started,
        status=head.status,
        retry_after_s=retry_after_s,
    )


def _read_json(head: AnswerHead, body: bytes) -> WorkerAnswer:
    if not body.strip():
        if head.status == HTTPStatus.ACCEPTED:
            return Deferred()
        return invalid("the answer is empty", DeliveryCode.INVALID_JSON, head.status)
    media_type = head.media_type
    if media_type not in ("", "application/json") and not media_type.endswith("+json"):
        shown = media_type if _MEDIA_TYPE.fullmatch(media_type) else "something unnamed"
        told = f"the worker answered {shown} instead of JSON"
        return invalid(told, DeliveryCode.INVALID_JSON, head.status)
    return to_answer(body, head.status)


def _read_stream(pieces: Iterable[bytes], on_delta: Callable[[str], None] | None) -> WorkerAnswer:
    """Read up to the final frame; `on_delta` may raise whatever it likes."""
    for frame in _frames(pieces):
        match frame:
            case FrameTooLarge():
                return too_large("a frame of the answer is larger than it may be", HTTPStatus.OK)
            case SseFrame(event="llm.token.delta", data=data):
                if on_delta is not None:
                    on_delta(data)
            case SseFrame(event="decision.result", data=data):
                return to_answer(data, HTTPStatus.OK)
            case SseFrame(event="decision.error", data=data):
                return _to_worker_error(data)
            case SseFrame():
                continue
            case _:
                assert_never(frame)
    return DeliveryFailed(
        error="the stream ended without a final frame",
        code=DeliveryCode.STREAM_ENDED,
        retryable=True,
        started="unknown",
        status=HTTPStatus.OK,
    )


def _frames(pieces: Iterable[bytes]) -> Iterator[SseFrame | FrameTooLarge]:
    parser = SseParser(limit_bytes=MAX_SSE_FRAME_BYTES)
    for piece in pieces:
        yield from parser.feed(piece)


def to_answer(text: str | bytes, status: int | None = None) -> Answered | DeliveryFailed:
    """Read a DecisionResponse; what does not fit is told by its path, never by its value."""
    try:
        return Answered(parse(DECISION_RESPONSE, read_json(text)))
    except RejectedError as error:
        return invalid(error.message, error.code, status)


def _to_worker_error(data: str) -> DeliveryFailed:
    """Read `decision.error`: `{message, retryable?}`, retryable unless it says no (D-8, D-9)."""
    try:
        frame = read_json(data)
    except RejectedError as error:
        return invalid(error.message, error.code, HTTPStatus.OK)
    match frame:
        case {"message": str() as message}:
            return DeliveryFailed(
                error=message[:MAX_ERROR_CHARS] or "the worker gave no reason",
                code=DeliveryCode.WORKER_ERROR,
                retryable=frame.get("retryable") is not False,
                started="unknown",
                status=HTTPStatus.OK,
            )
        case _:
            return invalid("/message: is required", "schema_violation", HTTPStatus.OK)


def invalid(error: str, code: str, status: int | None = None) -> DeliveryFailed:
    """Return that an answer came and cannot be read."""
    return DeliveryFailed(
        error=error, code=code, retryable=True, started="unknown", status=status, invalid=True
    )


def too_large(error: str, status: int | None = None) -> DeliveryFailed:
    """Return that an answer is too large; the same worker would answer so again."""
    return DeliveryFailed(
        error=error,
        code=DeliveryCode.TOO_LARGE,
        retryable=False,
        started="unknown",
        status=status,
        invalid=True,
    )
