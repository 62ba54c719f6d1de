"""Holds a neutral model request against what every provider takes.

The engine's own bodies are judged beside the straightforward ones, which it could not mend.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from everturn.llm.formats import anthropic as our_anthropic
from everturn.llm.formats import openai as our_openai
from everturn.protocol.json_text import compact
from everturn.protocol.llm import LlmRequest
from transcripts import anthropic, bedrock, openai, straightforward
from transcripts.anthropic import AnthropicRule
from transcripts.bedrock import BedrockRule
from transcripts.openai import OpenAiRule
from transcripts.refusal import Refusal

RULES = frozenset({*OpenAiRule, *AnthropicRule, *BedrockRule})


def refused(
    request: Mapping[str, Any], failed: Collection[str] = frozenset()
) -> tuple[Refusal, ...]:
    """Return what any provider has against a request, each thing once.

    `failed` are the tool calls whose result is an error.
    """
    return _refused(compact(request), frozenset(failed))


@lru_cache(maxsize=4096)
def _refused(text: str, failed: frozenset[str]) -> tuple[Refusal, ...]:
    request = json.loads(text)
    LlmRequest.model_validate(request)
    found = {
        *openai.refusals(straightforward.openai(request)),
        *openai.refusals(our_openai.to_body(request)),
        *anthropic.refusals(straightforward.anthropic(request, failed)),
        *bedrock.refusals(straightforward.bedrock(request, failed)),
    }
    try:
        found |= {*anthropic.refusals(our_anthropic.to_body(request, failed))}
    except our_anthropic.UnsupportedContent as error:
        found.add(Refusal(AnthropicRule.BLOCK_TYPE, "messages", str(error)))
    return tuple(sorted(found))
