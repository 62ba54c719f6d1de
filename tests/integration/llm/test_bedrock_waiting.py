"""`BedrockModel` waiting on loopback: cancelled, out of time, without an end, without a way out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from os import devnull
from typing import Any

import boto3
import pytest
from botocore.config import Config

from everturn.llm.assemble import assemble
from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from integration.llm.converse_spoken import GREETING, HELLO, NAMED, calling, stream
from providers.clients import bedrock_client
from providers.scripted import Answer, Ending, scripted_provider


@pytest.mark.parametrize("kept", ["keep-alive", "close"])
def test_a_wait_for_an_event_is_cancelled_within_a_second_and_its_connection_dropped(
    kept: str,
) -> None:
    is_cancelled = threading.Event()
    answer = Answer(tuple(HELLO[:2]), headers={**NAMED, "connection": kept}, ending=Ending.SILENT)

    with scripted_provider(answer) as provider, bedrock_client(provider.url) as client:
        reading = calling(client, is_cancelled.is_set)
        next(reading)
        at = time.monotonic()
        is_cancelled.set()
        with pytest.raises(ModelAborted):
            next(reading)
        took_s = time.monotonic() - at
        hung_up = provider.next_asked().hung_up.wait(2)

    assert took_s < 1
    assert hung_up


def test_a_wait_for_the_beginning_of_an_answer_is_cancelled_within_a_second() -> None:
    at = time.monotonic()
    begins = threading.Event()
    answer = stream(begins, *HELLO)

    with scripted_provider(answer) as provider, bedrock_client(provider.url) as client:
        with pytest.raises(ModelAborted):
            list(calling(client, lambda: time.monotonic() > at + 0.3))
        took_s = time.monotonic() - at
        begins.set()

    assert took_s < 1.3


def test_the_whole_has_its_limit() -> None:
    answer = stream(*HELLO[:2], ending=Ending.SILENT)

    with scripted_provider(answer) as provider, bedrock_client(provider.url) as client:
        with pytest.raises(ModelFailed) as raised:
            list(calling(client, timeout_s=0.3))
        hung_up = provider.next_asked().hung_up.wait(2)

    assert raised.value.code == FailureCode.TIMEOUT
    assert hung_up


def test_who_stops_reading_drops_the_connection() -> None:
    answer = stream(*HELLO[:2], ending=Ending.SILENT)

    with scripted_provider(answer) as provider, bedrock_client(provider.url) as client:
        reading = calling(client)
        next(reading)
        reading.close()  # type: ignore[attr-defined]  # a generator's
        hung_up = provider.next_asked().hung_up.wait(2)

    assert hung_up


def test_a_connection_serves_one_answer_after_another() -> None:
    answers = [stream(*HELLO), stream(*HELLO)]

    with scripted_provider(*answers) as provider, bedrock_client(provider.url) as client:
        said = [assemble(calling(client)).content for _ in answers]

    assert said == [GREETING, GREETING]
    assert provider.connections == 1


def test_an_answer_whose_end_does_not_come_is_waited_for_a_moment_only() -> None:
    at = time.monotonic()
    answer = stream(*HELLO, ending=Ending.SILENT)

    with scripted_provider(answer) as provider, bedrock_client(provider.url) as client:
        said = assemble(calling(client))
        took_s = time.monotonic() - at
        hung_up = provider.next_asked().hung_up.wait(2)

    assert said.content == GREETING
    assert took_s < 2
    assert hung_up


@contextmanager
def client_of(url: str, **more: Any) -> Iterator[Any]:
    """Open a client that is not as it should be."""
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=1, **more)
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=config,
    )
    with closing(client):
        yield client


def test_nobody_listens() -> None:
    with client_of("http://127.0.0.1:9") as client, pytest.raises(ModelFailed) as raised:
        list(calling(client))

    assert raised.value.code == FailureCode.NETWORK


@pytest.mark.parametrize("begun", [(), (HELLO[0],)])
def test_a_client_that_waits_less_long_than_we_do_times_out(begun: Sequence[bytes]) -> None:
    answer = stream(*begun, ending=Ending.SILENT)

    with (
        scripted_provider(answer) as provider,
        client_of(provider.url, read_timeout=0.3) as client,
        pytest.raises(ModelFailed) as raised,
    ):
        list(calling(client))

    assert raised.value.code == FailureCode.TIMEOUT


def test_without_credentials_it_is_told_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, devnull)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    client = boto3.Session().client("bedrock-runtime", region_name="us-east-1")

    with closing(client), pytest.raises(ModelFailed, match="no AWS credentials") as raised:
        list(calling(client))

    assert raised.value.code == FailureCode.AUTH
