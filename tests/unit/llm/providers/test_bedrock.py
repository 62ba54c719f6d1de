"""`BedrockModel` on streams made by hand: the end, cuts, cancelling, limits of time, clients."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore import exceptions as aws
from botocore.config import Config
from botocore.stub import Stubber

from everturn.llm.assemble import assemble
from everturn.llm.chunks import Chunk, Finished, TextDelta, UsageReported
from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from everturn.llm.providers.bedrock import BedrockModel
from everturn.ports.model import Account, Beside
from everturn.protocol.llm import LlmRequest
from unit.llm.providers.converse_calls import CLAUDE
from unit.llm.providers.test_bedrock_events import COUNTS, WHOLE, delta, stopped

REQUEST = LlmRequest.model_validate(
    {"model": CLAUDE, "messages": [{"role": "user", "content": "Hi."}]}
)
ANSWER = [delta(0, text="Hello."), stopped("end_turn"), COUNTS]


class Stream:
    """Events, then what follows; knows whether it was closed."""

    def __init__(self, *events: Any) -> None:
        self._events = events
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        for one in self._events:
            if isinstance(one, Exception):
                raise one
            yield one() if callable(one) else one

    def close(self) -> None:
        """Note it."""
        self.closed.set()


class Client:
    """A `bedrock-runtime` client that answers with one stream."""

    def __init__(self, stream: Stream, before: Callable[[], object] = lambda: None) -> None:
        self._stream = stream
        self._before = before
        self.asked: dict[str, Any] = {}

    def converse_stream(self, **parameters: Any) -> Mapping[str, Any]:
        """Note the parameters and answer."""
        self.asked = parameters
        self._before()
        return {"ResponseMetadata": {"RequestId": "r-1"}, "stream": self._stream}


def streamed(
    client: Any,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    idle_s: float = 10,
    timeout_s: float = 10,
) -> Iterator[Chunk]:
    """Yield the chunks of a call."""
    model = BedrockModel(lambda _: client, idle_s=idle_s)
    beside = Beside(timeout_s=timeout_s)
    return model.stream(REQUEST, attempt=1, cancelled=cancelled, beside=beside)


def test_an_answer_is_streamed_and_its_stream_closed() -> None:
    stream = Stream(*ANSWER)
    client = Client(stream)

    said = list(streamed(client))

    assert [type(one) for one in said] == [TextDelta, UsageReported, Finished]
    assert client.asked["modelId"] == CLAUDE
    assert stream.closed.wait(1)


def test_the_client_is_that_of_the_account_s_region() -> None:
    regions = []

    def client_for(region: str) -> Client:
        regions.append(region)
        return Client(Stream(*ANSWER))

    model = BedrockModel(client_for)
    for region in ("", "eu-west-1"):
        beside = Beside(account=Account(region=region))
        list(model.stream(REQUEST, attempt=1, cancelled=lambda: False, beside=beside))

    assert regions == ["", "eu-west-1"]


@pytest.mark.parametrize("cut", range(len(WHOLE)))
def test_a_stream_that_ends_early_is_void_until_the_answer_is_whole(cut: int) -> None:
    is_whole = cut > WHOLE.index(stopped("tool_use"))

    said = list(streamed(Client(Stream(*WHOLE[:cut]))))

    assert isinstance(said[-1] if said else None, Finished) is is_whole
    if not is_whole:
        with pytest.raises(ModelFailed, match="without a finish"):
            assemble(said)


@pytest.mark.parametrize("cut", range(len(WHOLE)))
def test_a_stream_that_breaks_off_is_a_failure_until_the_answer_is_whole(cut: int) -> None:
    is_whole = cut > WHOLE.index(stopped("tool_use"))
    calling = streamed(Client(Stream(*WHOLE[:cut], ConnectionResetError())))

    if is_whole:
        assert isinstance(list(calling)[-1], Finished)
    else:
        with pytest.raises(ModelFailed, match="broke off") as raised:
            list(calling)
        assert (raised.value.code, raised.value.request_id) == (FailureCode.NETWORK, "r-1")


def test_counts_before_a_failure_are_told() -> None:
    reading = streamed(Client(Stream(COUNTS, ConnectionResetError())))

    assert isinstance(next(reading), UsageReported)
    with pytest.raises(ModelFailed):
        next(reading)


@pytest.mark.parametrize("error", [AttributeError(), KeyError(), TypeError(), ValueError()])
def test_what_the_parser_trips_over_is_an_answer_that_cannot_be_read(error: Exception) -> None:
    with pytest.raises(ModelFailed, match="cannot be read") as raised:
        list(streamed(Client(Stream(error))))

    assert raised.value.code == FailureCode.SERVER


def test_a_defect_of_ours_is_not_taken_for_bedrock_s() -> None:
    def stumble() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        list(streamed(Client(Stream(), before=stumble)))


def test_a_wait_for_the_next_event_can_be_cancelled_and_what_was_used_counts() -> None:
    hung = threading.Event()
    stream = Stream(COUNTS, hung.wait)
    until = time.monotonic() + 0.3
    reading = streamed(Client(stream), cancelled=lambda: time.monotonic() > until)

    assert isinstance(next(reading), UsageReported)
    with pytest.raises(ModelAborted):
        next(reading)

    assert time.monotonic() - until < 1
    hung.set()
    assert stream.closed.wait(1)


def test_a_wait_for_the_answer_s_beginning_can_be_cancelled_too() -> None:
    hung = threading.Event()
    stream = Stream(*ANSWER)

    with pytest.raises(ModelAborted):
        list(streamed(Client(stream, before=hung.wait), cancelled=lambda: True))

    assert not stream.closed.is_set()
    hung.set()
    assert stream.closed.wait(1)  # left to itself, it is dropped as soon as it has an answer


def test_events_that_come_when_nobody_reads_are_dropped_with_the_stream() -> None:
    hung = threading.Event()
    stream = Stream(delta(0, text="Hel"), hung.wait, *ANSWER)
    reading = streamed(Client(stream))

    next(reading)
    reading.close()  # type: ignore[attr-defined]  # a generator's
    hung.set()

    assert stream.closed.wait(1)


def test_a_socket_that_is_closed_already_is_left_alone() -> None:
    hung = threading.Event()
    stream: Any = Stream(delta(0, text="Hel"), hung.wait)
    with socket.socket() as unconnected:
        stream._raw_stream = SimpleNamespace(
            _fp=SimpleNamespace(fp=SimpleNamespace(raw=SimpleNamespace(_sock=unconnected)))
        )
        reading = streamed(Client(stream))

        next(reading)
        reading.close()  # type: ignore[attr-defined]  # a generator's

    hung.set()
    assert stream.closed.wait(1)


@pytest.mark.parametrize(("idle_s", "timeout_s"), [(0.2, 10), (10, 0.2)])
def test_silence_and_the_whole_have_their_limits(idle_s: float, timeout_s: float) -> None:
    hung = threading.Event()

    with pytest.raises(ModelFailed, match="did not answer in time") as raised:
        list(streamed(Client(Stream(hung.wait)), idle_s=idle_s, timeout_s=timeout_s))

    assert raised.value.code == FailureCode.TIMEOUT
    hung.set()


def test_a_client_that_cannot_be_made_says_why() -> None:
    def client_for(region: str) -> Any:
        assert region == ""
        raise aws.NoRegionError

    with pytest.raises(ModelFailed, match="no region for Amazon Bedrock") as raised:
        list(BedrockModel(client_for).stream(REQUEST, attempt=1, cancelled=lambda: False))

    assert raised.value.code == FailureCode.AUTH


def test_boto3_takes_the_parameters_and_its_refusal_is_told() -> None:
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )
    with Stubber(client) as stubber:
        stubber.add_client_error(
            "converse_stream",
            "ThrottlingException",
            "Slow down.",
            429,
            response_meta={"RequestId": "r-9", "HTTPHeaders": {"retry-after": "3"}},
        )
        with pytest.raises(ModelFailed) as raised:
            list(streamed(client))

    failure = raised.value
    assert (failure.code, failure.request_id, failure.retry_after_s) == (
        FailureCode.RATE_LIMIT,
        "r-9",
        3,
    )
