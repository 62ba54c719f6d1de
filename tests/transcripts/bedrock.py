"""What Amazon Bedrock's Converse refuses.

Types and least lengths are held against the service's own description, which botocore ships; the
rest stands here. Source: "Converse", Bedrock API reference, and the messages of its
ValidationExceptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from botocore.loaders import Loader
from botocore.model import ServiceModel, StructureShape
from botocore.validate import ParamValidator

from transcripts.refusal import Refusal, is_blank, is_object_schema, repeated

CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The description of late also has `.` and `:`; models behind it do not take them."""

DOCUMENT_NAME: Final = re.compile(r"(?:[A-Za-z0-9\-()\[\]]|\s(?!\s))+")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CONVERTED: Final = {"document", "video", "audio"}
"""Blocks that Bedrock makes something else of, so that no cache point may follow one."""

BLOCKS: Final = {
    "user": {"text", "image", "document", "video", "audio", "toolResult", "cachePoint"},
    "assistant": {"text", "toolUse", "reasoningContent"},
    "toolResult": {"text", "json", "image", "document", "video"},
}


class BedrockRule(StrEnum):
    """Rules by the names under which they can be left out."""

    SHAPE = "bedrock.shape"
    """The service's description: required fields, types, least lengths and numbers."""

    NO_MESSAGES = "bedrock.no_messages"
    ROLE = "bedrock.role"
    FIRST_USER = "bedrock.first_user"
    ALTERNATION = "bedrock.alternation"
    EMPTY_CONTENT = "bedrock.empty_content"
    CACHE_POINT = "bedrock.cache_point"
    """It stands behind something, and not behind a file that is converted."""

    DOCUMENT = "bedrock.document"
    """Names are of certain characters and not repeated; text stands beside one."""

    BLANK_TEXT = "bedrock.blank_text"
    BLOCK_TYPE = "bedrock.block_type"
    CALL_ID = "bedrock.call_id"
    """An id that a model elsewhere made, or a worker, may have other characters (X-7)."""

    REPEATED_ID = "bedrock.repeated_id"
    TOOL_INPUT = "bedrock.tool_input"
    UNANSWERED = "bedrock.unanswered"
    UNASKED = "bedrock.unasked"
    """No more results than uses in the turn before, and none of other uses."""

    ENDS_WITH_ASSISTANT = "bedrock.ends_with_assistant"
    """Most models behind it take no prefill."""

    TOOL_CONFIG = "bedrock.tool_config"
    """It is there wherever a `toolUse` or a `toolResult` stands."""

    TOOL_NAME = "bedrock.tool_name"
    REPEATED_TOOL = "bedrock.repeated_tool"
    INPUT_SCHEMA = "bedrock.input_schema"
    SETTING = "bedrock.setting"


Found = Iterator[Refusal]


def refusals(body: Mapping[str, Any]) -> Found:
    """Yield what is wrong with the parameters of `Converse`, nothing for good ones."""
    messages = body.get("messages") or ()
    yield from _shape(body)
    yield from _order(messages)
    for at, message in enumerate(messages):
        yield from _message(f"messages.{at}", message)
    for at, block in enumerate(body.get("system") or ()):
        if is_blank(block.get("text")):
            yield Refusal(BedrockRule.BLANK_TEXT, f"system.{at}")
    yield from _pairs(messages)
    yield from _documents(messages)
    kinds = {kind for message in messages for block in message["content"] for kind in block}
    if kinds & {"toolUse", "toolResult"} and not body.get("toolConfig"):
        yield Refusal(BedrockRule.TOOL_CONFIG, "toolConfig")
    yield from _tools((body.get("toolConfig") or {}).get("tools") or ())
    warmth = (body.get("inferenceConfig") or {}).get("temperature", 0)
    if warmth > 1:
        yield Refusal(BedrockRule.SETTING, "inferenceConfig.temperature", str(warmth))


@lru_cache(maxsize=1)
def _described() -> StructureShape:
    model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    shape = model.operation_model("Converse").input_shape
    assert shape is not None
    return shape


def _shape(body: Mapping[str, Any]) -> Found:
    report = ParamValidator().validate(body, _described())
    if report.has_errors():
        for line in report.generate_report().splitlines():
            yield Refusal(BedrockRule.SHAPE, "body", line)


def _order(messages: Sequence[Mapping[str, Any]]) -> Found:
    if not messages:
        yield Refusal(BedrockRule.NO_MESSAGES, "messages")
        return
    roles = [message.get("role") for message in messages]
    if roles[0] != "user":
        yield Refusal(BedrockRule.FIRST_USER, "messages.0", repr(roles[0]))
    if roles[-1] == "assistant":
        yield Refusal(BedrockRule.ENDS_WITH_ASSISTANT, f"messages.{len(roles) - 1}")
    for at, (one, next_one) in enumerate(pairwise(roles), start=1):
        if one == next_one:
            yield Refusal(BedrockRule.ALTERNATION, f"messages.{at}", repr(one))


def _message(where: str, message: Mapping[str, Any]) -> Found:
    role = message.get("role")
    if role not in {"user", "assistant"}:
        yield Refusal(BedrockRule.ROLE, where, repr(role))
        return
    if not message["content"]:
        yield Refusal(BedrockRule.EMPTY_CONTENT, where)
    for at, block in enumerate(message["content"]):
        yield from _block(f"{where}.content.{at}", block, role)
    yield from _cache_points(where, message["content"])
    kinds = {kind for block in message["content"] for kind in block}
    if "document" in kinds and "text" not in kinds:
        yield Refusal(BedrockRule.DOCUMENT, where, "no text")


def _cache_points(where: str, content: Sequence[Mapping[str, Any]]) -> Found:
    for at, block in enumerate(content):
        before = set(content[at - 1]) if at else set()
        if "cachePoint" in block and (not before or before & CONVERTED):
            yield Refusal(BedrockRule.CACHE_POINT, f"{where}.content.{at}")


def _documents(messages: Sequence[Mapping[str, Any]]) -> Found:
    blocks = [block for message in messages for block in message["content"]]
    inner = [one for block in blocks for one in block.get("toolResult", {}).get("content", ())]
    names = [one["document"]["name"] for one in (*blocks, *inner) if "document" in one]
    for name in names:
        if DOCUMENT_NAME.fullmatch(name) is None:
            yield Refusal(BedrockRule.DOCUMENT, "messages", repr(name))
    for name in repeated(names):
        yield Refusal(BedrockRule.DOCUMENT, "messages", repr(name))


def _block(where: str, block: Mapping[str, Any], holder: str) -> Found:
    kind = next(iter(block), "")
    if kind not in BLOCKS[holder]:
        yield Refusal(BedrockRule.BLOCK_TYPE, where, f"{kind!r} in {holder}")
        return
    value = block[kind]
    match kind:
        case "text" if is_blank(value):
            yield Refusal(BedrockRule.BLANK_TEXT, where)
        case "toolUse":
            if CALL_ID.fullmatch(value["toolUseId"]) is None:
                yield Refusal(BedrockRule.CALL_ID, where, repr(value["toolUseId"]))
            if TOOL_NAME.fullmatch(value["name"]) is None:
                yield Refusal(BedrockRule.TOOL_NAME, where, repr(value["name"]))
            if not isinstance(value["input"], dict):
                yield Refusal(BedrockRule.TOOL_INPUT, where, repr(value["input"]))
        case "toolResult":
            if CALL_ID.fullmatch(value["toolUseId"]) is None:
                yield Refusal(BedrockRule.CALL_ID, where, repr(value["toolUseId"]))
            for at, inner in enumerate(value["content"]):
                yield from _block(f"{where}.toolResult.content.{at}", inner, "toolResult")


def _pairs(messages: Sequence[Mapping[str, Any]]) -> Found:
    owed: list[str] = []
    uses: list[str] = []
    for at, message in enumerate(messages):
        results = [
            one["toolResult"]["toolUseId"] for one in message["content"] if "toolResult" in one
        ]
        for call_id in results:
            if call_id not in owed:
                yield Refusal(BedrockRule.UNASKED, f"messages.{at}", repr(call_id))
        if len(results) > len(owed):
            yield Refusal(BedrockRule.UNASKED, f"messages.{at}", "more results than uses")
        for call_id in owed:
            if call_id not in results:
                yield Refusal(BedrockRule.UNANSWERED, f"messages.{at - 1}", repr(call_id))
        owed = [one["toolUse"]["toolUseId"] for one in message["content"] if "toolUse" in one]
        uses += owed
    for call_id in owed:
        yield Refusal(BedrockRule.UNANSWERED, f"messages.{len(messages) - 1}", repr(call_id))
    for call_id in repeated(uses):
        yield Refusal(BedrockRule.REPEATED_ID, "messages", repr(call_id))


def _tools(tools: Sequence[Mapping[str, Any]]) -> Found:
    if any("cachePoint" in tool for tool in tools[:1]):
        yield Refusal(BedrockRule.CACHE_POINT, "toolConfig.tools.0")
    specs = [tool["toolSpec"] for tool in tools if "toolSpec" in tool]
    for name in repeated(spec["name"] for spec in specs):
        yield Refusal(BedrockRule.REPEATED_TOOL, "toolConfig", repr(name))
    for at, spec in enumerate(specs):
        where = f"toolConfig.tools.{at}.toolSpec"
        if TOOL_NAME.fullmatch(spec["name"]) is None:
            yield Refusal(BedrockRule.TOOL_NAME, where, repr(spec["name"]))
        if not is_object_schema(spec["inputSchema"]["json"]):
            yield Refusal(BedrockRule.INPUT_SCHEMA, where)
