"""Worker-run model calls in the providers' own bodies, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.formats import anthropic
from everturn.llm.formats.anthropic import UnsupportedContent
from everturn.llm.formats.bodies import to_body

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Tokyo"}'},
}
REQUEST: dict[str, Any] = {
    "model": "m-large",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"id": "s2", "role": "system", "content": "Be kind."},
        {
            "id": "u1",
            "role": "user",
            "content": [
                {"type": "text", "text": "How is it here?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {
                    "type": "file",
                    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BB"},
                },
            ],
        },
        {"id": "a1", "role": "assistant", "content": "Let me see.", "tool_calls": [CALL]},
        {"id": "t1", "role": "tool", "tool_call_id": "c1", "name": "get_weather", "content": "no"},
        {"id": "u2", "role": "user", "content": "And?"},
    ],
    "tools": [
        {"name": "get_weather", "description": "Tells it.", "input": SCHEMA},
        {"name": "stop", "description": ""},
    ],
    "temperature": 0.5,
    "max_completion_tokens": 5000,
    "stop": ["END"],
    "reasoning": {"effort": "low", "exclude": True},
}
NONE = {"type": "object", "properties": {}}


def test_a_request_in_openais_body() -> None:
    """W-2, W-4."""
    body = to_body("openai", REQUEST)

    messages = REQUEST["messages"]
    assert body == {
        "model": "m-large",
        "messages": [
            messages[0],
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": messages[2]["content"]},
            {"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "no"},
            {"role": "user", "content": "And?"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "Tells it.",
                    "parameters": SCHEMA,
                },
            },
            {
                "type": "function",
                "function": {"name": "stop", "description": "", "parameters": NONE},
            },
        ],
        "temperature": 0.5,
        "max_completion_tokens": 5000,
        "stop": ["END"],
        "reasoning_effort": "low",
    }


def test_a_request_in_anthropics_body() -> None:
    """W-2, W-6."""
    body = to_body("anthropic", REQUEST, frozenset({"c1"}))

    assert body == {
        "model": "m-large",
        "max_tokens": 5000,
        "system": "Be brief.\n\nBe kind.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "How is it here?"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                    },
                    {
                        "type": "image",
                        "source": {"type": "url", "url": "https://example.org/a.png"},
                    },
                    {
                        "type": "document",
                        "title": "a.pdf",
                        "source": {
                            "type": "base64",
                            "media_type": "application/pdf",
                            "data": "BB",
                        },
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me see."},
                    {
                        "type": "tool_use",
                        "id": "c1",
                        "name": "get_weather",
                        "input": {"city": "Tokyo"},
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": "no",
                        "is_error": True,
                    },
                    {"type": "text", "text": "And?"},
                ],
            },
        ],
        "tools": [
            {"name": "get_weather", "description": "Tells it.", "input_schema": SCHEMA},
            {"name": "stop", "description": "", "input_schema": NONE},
        ],
        "stop_sequences": ["END"],
        "thinking": {"type": "enabled", "budget_tokens": 2048},
    }


@pytest.mark.parametrize(
    ("reasoning", "budget"),
    [
        ({"effort": "minimal"}, 1024),
        ({"effort": "medium"}, 8192),
        ({"effort": "high"}, 16384),
        ({"effort": "xhigh"}, 32768),
        ({"effort": "high", "max_tokens": 5000}, 5000),
        ({"effort": "none"}, None),
        ({"effort": "high", "enabled": False}, None),
        ({}, None),
    ],
)
def test_how_much_a_model_thinks(reasoning: dict[str, Any], budget: int | None) -> None:
    """W-6."""
    body = anthropic.to_body({"model": "m", "messages": [], "reasoning": reasoning})

    assert body.get("thinking", {}).get("budget_tokens") == budget
    assert body["max_tokens"] == 8192 + (budget or 0)  # a budget must be below it


def test_arguments_that_are_no_object_become_an_empty_one() -> None:
    """W-6."""
    broken = {**CALL, "function": {"name": "f", "arguments": '{"a":'}}
    message = {"role": "assistant", "tool_calls": [broken]}

    body = anthropic.to_body({"model": "m", "messages": [message]})

    assert body["messages"][0]["content"][0]["input"] == {}


@pytest.mark.parametrize(
    ("data", "block"),
    [
        (
            "data:text/csv;base64,YSxi",
            {
                "type": "document",
                "title": "f",
                "source": {"type": "text", "media_type": "text/plain", "data": "a,b"},
            },
        ),
        (
            "data:image/png;base64,AAAA",
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
            },
        ),
    ],
)
def test_a_file_is_what_its_type_says(data: str, block: dict[str, Any]) -> None:
    """W-6: Anthropic's documents by value are PDF or text, and pictures are no documents."""
    part = {"type": "file", "file": {"filename": "f", "file_data": data}}

    body = anthropic.to_body({"model": "m", "messages": [{"role": "user", "content": [part]}]})

    assert body["messages"][0]["content"] == [block]


@pytest.mark.parametrize("data", ["/w==", "no base64!"])
def test_text_that_is_none_has_no_place(data: str) -> None:
    file = {"filename": "f", "file_data": f"data:text/plain;base64,{data}"}
    message = {"role": "user", "content": [{"type": "file", "file": file}]}

    with pytest.raises(UnsupportedContent):
        anthropic.to_body({"model": "m", "messages": [message]})


def test_audio_has_no_place_in_anthropics_body() -> None:
    """W-6."""
    part = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}

    with pytest.raises(UnsupportedContent):
        anthropic.to_body({"model": "m", "messages": [{"role": "user", "content": [part]}]})


def user_block(part: dict[str, Any]) -> dict[str, Any]:
    """Return the one block that a part of a user's message becomes."""
    body = anthropic.to_body({"model": "m", "messages": [{"role": "user", "content": [part]}]})
    [block] = body["messages"][0]["content"]
    return dict(block)


def picture(url: str) -> dict[str, Any]:
    """Return an image part."""
    return {"type": "image_url", "image_url": {"url": url}}


def paper(name: str, url: str) -> dict[str, Any]:
    """Return a file part."""
    return {"type": "file", "file": {"filename": name, "file_data": url}}


@pytest.mark.parametrize(
    "arguments", ['{"a":"\\ud83d"}', '{"a":NaN}', '{"a":' * 100_000, "[" * 200 + "]" * 200]
)
def test_arguments_that_no_json_can_hold_do_not_end_the_session(arguments: str) -> None:
    """W-6."""
    call = {**CALL, "function": {"name": "f", "arguments": arguments}}

    assert anthropic.to_tool_use(call)["input"] == {}


@pytest.mark.parametrize(
    ("part", "media_type"),
    [
        (picture("data:image/jpg;base64,AAAA"), "image/jpeg"),
        (picture("data:IMAGE/PNG;base64,AAAA"), "image/png"),
        (paper("a.PDF", "data:application/octet-stream;base64,AAAA"), "application/pdf"),
        (paper("a.pdf", "data:;base64,AAAA"), "application/pdf"),
        (paper("a.jpg", "data:application/octet-stream;base64,AAAA"), "image/jpeg"),
        (paper("a.csv", "data:application/octet-stream;base64,YSxi"), "text/plain"),
        (paper("a", "data:application/xml;base64,YSxi"), "text/plain"),
    ],
)
def test_a_file_that_is_labelled_loosely_is_sent_as_what_it_is(
    part: dict[str, Any], media_type: str
) -> None:
    """W-6."""
    assert user_block(part)["source"]["media_type"] == media_type


@pytest.mark.parametrize(
    "part",
    [
        picture("data:image/svg+xml;base64,AAAA"),
        picture("data:;base64,AAAA"),
        picture("data:image/png,AAAA"),
        paper("a.zip", "data:application/zip;base64,AAAA"),
        paper("a", "data:application/octet-stream;base64,AAAA"),
        paper("a.tiff", "data:image/tiff;base64,AAAA"),
        paper("a.csv", "https://example.org/a.csv"),
    ],
)
def test_a_file_that_anthropic_cannot_read_is_refused_before_anything_is_sent(
    part: dict[str, Any],
) -> None:
    """W-6."""
    with pytest.raises(UnsupportedContent, match="has no place"):
        user_block(part)


def test_a_linked_file_is_a_picture_or_a_paper_by_its_ending() -> None:
    links = ["https://example.org/a.png?b=.pdf", "https://example.org/a.pdf", "https://a.example/b"]

    kinds = [user_block(paper("f", link))["type"] for link in links]

    assert kinds == ["image", "document", "document"]


def test_a_picture_that_the_model_made_does_not_break_the_next_turn() -> None:
    """Anthropic answers 400 to an image under the role of the assistant."""
    said = [{"type": "text", "text": "Here."}, picture("https://example.org/a.png")]
    messages = [
        {"role": "user", "content": "Draw."},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "More."},
        {"role": "assistant", "content": said, "tool_calls": [CALL]},
    ]

    body = anthropic.to_body({"model": "m", "messages": messages})

    texts = [{"type": "text", "text": text} for text in ("Here.", "[Everturn] (a file)")]
    assert body["messages"][1]["content"] == texts
    assert body["messages"][3]["content"] == [*texts, anthropic.to_tool_use(CALL)]


@pytest.mark.parametrize(
    ("effort", "limit", "budget"),
    [("medium", 4096, 2048), ("low", 8192, 2048), ("high", 2048, 1024), ("high", 2047, None)],
)
def test_thinking_leaves_room_for_the_answer(effort: str, limit: int, budget: int | None) -> None:
    """W-6: a budget is at most half of the limit, and none where that is too little."""
    request = {"model": "m", "messages": [], "reasoning": {"effort": effort}}

    body = anthropic.to_body({**request, "max_completion_tokens": limit})

    assert body["max_tokens"] == limit
    assert body.get("thinking", {}).get("budget_tokens") == budget


def test_a_blank_system_prompt_is_left_out() -> None:
    blank = {"role": "system", "content": " \n"}
    listed = {"role": "system", "content": [{"type": "text", "text": "Be kind."}]}

    assert "system" not in anthropic.to_body({"model": "m", "messages": [blank]})
    assert anthropic.to_body({"model": "m", "messages": [blank, listed]})["system"] == "Be kind."


def test_a_picture_in_a_system_message_is_refused_and_does_not_vanish() -> None:
    message = {"role": "system", "content": [picture("https://example.org/a.png")]}

    with pytest.raises(UnsupportedContent, match="image_url has no place in a system message"):
        anthropic.to_body({"model": "m", "messages": [message]})
