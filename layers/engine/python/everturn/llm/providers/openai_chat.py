"""OpenAI's chat completions: requests out; the chunks that come in are read elsewhere.

Source: OpenAI API reference, "Chat completions".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.llm.formats import openai as chat_format
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.chat_messages import OPENAI, chat_messages
from everturn.llm.providers.chat_stream import ChunkReader
from everturn.llm.providers.http_model import Asked, Encoded, key_of
from everturn.llm.providers.openai_models import (
    cache_key,
    chat_effort_for,
    limit_of,
    reasons,
    takes_parallel_choice,
)
from everturn.llm.providers.shape import shaped
from everturn.llm.providers.strict import answer_format

BASE_URL: Final = "https://api.openai.com/v1"
MAX_STOPS: Final = 4
"""Of more stop sequences, the first ones are sent. Source: OpenAI API, `stop`."""


class OpenAiChatWire:
    """`Wire` of chat completions at api.openai.com.

    A model that reasons is sent neither temperature nor stop sequences, which it refuses. From
    GPT-5.4 on, tools go with a model that does not reason only: where no effort is asked for, it is
    told not to. Whoever wants both has the Responses API.
    """

    provider = "OpenAI"

    def encode(self, asked: Asked) -> Encoded:
        """Return the request: one POST to `/chat/completions`."""
        shape = shaped(asked.request, takes_turns=False)
        request = {**shape.request, "messages": [*chat_messages(shape.messages, OPENAI)]}
        account = asked.beside.account
        shows = not (asked.request.get("reasoning") or {}).get("exclude")
        return Encoded(
            url=f"{account.base_url or BASE_URL}/chat/completions",
            headers={"authorization": f"Bearer {key_of(asked.beside, self.provider)}"},
            body={**chat_format.to_body(_known(request, asked)), **_beside(asked)},
            reader=ChunkReader(self.provider, Blocks(shape.names, shows_reasoning=shows)),
        )


def response_format(schema: Any, *, may_be_strict: bool) -> dict[str, Any]:
    """Return the field that asks for a structured answer, empty where none can be asked for."""
    told = answer_format(schema, may_be_strict=may_be_strict) if schema else None
    return {"response_format": {"type": "json_schema", "json_schema": told}} if told else {}


def _known(request: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    """Return a request without what the model refuses."""
    model = request["model"]
    known = {**request, "max_completion_tokens": limit_of(asked)}
    known["reasoning"] = {"effort": chat_effort_for(request)}
    if reasons(model):
        known |= {"temperature": None, "stop": None}
    else:
        known["stop"] = list(request.get("stop") or ())[:MAX_STOPS] or None
    if not takes_parallel_choice(model):
        known["parallel_tool_calls"] = None
    return known


def _beside(asked: Asked) -> dict[str, Any]:
    told = response_format(asked.request.get("output_schema"), may_be_strict=True)
    if asked.beside.cache_key:
        told["prompt_cache_key"] = cache_key(asked.beside.cache_key)
    return {**told, "stream": True, "stream_options": {"include_usage": True}}
