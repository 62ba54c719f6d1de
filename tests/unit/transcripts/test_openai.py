"""The reader of OpenAI's bodies takes a good one, and each rule refuses what breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from transcripts.openai import OpenAiRule as Rule
from transcripts.openai import refusals
from unit.transcripts.bodies import openai, spoiled

CALL = {"id": "c3", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TOOL = openai()["tools"][0]

BROKEN: list[tuple[str, Any, Rule]] = [
    ("messages", [], Rule.NO_MESSAGES),
    ("messages.0.role", "narrator", Rule.ROLE),
    ("messages.1.id", "u1", Rule.UNKNOWN_FIELD),
    ("messages.3.name", "look", Rule.UNKNOWN_FIELD),
    ("messages.1.tool_calls", [CALL], Rule.UNKNOWN_FIELD),
    ("output_schema", {}, Rule.UNKNOWN_FIELD),
    ("messages.6.name", "Ann Other", Rule.SPEAKER),
    ("messages.1.content", None, Rule.CONTENT),
    ("messages.1.content", [], Rule.CONTENT),
    ("messages.5.content", None, Rule.CONTENT),
    ("messages.3.content", None, Rule.CONTENT),
    ("messages.1.content.0.type", "video_url", Rule.PART_TYPE),
    ("messages.3.content", [{"type": "image_url", "image_url": {"url": "u"}}], Rule.PART_TYPE),
    ("messages.5.tool_calls", [], Rule.NO_CALLS),
    ("messages.2.tool_calls.0.id", "", Rule.CALL_ID),
    ("messages.2.tool_calls.0.id", "c" * 41, Rule.CALL_ID),
    ("messages.3.tool_call_id", None, Rule.CALL_ID),
    ("messages.2.tool_calls.1.id", "c1", Rule.REPEATED_ID),
    ("messages.2.tool_calls.0.function.name", "send.mail", Rule.FUNCTION_NAME),
    ("messages.2.tool_calls.0.function.name", "x" * 65, Rule.FUNCTION_NAME),
    ("messages.2.tool_calls.0.function.arguments", {}, Rule.ARGUMENTS),
    ("messages.3", None, Rule.UNANSWERED),
    ("messages.3", {"role": "user", "content": "Wait."}, Rule.UNANSWERED),
    ("messages.5.tool_calls", [CALL], Rule.UNANSWERED),
    ("messages.7", {"role": "assistant", "tool_calls": [CALL]}, Rule.UNANSWERED),
    ("messages.2", {"role": "assistant", "content": "No."}, Rule.UNASKED),
    ("messages.4.tool_call_id", "c2", Rule.UNASKED),
    ("messages.7", {"role": "tool", "tool_call_id": "c1", "content": "late"}, Rule.UNASKED),
    ("tools", [], Rule.TOOLS),
    ("tools.0.type", "web", Rule.TOOLS),
    ("tools.0.function.description", None, Rule.TOOLS),
    ("tools.0.function.name", "", Rule.TOOL_NAME),
    ("tools.1", TOOL, Rule.REPEATED_TOOL),
    ("tools.0.function.parameters", True, Rule.PARAMETERS),
    ("tools.0.function.parameters", {"type": "string"}, Rule.PARAMETERS),
    ("tools.0.function.parameters", {"type": "object", "oneOf": [{}]}, Rule.PARAMETERS),
    ("temperature", 2.1, Rule.SETTING),
    ("max_completion_tokens", 0, Rule.SETTING),
    ("stop", ["a", "b", "c", "d", "e"], Rule.SETTING),
    ("reasoning_effort", "some", Rule.SETTING),
]


def test_a_good_body_is_taken() -> None:
    assert list(refusals(openai())) == []


@pytest.mark.parametrize(("path", "value", "rule"), BROKEN)
def test_what_breaks_a_rule_is_refused_by_it(path: str, value: Any, rule: Rule) -> None:
    assert rule in {one.rule for one in refusals(spoiled(openai(), path, value))}


def test_every_rule_is_broken_here() -> None:
    assert {rule for _, _, rule in BROKEN} == set(Rule)
