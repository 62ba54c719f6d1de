"""AWS's event streams as we write them, read by AWS's own library."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from botocore.eventstream import ChecksumMismatch, EventStreamBuffer
from botocore.exceptions import ClientError, EventStreamError
from urllib3.exceptions import ProtocolError

from providers.clients import bedrock_client
from providers.event_stream import CONTENT_TYPE, event, exception, message
from providers.frames import every_byte
from providers.scripted import Answer, Ending, json_answer, scripted_provider

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime.type_defs import MessageTypeDef

STREAM = (
    event("messageStart", {"role": "assistant"}),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Grün"}}),
    event("contentBlockStop", {"contentBlockIndex": 0}),
    event("messageStop", {"stopReason": "end_turn"}),
)
READ: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Grün"}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"messageStop": {"stopReason": "end_turn"}},
]
HEADERS = {"content-type": CONTENT_TYPE}


def converse(url: str) -> list[Any]:
    """Return the events that boto3 reads."""
    messages: list[MessageTypeDef] = [{"role": "user", "content": [{"text": "Hello"}]}]
    with bedrock_client(url) as client:
        answer = client.converse_stream(modelId="m.m", messages=messages)
        with closing(answer["stream"]) as stream:
            return list(stream)


@pytest.mark.parametrize("payload", [b"", b"{}", "ü".encode() * 1000])
@pytest.mark.parametrize("headers", [{}, {":a": "b"}, {":a": "ü" * 300, "b": ""}])
def test_botocore_reads_a_message(headers: dict[str, str], payload: bytes) -> None:
    buffer = EventStreamBuffer()

    for piece in every_byte(message(headers, payload) * 2):
        buffer.add_data(piece)

    read: list[tuple[Any, bytes]] = [(one.headers, one.payload) for one in buffer]
    assert read == [(headers, payload)] * 2


def test_botocore_refuses_a_damaged_message() -> None:
    damaged = bytearray(event("messageStop", {"stopReason": "end_turn"}))
    damaged[-8] ^= 1
    buffer = EventStreamBuffer()
    buffer.add_data(bytes(damaged))

    with pytest.raises(ChecksumMismatch):
        next(buffer)


@pytest.mark.parametrize("pieces", [STREAM, every_byte(b"".join(STREAM))], ids=["frames", "bytes"])
def test_boto3_reads_a_stream(pieces: tuple[bytes, ...]) -> None:
    with scripted_provider(Answer(pieces, headers=HEADERS)) as provider:
        events = converse(provider.url)
        asked = provider.next_asked()

    assert events == READ
    assert (asked.path, asked.json["messages"][0]["role"]) == ("/model/m.m/converse-stream", "user")


def test_boto3_raises_an_exception_of_the_stream() -> None:
    pieces = (STREAM[0], exception("throttlingException", "slower"))

    with (
        scripted_provider(Answer(pieces, headers=HEADERS)) as provider,
        pytest.raises(EventStreamError) as raised,
    ):
        converse(provider.url)

    assert raised.value.response["Error"] == {"Code": "throttlingException", "Message": "slower"}


def test_boto3_raises_for_an_answer_that_is_no_stream() -> None:
    answer = json_answer(
        429, {"message": "slower"}, x_amzn_errortype="ThrottlingException", retry_after="1"
    )

    with scripted_provider(answer) as provider, pytest.raises(ClientError) as raised:
        converse(provider.url)

    assert raised.value.response["Error"] == {"Code": "ThrottlingException", "Message": "slower"}


def test_a_stream_that_is_closed_early_raises_an_error_that_is_not_of_botocore() -> None:
    answer = Answer(STREAM[:2], headers=HEADERS, ending=Ending.CLOSED)

    with scripted_provider(answer) as provider, pytest.raises(ProtocolError):
        converse(provider.url)


def test_a_stream_without_its_last_events_ends_like_any_other() -> None:
    with scripted_provider(Answer(STREAM[:2], headers=HEADERS)) as provider:
        events = converse(provider.url)

    assert events == READ[:2]
