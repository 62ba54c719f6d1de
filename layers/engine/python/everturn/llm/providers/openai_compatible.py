"""Chat completions as OpenRouter, vLLM, Ollama, LiteLLM, Groq, xAI, DeepSeek and others take them.

Only what most of them know is sent; the chunks that come in are read elsewhere.
Source: each server's page on its OpenAI-compatible API; OpenRouter API, "Reasoning tokens".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.formats import openai as chat_format
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.chat_details import details_of
from everturn.llm.providers.chat_messages import Dialect, chat_messages
from everturn.llm.providers.chat_stream import REASONING_FIELDS, ChunkReader
from everturn.llm.providers.http_model import Asked, Encoded
from everturn.llm.providers.media import document_of, image_of, video_of
from everturn.llm.providers.openai_chat import response_format
from everturn.llm.providers.openai_models import NONE, effort_of, limit_of
from everturn.llm.providers.replays import Said, replayed
from everturn.llm.providers.shape import shaped

OPEN_ROUTER: Final = "openrouter.ai"


class OpenAiCompatibleWire:
    """`Wire` of servers that speak like OpenAI's chat completions, at the account's base URL.

    A key is optional. An output schema goes along, never strict: most servers hold their model to
    it, and one that does not know the field refuses the request or ignores it. A server that does
    not know `stream_options` may refuse the request too; without it, none would tell its usage.

    Thinking goes back in the field it came in, as DeepSeek and others demand where tools are
    called; to OpenRouter as the details it came in, signatures included.
    """

    provider = "The OpenAI-compatible server"

    def encode(self, asked: Asked) -> Encoded:
        """Return the request: one POST to `/chat/completions`.

        Raises `ModelFailed` for an account without a base URL.
        """
        account = asked.beside.account
        if not account.base_url:
            told = "no base URL: name the server's with `everturn providers set`"
            raise ModelFailed(told, FailureCode.INVALID_REQUEST)
        is_router = is_open_router(account.base_url)
        shape = shaped(asked.request, takes_turns=False)
        again = {
            one.message_id: _again(one, is_router=is_router)
            for one in replayed(shape.messages, asked.beside.replays, asked.request["model"])
        }
        messages = [
            {**message, **again.get(message.get("id") or "", {})}
            for message in chat_messages(shape.messages, DIALECT)
        ]
        request = {**shape.request, "messages": messages, "reasoning": None}
        limit = limit_of(asked)
        body = chat_format.to_body({**request, "max_completion_tokens": None})
        body |= {"max_tokens": limit} if limit else {}
        body |= _reasoning(asked.request.get("reasoning") or {}, is_router=is_router)
        body |= response_format(asked.request.get("output_schema"), may_be_strict=False)
        key = account.api_key
        return Encoded(
            url=f"{account.base_url}/chat/completions",
            headers={"authorization": f"Bearer {key}"} if key else {},
            body={**body, "stream": True, "stream_options": {"include_usage": True}},
            reader=ChunkReader(
                self.provider,
                Blocks(
                    shape.names,
                    shows_reasoning=not (asked.request.get("reasoning") or {}).get("exclude"),
                ),
                keeps_details=is_router,
            ),
        )


def is_open_router(base_url: str) -> bool:
    """Return whether a URL is OpenRouter's."""
    host = urlsplit(base_url).hostname or ""
    return host == OPEN_ROUTER or host.endswith(f".{OPEN_ROUTER}")


def _as_it_is(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part: which ones a server takes is for it to say, but not where it may look.

    The server stands in the operator's network, and fetches what links lead to.
    """
    match part["type"]:
        case "image_url":
            image_of(part)
        case "video_url":
            video_of(part)
        case "file":
            url = document_of(part).url
            given = part["file"]
            is_bare = ":" not in given["file_data"]
            return {**part, "file": {**given, "file_data": url}} if is_bare else part
    return part


DIALECT: Final = Dialect("chat completions", _as_it_is, takes_malformed=False)


def _reasoning(asked: Mapping[str, Any], *, is_router: bool) -> dict[str, Any]:
    """Return how a model is told to think.

    OpenRouter takes an object, with either an effort or a number of tokens. Other servers are told
    an effort; that there is to be none only in so many words, since few know it.
    """
    if not is_router:
        effort = effort_of(asked)
        is_said = effort != NONE or asked.get("effort") == NONE
        return {"reasoning_effort": effort} if effort and is_said else {}
    told = {name: asked[name] for name in ("enabled", "exclude") if asked.get(name) is not None}
    measure = "effort" if asked.get("effort") else "max_tokens"
    if asked.get(measure) and asked.get("enabled") is not False:
        told[measure] = asked[measure]
    return {"reasoning": told} if told else {}


def _again(said: Said, *, is_router: bool) -> dict[str, Any]:
    """Return the fields that a message has beside the public ones."""
    details = details_of(said.blocks) if is_router else []
    if details:
        return {"reasoning_details": details}
    name = _thought_in(said.state)
    thoughts = _thoughts(said.blocks)
    return {name: thoughts} if name and thoughts else {}


def _thoughts(blocks: Sequence[Mapping[str, Any]]) -> str:
    return "".join(block["thinking"] for block in blocks if block["type"] == "reasoning")


def _thought_in(state: str | None) -> str | None:
    """Return the field that the thinking came in; nothing for a state that cannot be read."""
    try:
        told = json.loads(state or "null")
    except ValueError:
        return None
    name = told.get("reasoning") if isinstance(told, dict) and told.get("v") == 1 else None
    return name if name in REASONING_FIELDS else None
