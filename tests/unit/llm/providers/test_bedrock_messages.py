"""Conversations as messages of Bedrock's Converse: roles, results, files, thinking said again."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.bedrock_parts import (
    ATTACHED,
    AUDIO,
    DOCUMENTS,
    IMAGES,
    NOT_SAID_AGAIN,
    VIDEOS,
    Parts,
)
from everturn.llm.providers.shape import BEGIN
from everturn.ports.model import Replay
from transcripts.bedrock import DOCUMENT_NAME
from unit.llm.providers.converse_calls import (
    CLAUDE,
    CLAUDE_3,
    LLAMA,
    NOVA,
    called,
    data_url,
    file,
    image,
    parameters,
    refused,
    result,
    user,
)

USE = {"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1}}}
PNG = {"image": {"format": "png", "source": {"bytes": b"data"}}}
PDF = {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"data"}}}


def text(said: str) -> dict[str, str]:
    """Return a text block."""
    return {"text": said}


def test_users_and_assistants_take_turns_and_the_system_stands_apart() -> None:
    body = parameters(
        {"role": "system", "content": "Be brief."},
        {
            "role": "system",
            "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "kind."}],
        },
        {"role": "system", "content": " "},
        user("One."),
        user([{"type": "text", "text": "Two."}]),
        {"role": "assistant", "content": "Three."},
        {"role": "assistant", "content": "Four."},
        user("Five."),
    )

    assert body["system"] == [text("Be brief."), text("Be kind.")]
    assert body["messages"] == [
        {"role": "user", "content": [text("One."), text("Two.")]},
        {"role": "assistant", "content": [text("Three."), text("Four.")]},
        {"role": "user", "content": [text("Five.")]},
    ]
    assert refused(body) == []


def test_all_results_of_a_batch_stand_first_in_one_message() -> None:
    body = parameters(
        user("Add."),
        called("c1", "c2", said="I add."),
        result("c2", "2"),
        user("Quick!"),
        result("c1", "1"),
        model=CLAUDE_3,
        failed=frozenset({"c1"}),
    )

    [_, asked, answered] = body["messages"]
    assert asked["content"] == [
        text("I add."),
        USE,
        {"toolUse": {**USE["toolUse"], "toolUseId": "c2"}},
    ]
    assert answered["content"] == [
        {"toolResult": {"toolUseId": "c2", "content": [text("2")]}},
        {"toolResult": {"toolUseId": "c1", "content": [text("1")], "status": "error"}},
        text("Quick!"),
    ]
    assert refused(body) == []


def test_a_model_that_may_not_know_the_status_is_not_told_it() -> None:
    body = parameters(user("Add."), called("c1"), result("c1", "1"), failed=frozenset({"c1"}))

    assert body["messages"][-1]["content"] == [
        {"toolResult": {"toolUseId": "c1", "content": [text("1")]}}
    ]


def test_an_odd_call_id_is_the_same_in_call_result_and_failure() -> None:
    body = parameters(
        user("Add."), called("c:1"), result("c:1", "1"), model=NOVA, failed=frozenset({"c:1"})
    )

    [use] = body["messages"][1]["content"]
    [answer] = body["messages"][2]["content"][:1]
    assert answer["toolResult"]["toolUseId"] == use["toolUse"]["toolUseId"] != "c:1"
    assert answer["toolResult"]["status"] == "error"
    assert refused(body) == []


def test_a_result_without_its_call_goes_out_and_is_judged_by_bedrock() -> None:
    body = parameters(result("c1", "1"), model=CLAUDE, reasoning={"effort": "low"})

    assert body["messages"][0]["content"][:2] == [
        {"toolResult": {"toolUseId": "c1", "content": [text("1")]}},
        text(BEGIN),
    ]


@pytest.mark.parametrize("arguments", ["", "{}", "[1]", "{", "null"])
def test_arguments_that_are_no_object_become_none(arguments: str) -> None:
    call = called("c1")
    call["tool_calls"][0]["function"]["arguments"] = arguments

    body = parameters(user("Add."), call, result("c1", "1"))

    assert body["messages"][1]["content"][0]["toolUse"]["input"] == {}


def test_files_of_a_result_stand_inside_where_the_model_reads_them() -> None:
    content = [{"type": "text", "text": "See."}, image(), file("a.pdf")]

    body = parameters(user("Look."), called("c1"), result("c1", content), model=CLAUDE_3)

    assert body["messages"][-1]["content"] == [
        {"toolResult": {"toolUseId": "c1", "content": [text("See."), PNG, PDF]}}
    ]
    assert refused(body) == []


def test_a_result_that_is_a_document_has_a_text_beside_it() -> None:
    body = parameters(user("Look."), called("c1"), result("c1", [file("a.pdf")]), model=CLAUDE_3)

    assert body["messages"][-1]["content"][0]["toolResult"]["content"] == [PDF, text(ATTACHED)]


def test_files_of_a_result_stand_behind_all_results_where_they_have_no_place_inside() -> None:
    body = parameters(
        user("Look."),
        called("c1", "c2"),
        result("c1", [image()]),
        result("c2", [{"type": "text", "text": "See."}, file("a.pdf")]),
        model=LLAMA,
    )

    assert body["messages"][-1]["content"] == [
        {"toolResult": {"toolUseId": "c1", "content": [text("[Everturn] (files below)")]}},
        {"toolResult": {"toolUseId": "c2", "content": [text("See.")]}},
        text("[Everturn] Files of the result of tool call c1:"),
        PNG,
        text("[Everturn] Files of the result of tool call c2:"),
        PDF,
    ]
    assert refused(body) == []


def test_audio_has_no_place_inside_a_result() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "ZGF0YQ==", "format": "wav"}}

    body = parameters(user("Listen."), called("c1"), result("c1", [audio]), model=NOVA)

    assert body["messages"][-1]["content"][-1:] == [
        {"audio": {"format": "wav", "source": {"bytes": b"data"}}}
    ]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        *[
            (image(media_type), {"image": {"format": name, "source": {"bytes": b"data"}}})
            for media_type, name in IMAGES.items()
        ],
        *[
            (
                {"type": "video_url", "video_url": {"url": data_url(media_type)}},
                {"video": {"format": name, "source": {"bytes": b"data"}}},
            )
            for media_type, name in VIDEOS.items()
        ],
        *[
            (
                file("a b.x", media_type),
                {"document": {"format": name, "name": "a b", "source": {"bytes": b"data"}}},
            )
            for media_type, name in [*DOCUMENTS.items(), ("text/plain", "txt"), ("text/css", "txt")]
        ],
        (file("a.png", "image/png"), PNG),
        (
            file("notes.md", "application/octet-stream"),
            {"document": {"format": "md", "name": "notes", "source": {"bytes": b"data"}}},
        ),
        *[
            (
                {
                    "type": "input_audio",
                    "input_audio": {
                        "data": "ZGF0YQ==",
                        "format": media_type.removeprefix("audio/"),
                    },
                },
                {"audio": {"format": name, "source": {"bytes": b"data"}}},
            )
            for media_type, name in AUDIO.items()
        ],
    ],
)
def test_files_go_as_bytes_in_the_format_of_their_type(
    part: dict[str, Any], block: dict[str, Any]
) -> None:
    body = parameters(user([{"type": "text", "text": "See."}, part]))

    assert body["messages"][0]["content"] == [text("See."), block]
    assert refused(body) == []


def linked(kind: str) -> dict[str, Any]:
    """Return a part that is a URL."""
    return {"type": kind, kind: {"url": "https://example.com/a.png"}}


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (
            linked("image_url"),
            "an image by its URL has no place in Amazon Bedrock, which takes bytes",
        ),
        (
            linked("video_url"),
            "a video by its URL has no place in Amazon Bedrock, which takes bytes",
        ),
        (
            {"type": "file", "file": {"filename": "a", "file_data": "https://example.com/a.pdf"}},
            "a file by its URL has no place in Amazon Bedrock, which takes bytes",
        ),
        (image("image/svg+xml"), "an image of type image/svg+xml has no place in Amazon Bedrock"),
        (
            file("a.zip", "application/zip"),
            "a file of type application/zip has no place in Amazon Bedrock",
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "aiff"}},
            "audio of type audio/aiff has no place in Amazon Bedrock",
        ),
        (image(data=b""), "an image without a byte has no place in Amazon Bedrock"),
        ({"type": "hologram"}, "hologram has no place in Amazon Bedrock"),
    ],
)
def test_what_bedrock_has_no_place_for_is_named(part: dict[str, Any], told: str) -> None:
    with pytest.raises(ModelFailed, match="has no place") as raised:
        parameters(user([part]))

    assert str(raised.value) == told
    assert raised.value.code == FailureCode.INVALID_REQUEST
    assert raised.value.reason == "unsupported_content"


def test_data_that_is_no_base64_is_refused() -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAAA"}}

    with pytest.raises(ModelFailed, match="an image is not base64") as raised:
        parameters(user([part]))

    assert raised.value.code == FailureCode.INVALID_REQUEST


def test_a_document_alone_gets_a_text_beside_it() -> None:
    body = parameters(user([file("a.pdf")]))

    assert body["messages"][0]["content"] == [PDF, text(ATTACHED)]
    assert refused(body) == []


def test_documents_have_names_of_their_own_that_stay_as_the_conversation_grows() -> None:
    first = [user([file("Q1 report_v2.pdf"), file("Q1 report v2.csv", "text/csv")])]
    more = [
        {"role": "assistant", "content": "Seen."},
        user([file("Q1 report v2 (2).pdf"), file("отчёт.pdf"), file(".pdf"), file("a" * 300)]),
    ]

    names = [
        [
            one["document"]["name"]
            for turn in body["messages"]
            for one in turn["content"]
            if "document" in one
        ]
        for body in (parameters(*first), parameters(*first, *more))
    ]

    assert names == [
        ["Q1 report v2", "Q1 report v2 (2)"],
        [
            "Q1 report v2",
            "Q1 report v2 (2)",
            "Q1 report v2 (2) (2)",
            "document",
            "document (2)",
            "a" * 200,
        ],
    ]


@given(st.lists(st.text(max_size=250), max_size=6))
def test_names_of_documents_are_as_bedrock_wants_them(filenames: list[str]) -> None:
    blocks = Parts().blocks([file(name) for name in filenames])

    names = [block["document"]["name"] for block in blocks]

    assert len(set(names)) == len(filenames)
    assert all(DOCUMENT_NAME.fullmatch(name) and len(name) <= 200 for name in names)


def test_a_file_that_a_model_made_is_a_word_when_it_goes_back() -> None:
    said = [{"type": "text", "text": "Here."}, linked("image_url")]

    body = parameters(user("Draw."), {"role": "assistant", "content": said}, user("More."))

    assert body["messages"][1]["content"] == [text("Here."), text(NOT_SAID_AGAIN)]
    assert refused(body) == []


def test_what_a_model_said_goes_back_with_its_thinking_signed() -> None:
    replay = Replay(
        "bedrock",
        CLAUDE,
        (
            {"type": "reasoning", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "reasoning", "thinking": "Unsigned.", "signature": None},
            {
                "type": "redacted_thinking",
                "block_type": "redacted_thinking",
                "data_json": json.dumps({"data": base64.b64encode(b"secret").decode()}),
            },
            {"type": "redacted_thinking", "block_type": "redacted_thinking", "data_json": "[]"},
            {"type": "redacted_thinking", "block_type": "redacted_thinking", "data_json": "{"},
            {"type": "mood", "block_type": "mood", "data_json": "{}"},
            {"type": "text", "text": "I add."},
            {"type": "text", "text": " "},
            {"type": "tool-call", "id": "c1", "name": "add"},
        ),
    )
    conversation = [user("Add."), called("c1", said="I add."), result("c1", "1")]

    mine = parameters(*conversation, model=CLAUDE, replays={"a": replay})
    others = parameters(*conversation, model=CLAUDE_3, replays={"a": replay})

    assert mine["messages"][1]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": b"secret"}},
        text("I add."),
        USE,
    ]
    assert others["messages"][1]["content"] == [text("I add."), USE]
    assert refused(mine) == []


def test_a_replay_without_blocks_is_the_public_message() -> None:
    body = parameters(
        user("Hi."),
        {"id": "a", "role": "assistant", "content": "Hello."},
        user("Bye."),
        replays={"a": Replay("bedrock", LLAMA)},
    )

    assert body["messages"][1]["content"] == [text("Hello.")]


@pytest.mark.parametrize("arguments", ['{"a":"\\ud83d"}', '{"a":NaN}', '{"a":' * 100_000])
def test_arguments_that_no_json_can_hold_do_not_end_the_session(arguments: str) -> None:
    call = called("c1")
    call["tool_calls"][0]["function"]["arguments"] = arguments

    body = parameters(user("Add."), call, result("c1", "1"))

    assert body["messages"][1]["content"][0]["toolUse"]["input"] == {}
