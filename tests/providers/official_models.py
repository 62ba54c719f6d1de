"""Whether a provider would take a body, by the types of its official client.

Each function returns what is wrong, `place: sentence`, and nothing for a good body. The clients are
imported when they are first asked, since that takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from pydantic_core import SchemaValidator

from providers.converse import refusals_of_converse
from providers.gemini_request import GenerateContentRequest
from providers.request_model import refusals, strict_validator

GEMINI: Final = SchemaValidator(GenerateContentRequest.__pydantic_core_schema__)


def refusals_chat(body: Mapping[str, Any]) -> list[str]:
    """Return what OpenAI's Chat Completions would refuse of a streamed request."""
    name = "openai.types.chat.completion_create_params:CompletionCreateParamsStreaming"
    return refusals(_validator(name), body)


def refusals_responses(body: Mapping[str, Any]) -> list[str]:
    """Return what OpenAI's Responses would refuse of a streamed request."""
    name = "openai.types.responses.response_create_params:ResponseCreateParamsStreaming"
    return refusals(_validator(name), body)


def refusals_anthropic(body: Mapping[str, Any]) -> list[str]:
    """Return what Anthropic's Messages would refuse of a streamed request."""
    name = "anthropic.types.message_create_params:MessageCreateParamsStreaming"
    return refusals(_validator(name), body)


def refusals_gemini(body: Mapping[str, Any]) -> list[str]:
    """Return what Gemini's `streamGenerateContent` would refuse; the model is in its path."""
    return refusals(GEMINI, body)


def refusals_bedrock(parameters: Mapping[str, Any]) -> list[str]:
    """Return what Bedrock's `converse_stream` would refuse of its parameters."""
    return refusals_of_converse(parameters)


@cache
def _validator(name: str) -> SchemaValidator:
    module, _, official = name.partition(":")
    return strict_validator(getattr(import_module(module), official))
