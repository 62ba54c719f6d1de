"""The reader of Converse's parameters takes good ones, and each rule refuses what breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from transcripts.bedrock import BedrockRule as Rule
from transcripts.bedrock import refusals
from unit.transcripts.bodies import bedrock, spoiled

USE = {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}
RESULT = {"toolResult": {"toolUseId": "c1", "content": []}}
CALLED = [{"role": "user", "content": [{"text": "Go."}]}, {"role": "assistant", "content": [USE]}]
POINT = {"cachePoint": {"type": "default"}}
FILE = {"document": {"format": "pdf", "name": "a b-(1) [2]", "source": {"bytes": b"%PDF"}}}
ODD_FILE = {"document": {**FILE["document"], "name": "a.pdf"}}
SPEC = "toolConfig.tools.0.toolSpec"

BROKEN: list[tuple[str, Any, Rule]] = [
    ("inferenceConfig.maxTokens", 0, Rule.SHAPE),
    ("inferenceConfig.temperature", 1.5, Rule.SETTING),
    ("messages.1.content.1.toolUse.toolUseId", "", Rule.SHAPE),
    (f"{SPEC}.description", "", Rule.SHAPE),
    ("modelId", None, Rule.SHAPE),
    ("messages", [], Rule.NO_MESSAGES),
    ("messages.0.role", "system", Rule.ROLE),
    ("messages.0", None, Rule.FIRST_USER),
    ("messages.5", {"role": "user", "content": [{"text": "Hello?"}]}, Rule.ALTERNATION),
    ("messages.3.content", [], Rule.EMPTY_CONTENT),
    ("messages.0.content.0.text", " \n", Rule.BLANK_TEXT),
    ("messages.2.content.1.toolResult.content.0.text", "", Rule.BLANK_TEXT),
    ("system.0.text", " ", Rule.BLANK_TEXT),
    ("messages.0.content.0", USE, Rule.BLOCK_TYPE),
    ("messages.4.content.0", {"image_url": {}}, Rule.BLOCK_TYPE),
    ("messages.1.content.1.toolUse.toolUseId", "call.1", Rule.CALL_ID),
    ("messages.1.content.1.toolUse.toolUseId", "c" * 65, Rule.CALL_ID),
    ("messages.2.content.0.toolResult.toolUseId", "call@1", Rule.CALL_ID),
    ("messages.3.content.0", USE, Rule.REPEATED_ID),
    ("messages.1.content.1.toolUse.input", [], Rule.TOOL_INPUT),
    ("messages.2.content.0", None, Rule.UNANSWERED),
    ("messages", CALLED, Rule.UNANSWERED),
    ("messages.4.content.0", RESULT, Rule.UNASKED),
    ("messages.2.content.3", RESULT, Rule.UNASKED),
    ("messages.5", {"role": "assistant", "content": [{"text": "It"}]}, Rule.ENDS_WITH_ASSISTANT),
    ("messages.4.content", [POINT, {"text": "Go."}], Rule.CACHE_POINT),
    ("messages.4.content", [{"text": "Go."}, FILE, POINT], Rule.CACHE_POINT),
    ("toolConfig.tools.0", POINT, Rule.CACHE_POINT),
    ("messages.4.content", [FILE], Rule.DOCUMENT),
    ("messages.4.content", [{"text": "Go."}, FILE, FILE], Rule.DOCUMENT),
    ("messages.4.content", [{"text": "Go."}, ODD_FILE], Rule.DOCUMENT),
    ("toolConfig", {}, Rule.TOOL_CONFIG),
    (f"{SPEC}.name", "send.mail", Rule.TOOL_NAME),
    ("messages.1.content.1.toolUse.name", "x" * 65, Rule.TOOL_NAME),
    ("toolConfig.tools.1", bedrock()["toolConfig"]["tools"][0], Rule.REPEATED_TOOL),
    (f"{SPEC}.inputSchema.json", {"type": "string"}, Rule.INPUT_SCHEMA),
    (f"{SPEC}.inputSchema.json", True, Rule.INPUT_SCHEMA),
]


def test_good_parameters_are_taken() -> None:
    assert list(refusals(bedrock())) == []


def test_files_and_cache_points_are_taken_where_they_may_stand() -> None:
    body = spoiled(bedrock(), "messages.4.content", [FILE, {"text": "Go."}, POINT])
    tools = [*body["toolConfig"]["tools"], POINT]

    assert list(refusals(spoiled(body, "toolConfig.tools", tools))) == []


@pytest.mark.parametrize(("path", "value", "rule"), BROKEN)
def test_what_breaks_a_rule_is_refused_by_it(path: str, value: Any, rule: Rule) -> None:
    assert rule in {one.rule for one in refusals(spoiled(bedrock(), path, value))}


def test_every_rule_is_broken_here() -> None:
    assert {rule for _, _, rule in BROKEN} == set(Rule)
