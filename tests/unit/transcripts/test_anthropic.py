"""The reader of Anthropic's bodies takes a good one, and each rule refuses what breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from transcripts.anthropic import AnthropicRule as Rule
from transcripts.anthropic import refusals
from unit.transcripts.bodies import anthropic, spoiled, text

USE = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "late"}
FILE = {"type": "base64", "media_type": "image/bmp", "data": "AA"}
CALLED = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [USE]}]

BROKEN: list[tuple[str, Any, Rule]] = [
    ("messages", [], Rule.NO_MESSAGES),
    ("messages.0.role", "system", Rule.ROLE),
    ("messages.0", None, Rule.FIRST_USER),
    ("messages.5", {"role": "user", "content": "Hello?"}, Rule.ALTERNATION),
    ("messages.3.content", "", Rule.EMPTY_CONTENT),
    ("messages.0.content", [], Rule.EMPTY_CONTENT),
    ("messages.0.content", " \n", Rule.BLANK_TEXT),
    ("messages.1.content.0.text", "", Rule.BLANK_TEXT),
    ("messages.2.content.1.content.0.text", " ", Rule.BLANK_TEXT),
    ("system", "", Rule.BLANK_TEXT),
    ("messages.0.content", [USE], Rule.BLOCK_TYPE),
    ("messages.3.content", [RESULT], Rule.BLOCK_TYPE),
    ("messages.4.content.0.type", "input_audio", Rule.BLOCK_TYPE),
    ("messages.4.content.0.source", FILE, Rule.SOURCE),
    ("messages.4.content.0.source", {"type": "url", "url": "everturn:upload:1"}, Rule.SOURCE),
    ("messages.4.content.0.source", {"type": "file"}, Rule.SOURCE),
    ("messages.4.content.0.type", "document", Rule.SOURCE),
    ("messages.1.content.1.id", "call.1", Rule.CALL_ID),
    ("messages.2.content.0.tool_use_id", "call:1", Rule.CALL_ID),
    ("messages.1.content.2.id", "c1", Rule.REPEATED_ID),
    ("messages.2.content.0.tool_use_id", "c1", Rule.REPEATED_ID),
    ("messages.3.content", [USE], Rule.REPEATED_ID),
    ("messages.1.content.1.input", "{}", Rule.TOOL_INPUT),
    ("messages.2.content.0", None, Rule.UNANSWERED),
    ("messages", CALLED, Rule.UNANSWERED),
    ("messages.3.content", [{**USE, "id": "c3"}], Rule.UNANSWERED),
    ("messages.4.content.0", RESULT, Rule.UNASKED),
    ("messages.0.content", [RESULT], Rule.UNASKED),
    ("messages.2.content.0", text("Look:"), Rule.RESULTS_FIRST),
    ("messages.5", {"role": "assistant", "content": "It"}, Rule.ENDS_WITH_ASSISTANT),
    ("messages.5", {"role": "assistant", "content": "It is "}, Rule.TRAILING_SPACE),
    ("messages.1.content.1.name", "send.mail", Rule.TOOL_NAME),
    ("tools.0.name", "x" * 129, Rule.TOOL_NAME),
    ("tools.1", anthropic()["tools"][0], Rule.REPEATED_TOOL),
    ("tools.0.input_schema", {}, Rule.INPUT_SCHEMA),
    ("tools.0.input_schema", {"type": "object", "anyOf": []}, Rule.INPUT_SCHEMA),
    ("max_tokens", 0, Rule.MAX_TOKENS),
    ("max_tokens", None, Rule.MAX_TOKENS),
    ("thinking.budget_tokens", 1023, Rule.THINKING_BUDGET),
    ("thinking.budget_tokens", 4096, Rule.THINKING_BUDGET),
    ("messages", anthropic()["messages"][:3], Rule.THINKING_FIRST),
    ("temperature", 0, Rule.THINKING_TEMPERATURE),
    ("temperature", 1.5, Rule.SETTING),
    ("stop_sequences", ["\n"], Rule.SETTING),
]


def test_a_good_body_is_taken() -> None:
    assert list(refusals(anthropic())) == []


@pytest.mark.parametrize(("path", "value", "rule"), BROKEN)
def test_what_breaks_a_rule_is_refused_by_it(path: str, value: Any, rule: Rule) -> None:
    assert rule in {one.rule for one in refusals(spoiled(anthropic(), path, value))}


def test_every_rule_is_broken_here() -> None:
    assert {rule for _, _, rule in BROKEN} == set(Rule)


def test_thinking_that_was_kept_may_be_gone_on_with() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    body = spoiled(anthropic(), "messages", anthropic()["messages"][:3])

    assert list(refusals(spoiled(body, "messages.1.content.0", thought))) == []
