"""OpenAI's Responses: requests out; the events that come in are read elsewhere.

Source: OpenAI API reference, "Responses", "Create a model response".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.http_model import Asked, Encoded, key_of
from everturn.llm.providers.openai_chat import BASE_URL
from everturn.llm.providers.openai_models import (
    NONE,
    cache_key,
    effort_for,
    limit_of,
    reasons,
    takes_parallel_choice,
)
from everturn.llm.providers.replays import replayed
from everturn.llm.providers.responses_input import instructions_and_input
from everturn.llm.providers.responses_stream import EventReader
from everturn.llm.providers.shape import Shaped, shaped
from everturn.llm.providers.strict import answer_format

MIN_OUTPUT_TOKENS: Final = 16
"""A smaller limit is refused. Source: OpenAI API, `max_output_tokens`, its 400."""


class OpenAiResponsesWire:
    """`Wire` of Responses at api.openai.com.

    Stop sequences have no slot there and are left out, as is the temperature of a model that
    reasons: an agent that was made for another provider answers all the same.
    """

    provider = "OpenAI"

    def encode(self, asked: Asked) -> Encoded:
        """Return the request: one POST to `/responses`."""
        shape = shaped(asked.request, takes_turns=False)
        model = asked.request["model"]
        said = {
            one.message_id: one for one in replayed(shape.messages, asked.beside.replays, model)
        }
        told, items = instructions_and_input(shape.messages, said)
        body: dict[str, Any] = {"model": model, "input": items, "store": False, "stream": True}
        body |= {"instructions": told} if told else {}
        body |= {**_tools(shape), **_reasoning(asked.request), **_settings(asked)}
        reasoning = asked.request.get("reasoning") or {}
        blocks = Blocks(shape.names, shows_reasoning=not reasoning.get("exclude"))
        return Encoded(
            url=f"{asked.beside.account.base_url or BASE_URL}/responses",
            headers={"authorization": f"Bearer {key_of(asked.beside, self.provider)}"},
            body=body,
            reader=EventReader(self.provider, blocks),
        )


def _tools(shape: Shaped) -> dict[str, Any]:
    if not shape.tools:
        return {}
    told: dict[str, Any] = {
        "tools": [
            {
                "type": "function",
                "name": tool["name"],
                "description": tool.get("description") or "",
                "parameters": tool["input"],
                "strict": False,  # else it is made strict, whatever it is
            }
            for tool in shape.tools
        ]
    }
    choice = shape.request.get("tool_choice")
    if isinstance(choice, Mapping):
        told["tool_choice"] = {"type": "function", "name": choice["name"]}
    elif choice:
        told["tool_choice"] = choice
    parallel = shape.request.get("parallel_tool_calls")
    if parallel is not None and takes_parallel_choice(shape.request["model"]):
        told["parallel_tool_calls"] = parallel
    return told


def _reasoning(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a model is told to reason, and to seal its reasoning so that it can come back.

    A summary is asked for where reasoning is: OpenAI gives none to organizations that are not
    verified, and refuses their whole request. Source: OpenAI API, "Reasoning summaries".
    """
    if not reasons(request["model"]):
        return {}
    effort = effort_for(request)
    told = {"effort": effort} if effort else {}
    if effort not in {None, NONE} and not (request.get("reasoning") or {}).get("exclude"):
        told["summary"] = "auto"
    included = {"include": ["reasoning.encrypted_content"]}
    return {**included, "reasoning": told} if told else included


def _settings(asked: Asked) -> dict[str, Any]:
    request, told = asked.request, dict[str, Any]()
    if limit := limit_of(asked):
        told["max_output_tokens"] = max(limit, MIN_OUTPUT_TOKENS)
    if request.get("temperature") is not None and not reasons(request["model"]):
        told["temperature"] = request["temperature"]
    schema = request.get("output_schema")
    if answer := answer_format(schema) if schema else None:
        told["text"] = {"format": {"type": "json_schema", **answer}}
    if asked.beside.cache_key:
        told["prompt_cache_key"] = cache_key(asked.beside.cache_key)
    return told
