"""A worker's model answer, in whichever format the call asked for, as the core takes it."""

from __future__ import annotations

from typing import Any, Final

from pydantic import TypeAdapter

from everturn.errors import RejectedError
from everturn.llm.formats import anthropic, openai
from everturn.llm.formats.usage import usage_of
from everturn.protocol.llm import LlmResponse
from everturn.protocol.message import DraftMessage, check_message
from everturn.protocol.wire import parse, to_json
from everturn.rejections import InvalidLlmResponse
from everturn.session.commands import ModelAnswered, ModelFailure

LLM_RESPONSE: Final = TypeAdapter(LlmResponse)

EMPTY: Final = "the model answered with nothing"
REFUSED: Final = "the model refused to answer"


def read_reply(format_name: str | None, body: Any) -> ModelAnswered | ModelFailure:
    """Return what an `llm.result`'s `response` says.

    Raises `InvalidLlmResponse` where it is not of the expected shape. Source: W-3, W-5, W-7, L-9.
    """
    match format_name:
        case None:
            return _neutral(body)
        case "anthropic":
            return replied(*anthropic.read_body(body))
        case _:
            return replied(*openai.read_body(body))


def _neutral(body: Any) -> ModelAnswered | ModelFailure:
    """Source: W-3."""
    try:
        response = parse(LLM_RESPONSE, body)
    except RejectedError as error:
        raise InvalidLlmResponse(f"/response{error.message}") from None
    message: dict[str, Any] = {"role": "assistant"}
    if response.images:
        text = [{"type": "text", "text": response.content}] if response.content else []
        images = [{"type": "image_url", "image_url": {"url": one.url}} for one in response.images]
        message["content"] = [*text, *images]
    elif response.content:
        message["content"] = response.content
    if response.tool_calls:
        message["tool_calls"] = [to_json(call) for call in response.tool_calls]
    usage = usage_of(to_json(response).get("usage"))
    return replied(message, response.finish_reason, usage, response.cost)


def replied(
    message: dict[str, Any], finish_reason: str | None, usage: Any, cost: str | None = None
) -> ModelAnswered | ModelFailure:
    """Return an answer, or the failure that it means: a refusal, or nothing at all. Source: L-9."""
    reason = finish_reason or ("tool_calls" if message.get("tool_calls") else "stop")
    if reason == "content_filter":
        return ModelFailure(REFUSED, "refused", retryable=False, usage=usage)
    if not message.get("content") and not message.get("tool_calls") and reason != "length":
        detail = {"reason": "empty_response"}
        return ModelFailure(EMPTY, "provider_error", True, detail, usage=usage)
    try:
        check_message(DraftMessage.model_validate({"content": "", **message}))
    except (RejectedError, ValueError):
        if message.get("content") or message.get("tool_calls"):
            raise InvalidLlmResponse("/response: its tool calls are not in order") from None
    return ModelAnswered(message=message, finish_reason=reason, usage=usage, cost=cost)
