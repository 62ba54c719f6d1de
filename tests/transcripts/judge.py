"""Holds what the engine's adapters would send of a neutral request against what providers take.

A request of which a provider has no place for a part is no refusal: the adapter says so itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from everturn.llm.failure import ModelFailed
from everturn.llm.providers.anthropic import AnthropicWire
from everturn.llm.providers.bedrock_request import to_parameters
from everturn.llm.providers.http_model import Asked
from everturn.llm.providers.openai_chat import OpenAiChatWire
from everturn.ports.model import Account, Beside
from everturn.protocol.json_text import compact
from everturn.protocol.llm import LlmRequest
from transcripts import anthropic, bedrock, openai
from transcripts.refusal import Refusal

BESIDE: Final = Beside(account=Account(api_key="any"))
UPLOAD: Final = re.compile(r'everturn:upload:[^"\\]*')
PICTURE: Final = "data:image/png;base64,iVBORw0KGgo="
"""Stands for any upload: what it is cannot be told from its reference."""

_OF_THE_ANSWER: Final = {"stream", "stream_options", "prompt_cache_key"}
"""Fields that say nothing of the conversation."""


def refused(
    request: Mapping[str, Any], failed: Collection[str] = frozenset()
) -> tuple[Refusal, ...]:
    """Return what any provider has against a request, each thing once.

    `failed` are the tool calls whose result is an error.
    """
    return _refused(compact(request), frozenset(failed))


@lru_cache(maxsize=4096)
def _refused(text: str, failed: frozenset[str]) -> tuple[Refusal, ...]:
    request = json.loads(UPLOAD.sub(PICTURE, text))
    LlmRequest.model_validate(request)
    asked = Asked(request, failed, BESIDE)
    found = {
        *_found(lambda: openai.refusals(of_conversation(OpenAiChatWire().encode(asked).body))),
        *_found(lambda: anthropic.refusals(unmarked(AnthropicWire().encode(asked).body))),
        *_found(lambda: bedrock.refusals(to_parameters(asked)[0])),
    }
    return tuple(sorted(found))


def _found(judged: Callable[[], Iterator[Refusal]]) -> tuple[Refusal, ...]:
    try:
        return tuple(judged())
    except ModelFailed:
        return ()


def of_conversation(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body without the fields that are about its answer."""
    return {name: value for name, value in body.items() if name not in _OF_THE_ANSWER}


def unmarked(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return one of Anthropic's bodies without marks for its cache."""
    cleaned: dict[str, Any] = json.loads(json.dumps(of_conversation(body)), object_hook=_unmarked)
    if isinstance(cleaned.get("system"), list):
        cleaned["system"] = cleaned["system"][0]["text"]
    return cleaned


def _unmarked(value: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name != "cache_control"}
