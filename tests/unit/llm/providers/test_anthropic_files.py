"""Pictures, papers and all the rest, on their way to Anthropic."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.failure import ModelFailed
from neutral_requests import LINKED, PAPER, PICTURE
from providers.official_models import refusals_anthropic
from unit.llm.providers.anthropic_calls import LOOP, TOOL, body


@pytest.mark.parametrize("part", [PICTURE, LINKED, PAPER])
def test_pictures_and_papers_have_their_blocks(part: dict[str, Any]) -> None:
    made = body(messages=[{"role": "user", "content": [part]}])

    assert refusals_anthropic(made) == []
    assert made["messages"][0]["content"][0]["type"] in {"image", "document"}


def test_pictures_in_results_stay_in_them() -> None:
    made = body(messages=[*LOOP[:2], {**LOOP[2], "content": [PICTURE]}], tools=[TOOL])

    assert made["messages"][2]["content"][0]["content"][0]["type"] == "image"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
        {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}},
    ],
)
def test_sound_and_video_are_refused_by_name(part: dict[str, Any]) -> None:
    with pytest.raises(ModelFailed, match=part["type"]) as failed:
        body(messages=[{"role": "user", "content": [part]}])

    assert failed.value.reason == "unsupported_content"


def test_a_picture_in_a_system_message_fails_the_call() -> None:
    with pytest.raises(ModelFailed, match="system message") as failed:
        body(messages=[{"role": "system", "content": [PICTURE]}, LOOP[0]])

    assert failed.value.reason == "unsupported_content"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://10.0.0.1/x", "http://localhost/a"])
def test_anthropic_is_made_to_fetch_nothing_that_is_not_public(url: str) -> None:
    for part in (
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": url}},
    ):
        with pytest.raises(ModelFailed) as failed:
            body(messages=[{"role": "user", "content": [part]}])
        assert failed.value.reason == "unsupported_content"


def test_a_pdf_that_came_as_bare_base64_is_one() -> None:
    part = {"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBERi0="}}

    made = body(messages=[{"role": "user", "content": [part]}])

    assert made["messages"][0]["content"][0]["source"]["media_type"] == "application/pdf"
