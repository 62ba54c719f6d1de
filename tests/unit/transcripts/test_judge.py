"""A neutral request is held against all providers; a test may leave rules out, and says why."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.formats import anthropic as our_anthropic
from everturn.llm.formats import openai as our_openai
from transcripts.anthropic import AnthropicRule
from transcripts.bedrock import BedrockRule
from transcripts.judge import refused
from transcripts.ledger import Ledger, Refused
from transcripts.openai import OpenAiRule
from unit.transcripts.bodies import neutral, spoiled

PDF = "data:application/pdf;base64,AAAA"
PNG = "data:image/png;base64,AAAA"


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


HOT = {"temperature": 1.5}
"""OpenAI takes it, the others do not, and nobody's wish is changed behind its back."""


@pytest.mark.parametrize(
    ("path", "value", "broken"),
    [
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
        ("temperature", 1.5, {AnthropicRule.SETTING, BedrockRule.SETTING}),
    ],
)
def test_who_refuses_what_is_told_by_name(path: str, value: Any, broken: set[str]) -> None:
    assert broken <= rules(spoiled(neutral(), path, value))


AUDIO = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}
LINKED = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
UPLOADED = {"type": "image_url", "image_url": {"url": "everturn:upload:0198"}}


@pytest.mark.parametrize("part", [AUDIO, LINKED, UPLOADED])
def test_a_part_that_a_provider_has_no_place_for_is_the_adapters_to_refuse(part: Any) -> None:
    assert refused(neutral(messages=[{"role": "user", "content": [part]}])) == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("messages", []),
        ("messages", neutral()["messages"][:-1]),
        ("messages.1", None),
        ("messages.6.content", " "),
        ("tools", None),
        ("reasoning", {"effort": "high"}),
    ],
)
def test_what_adapters_mend_nobody_refuses(path: str, value: Any) -> None:
    request = spoiled(neutral(), path, value)

    assert rules({name: one for name, one in request.items() if one is not None}) == set()


def test_ids_of_any_kind_are_taken_by_all() -> None:
    for call_id in ("call.1", "x" * 41, "call_019b796d-d600-7132-be72-3c945a6f66ae"):
        request = neutral()
        request["messages"][2]["tool_calls"][0]["id"] = call_id
        request["messages"][3]["tool_call_id"] = call_id

        assert rules(request) == set()


# ---- the ledger


def test_what_a_test_sent_is_told_when_it_is_over() -> None:
    ledger = Ledger()
    ledger.open()
    ledger.note(neutral())
    ledger.close()
    ledger.note(neutral(**HOT))

    with pytest.raises(Refused, match=r"anthropic.setting at temperature.*; bedrock"):
        ledger.close()


def test_what_is_judged_at_once_is_told_at_once() -> None:
    ledger = Ledger()
    ledger.open()

    with pytest.raises(Refused, match=r"anthropic\.setting"):
        ledger.check(neutral(**HOT))


@pytest.mark.parametrize("form", [None, "openai", "anthropic"])
def test_a_worker_is_asked_to_run_what_its_provider_takes(form: str | None) -> None:
    spoilt = neutral(temperature=1.5 if form == "anthropic" else 5)
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

    with pytest.raises(Refused, match="setting"):
        ledger.close()
