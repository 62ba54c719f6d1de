"""The neutral form of a model request, its answer and its stream.

It must not know a provider.
"""

from typing import Annotated, Literal

from pydantic import Field

from everturn.protocol.message import DraftMessage, ToolCall
from everturn.protocol.wire import Json, JsonSchema, Maybe, Number, Seq, WireModel

ReasoningEffort = Literal["xhigh", "high", "medium", "low", "minimal", "none"]

Format = Literal["openai", "anthropic"]
"""A provider's own bodies instead of the neutral ones, for worker-run calls."""

Money = Annotated[str, Field(pattern=r"^-?[0-9]+(\.[0-9]+)?$")]
"""Dollars as a decimal string. Source: M-8."""

Temperature = Annotated[Number, Field(ge=0)]

Tokens = Annotated[int, Field(ge=0)]


class LlmTool(WireModel):
    """A tool as the model sees it; without `input` it takes no arguments."""

    name: str
    description: str
    input: Maybe[JsonSchema] = None
    output: Maybe[JsonSchema] = None


class ReasoningConfig(WireModel):
    """How much a model thinks, and whether the caller sees it."""

    effort: Maybe[ReasoningEffort] = None
    max_tokens: Maybe[Tokens] = None
    exclude: Maybe[bool] = None
    enabled: Maybe[bool] = None


class NamedTool(WireModel):
    """The one tool that a model must call."""

    name: str


ToolChoice = Literal["auto", "none", "required"] | NamedTool
"""Whether the model may, must not or must call a tool, or which one."""


class LlmRequest(WireModel):
    """A model request with every field filled; from `stop` on ours (O-3), absent by default."""

    model: str
    messages: Seq[DraftMessage]
    tools: Maybe[Seq[LlmTool]] = None
    temperature: Maybe[Temperature] = None
    max_completion_tokens: Maybe[Tokens] = None
    reasoning: Maybe[ReasoningConfig] = None
    stop: Maybe[Seq[str]] = None
    output_schema: Maybe[JsonSchema] = None
    tool_choice: Maybe[ToolChoice] = None
    parallel_tool_calls: Maybe[bool] = None


class ResponseImage(WireModel):
    """An image that the model made."""

    url: str


class LlmResponse(WireModel):
    """A model's whole answer."""

    model: str
    content: Maybe[str] = None
    tool_calls: Maybe[Seq[ToolCall]] = None
    finish_reason: Maybe[str] = None
    usage: Maybe[Json] = None
    cost: Maybe[Money] = None
    images: Maybe[Seq[ResponseImage]] = None


class ToolCallDelta(WireModel):
    """A piece of a tool call; pieces of one call share the id."""

    id: str
    name: Maybe[str] = None
    arguments: Maybe[str] = None


class StreamDelta(WireModel):
    """One piece of a streamed answer."""

    text: Maybe[str] = None
    reasoning: Maybe[str] = None
    tool_calls: Maybe[Seq[ToolCallDelta]] = None
    finish_reason: Maybe[str] = None


class Usage(WireModel):
    """Counts that do not overlap, but for reasoning, which is part of output. Source: Y-2."""

    input_tokens: Tokens
    """Uncached input."""

    output_tokens: Tokens
    cache_read_tokens: Maybe[Tokens] = None
    cache_write_tokens: Maybe[Tokens] = None
    reasoning_tokens: Maybe[Tokens] = None
    provider: Maybe[Json] = None
    """A provider's usage that no rule reads, as it came."""
