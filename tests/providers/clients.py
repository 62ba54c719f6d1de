"""Official clients that speak to a server of a test: no retries, no keys of anybody's.

They are imported when they are first made, since that takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from anthropic import Anthropic
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient
    from openai import OpenAI

TIMEOUT_S = 10
KEY = "test-key"


def error_of(name: str) -> type[Exception]:
    """Return an error of a client by its name, as `openai.APIStatusError`."""
    module, _, error = name.rpartition(".")
    found: type[Exception] = getattr(import_module(module), error)
    return found


def openai_client(base_url: str) -> OpenAI:
    """Return OpenAI's client; `base_url` ends in `/v1`."""
    client: Any = import_module("openai")
    return cast(
        "OpenAI",
        client.OpenAI(base_url=base_url, api_key=KEY, max_retries=0, timeout=TIMEOUT_S),
    )


def anthropic_client(base_url: str) -> Anthropic:
    """Return Anthropic's client; `base_url` does not end in `/v1`."""
    client: Any = import_module("anthropic")
    return cast(
        "Anthropic",
        client.Anthropic(base_url=base_url, api_key=KEY, max_retries=0, timeout=TIMEOUT_S),
    )


@contextmanager
def bedrock_client(url: str) -> Iterator[BedrockRuntimeClient]:
    """Open boto3's client of bedrock-runtime."""
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(
            retries={"total_max_attempts": 1},
            connect_timeout=TIMEOUT_S,
            read_timeout=TIMEOUT_S,
        ),
    )
    with closing(client):
        yield client
