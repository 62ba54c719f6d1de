"""A neutral request is held against all providers; a test may leave rules out, and says why."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.formats import anthropic as our_anthropic
from everturn.llm.formats import openai as our_openai
from transcripts import straightforward
from transcripts.anthropic import AnthropicRule
from transcripts.bedrock import BedrockRule
from transcripts.judge import refused
from transcripts.ledger import Ledger, Refused
from transcripts.openai import OpenAiRule
from unit.transcripts.bodies import neutral, spoiled

PDF = "data:application/pdf;base64,AAAA"
PNG = "data:image/png;base64,AAAA"
BLANK = {"messages": [{"role": "user", "content": " "}]}


def rules(request: dict[str, Any], failed: frozenset[str] = frozenset()) -> set[str]:
    """Return the rules that a request breaks."""
    return {str(one.rule) for one in refused(request, failed)}


def test_a_good_request_is_taken_by_all() -> None:
    assert refused(neutral()) == ()
    assert refused(neutral(), {"c1"}) == ()


def test_a_file_and_an_image_by_value_are_taken_by_all() -> None:
    parts = [
        {"type": "text", "text": "See."},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "file", "file": {"filename": "f.pdf", "file_data": PDF}},
    ]

    assert refused(neutral(messages=[{"role": "user", "content": parts}])) == ()


ENDS_WITH_ASSISTANT = {AnthropicRule.ENDS_WITH_ASSISTANT, BedrockRule.ENDS_WITH_ASSISTANT}
AUDIO = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}


@pytest.mark.parametrize(
    ("path", "value", "broken"),
    [
        ("messages", neutral()["messages"][:-1], ENDS_WITH_ASSISTANT),
        ("messages.1", None, {AnthropicRule.FIRST_USER, BedrockRule.FIRST_USER}),
        ("messages.6.content", " ", {AnthropicRule.BLANK_TEXT, BedrockRule.BLANK_TEXT}),
        (
            "messages.4",
            None,
            {OpenAiRule.UNANSWERED, AnthropicRule.UNANSWERED, BedrockRule.UNANSWERED},
        ),
        (
            "messages.7",
            {"role": "tool", "tool_call_id": "c9", "content": "late"},
            {OpenAiRule.UNASKED, AnthropicRule.UNASKED, BedrockRule.UNASKED}
            | {AnthropicRule.RESULTS_FIRST},
        ),
        ("messages.6.content.1", AUDIO, {AnthropicRule.BLOCK_TYPE, BedrockRule.BLOCK_TYPE}),
        ("tools", None, {BedrockRule.TOOL_CONFIG}),
        ("temperature", 1.5, {AnthropicRule.SETTING, BedrockRule.SETTING}),
        ("reasoning", {"effort": "high"}, {AnthropicRule.THINKING_BUDGET}),
    ],
)
def test_who_refuses_what_is_told_by_name(path: str, value: Any, broken: set[str]) -> None:
    request = spoiled(neutral(), path, value)
    kept = {name: one for name, one in request.items() if one is not None}

    assert broken <= rules(kept)


def test_an_id_with_a_dot_is_openais_alone() -> None:
    request = neutral()
    request["messages"][2]["tool_calls"][0]["id"] = "call.1"
    request["messages"][3]["tool_call_id"] = "call.1"

    assert rules(request) == {AnthropicRule.CALL_ID, BedrockRule.CALL_ID}


def test_the_engines_bodies_say_what_the_straightforward_ones_say() -> None:
    """W-4, W-6; content may be written as a string or as its one block."""
    request = neutral(temperature=1, max_completion_tokens=2048, stop=["END"])
    failed = frozenset({"c1"})

    assert our_openai.to_body(request) == straightforward.openai(request)
    assert as_blocks(our_anthropic.to_body(request, failed)) == as_blocks(
        straightforward.anthropic(request, failed)
    )


def as_blocks(body: Any) -> Any:
    """Return a body with each content as a list of blocks; the empty string has none."""
    if isinstance(body, list):
        return [as_blocks(one) for one in body]
    if not isinstance(body, dict):
        return body
    written = {name: as_blocks(value) for name, value in body.items()}
    if isinstance(content := body.get("content"), str):
        written["content"] = [{"type": "text", "text": content}] if content else []
    return written


# ---- the ledger


def test_what_a_test_sent_is_told_when_it_is_over() -> None:
    ledger = Ledger()
    ledger.open()
    ledger.note(neutral())
    ledger.close()
    ledger.note(neutral(**BLANK))

    with pytest.raises(Refused, match=r"anthropic.blank_text at messages.0.content.0; bedrock"):
        ledger.close()


def test_what_is_judged_at_once_is_told_at_once() -> None:
    ledger = Ledger()
    ledger.open()

    with pytest.raises(Refused, match="blank_text"):
        ledger.check(neutral(**BLANK))


def test_a_rule_that_is_left_out_does_not_count_but_has_to_be_broken() -> None:
    blank = {AnthropicRule.BLANK_TEXT, BedrockRule.BLANK_TEXT}
    ledger = Ledger()
    ledger.open(blank)
    ledger.check(neutral(**BLANK))
    ledger.close()
    ledger.open(blank)
    ledger.close(always=False)

    with pytest.raises(Refused, match="no request breaks it"):
        ledger.close()


def test_a_rule_that_there_is_not_cannot_be_left_out() -> None:
    with pytest.raises(AssertionError, match="no such rules"):
        Ledger().open({"openai.manners"})


@pytest.mark.parametrize(
    ("call_id", "is_known"),
    [("call_019b796d-d600-7132-be72-3c945a6f66ae", True), ("x" * 41, False)],
)
def test_a_known_gap_excuses_what_it_describes_and_nothing_else(
    call_id: str, is_known: bool
) -> None:
    request = neutral()
    request["messages"][2]["tool_calls"][0]["id"] = call_id
    request["messages"][3]["tool_call_id"] = call_id
    ledger = Ledger()
    ledger.open()
    ledger.note(request)

    assert rules(request) == {OpenAiRule.CALL_ID}
    try:
        ledger.close()
        told = ""
    except Refused as error:
        told = str(error)
    assert (told == "") == is_known


@pytest.mark.parametrize("form", [None, "openai", "anthropic"])
def test_a_worker_is_asked_to_run_what_its_provider_takes(form: str | None) -> None:
    spoilt = neutral(messages=[])
    bodies = {
        None: spoilt,
        "openai": our_openai.to_body(spoilt),
        "anthropic": our_anthropic.to_body(spoilt),
    }
    trigger = {"type": "llm.execute", "request": bodies[form], **({"format": form} if form else {})}
    ledger = Ledger()
    ledger.open()
    ledger.note_question({"trigger": {"type": "tool.execute"}})
    ledger.close()
    ledger.note_question({"trigger": trigger})

    with pytest.raises(Refused, match="no_messages"):
        ledger.close()
