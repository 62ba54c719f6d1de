"""Conversations as Gemini's contents: roles, files, results of tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.gemini_contents import FILES_FOLLOW, MAX_RESULT_DEPTH, NO_RESULT
from everturn.llm.providers.shape import BEGIN, BLANK, GO_ON
from providers.gemini_calls import FLASH_2, HELLO, call, contents_of, result

PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
PDF = {
    "type": "file",
    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"},
}
ASKS: dict[str, Any] = {"id": "a1", "role": "assistant", "tool_calls": [call("c1")]}
CALLED = {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}
MARKED = {**CALLED, "thoughtSignature": "skip_thought_signature_validator"}


def response(said: dict[str, Any], name: str = "get_weather") -> dict[str, Any]:
    """Return a function's response."""
    return {"functionResponse": {"name": name, "response": said}}


def user_parts(*content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts that a user's content becomes."""
    (turn,) = contents_of([{"id": "u1", "role": "user", "content": list(content)}])
    assert turn["role"] == "user"
    return list(turn["parts"])


def test_a_whole_conversation() -> None:
    """Golden: calls, one of them in vain, a file in a result, a user who goes on."""
    messages = [
        {"role": "system", "content": "Be brief."},
        HELLO,
        {"id": "u2", "role": "user", "content": [{"type": "text", "text": "How is it?"}, PNG]},
        {
            "id": "a1",
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [call("c1"), call("c2", "draw", "")],
        },
        result("c1", [{"type": "text", "text": "no"}, PDF]),
        result("c2", "Out of paint.", "draw"),
        {"id": "u3", "role": "user", "content": "And?"},
    ]

    assert contents_of(messages, failed=["c2"]) == [
        {
            "role": "user",
            "parts": [
                {"text": "Hello"},
                {"text": "How is it?"},
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                MARKED,
                {"functionCall": {"name": "draw", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                response({"result": "no"}),
                response({"error": "Out of paint."}, "draw"),
                {"text": "[Everturn] From the result of get_weather:"},
                {"inlineData": {"mimeType": "application/pdf", "data": "BBBB"}},
                {"text": "And?"},
            ],
        },
    ]


def test_a_model_before_3_is_sent_no_made_up_signature() -> None:
    turns = contents_of([HELLO, ASKS, result("c1", "no")], model=FLASH_2)

    assert turns[1]["parts"] == [CALLED]


def test_a_user_speaks_first_and_last() -> None:
    said = {"id": "a1", "role": "assistant", "content": "Hi."}

    turns = contents_of([said, {**said, "id": "a2"}])

    assert turns == [
        {"role": "user", "parts": [{"text": BEGIN}]},
        {"role": "model", "parts": [{"text": "Hi."}, {"text": "Hi."}]},
        {"role": "user", "parts": [{"text": GO_ON}]},
    ]


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        ({"type": "text", "text": "x"}, {"text": "x"}),
        (
            {"type": "image_url", "image_url": {"url": "data:image/jpg;base64,AAAA"}},
            {"inlineData": {"mimeType": "image/jpeg", "data": "AAAA"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://x.example/a.webp?s=1"}},
            {"fileData": {"mimeType": "image/webp", "fileUri": "https://x.example/a.webp?s=1"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://x.example/made"}},
            {"fileData": {"fileUri": "https://x.example/made"}},
        ),
        (
            {"type": "file", "file": {"filename": "a.md", "file_data": "data:;base64,AAAA"}},
            {"inlineData": {"mimeType": "text/plain", "data": "AAAA"}},
        ),
        (
            {
                "type": "file",
                "file": {"filename": "a", "file_data": "data:application/json;base64,AAAA"},
            },
            {"inlineData": {"mimeType": "text/plain", "data": "AAAA"}},
        ),
        (
            {"type": "file", "file": {"filename": "a", "file_data": "https://x.example/a.pdf"}},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://x.example/a.pdf"}},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
        ),
        (
            {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}},
            {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}},
        ),
        (
            {"type": "video_url", "video_url": {"url": "https://www.youtube.com/watch?v=a.b"}},
            {"fileData": {"fileUri": "https://www.youtube.com/watch?v=a.b"}},
        ),
    ],
)
def test_every_part_has_its_place(part: dict[str, Any], sent: dict[str, Any]) -> None:
    assert user_parts(part) == [sent]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://x.example/a.gif"}},
        {"type": "file", "file": {"filename": "a.docx", "file_data": "data:;base64,AAAA"}},
        {"type": "file", "file": {"filename": "a.bin", "file_data": "data:;base64,AAAA"}},
        {"type": "hologram"},
    ],
)
def test_what_gemini_takes_nowhere_is_a_clear_failure(part: dict[str, Any]) -> None:
    with pytest.raises(ModelFailed) as failed:
        user_parts(part)

    assert "has no place in Gemini's contents" in str(failed.value)
    assert failed.value.code is FailureCode.INVALID_REQUEST
    assert failed.value.reason == "unsupported_content"


def nested(depth: int) -> dict[str, Any]:
    """Return an object of so many containers."""
    found: dict[str, Any] = {}
    for _ in range(depth - 1):
        found = {"in": found}
    return found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no", {"result": "no"}),
        ("", {"result": BLANK}),
        ('{"sky": ["grey", null, 1.5]}', {"sky": ["grey", None, 1.5]}),
        (" {}", {}),
        ("[1]", {"result": "[1]"}),
        ("{", {"result": "{"}),
        ('{"a": NaN}', {"result": '{"a": NaN}'}),
        ('{"a": "\\ud83d"}', {"result": '{"a": "\\ud83d"}'}),
        ('{"a": 1, "a": 2}', {"result": '{"a": 1, "a": 2}'}),
        ('{"a": [{"$ref": "#/x"}]}', {"result": '{"a": [{"$ref": "#/x"}]}'}),
        ('{"a": ' * 9999, {"result": '{"a": ' * 9999}),
        (json.dumps(nested(MAX_RESULT_DEPTH)), nested(MAX_RESULT_DEPTH)),
        (
            json.dumps(nested(MAX_RESULT_DEPTH + 1)),
            {"result": json.dumps(nested(MAX_RESULT_DEPTH + 1))},
        ),
    ],
)
def test_a_result_goes_as_an_object(text: str, said: dict[str, Any]) -> None:
    turns = contents_of([HELLO, ASKS, result("c1", text)])

    assert turns[2]["parts"] == [response(said)]


def test_a_result_of_files_alone_says_so() -> None:
    turns = contents_of([HELLO, ASKS, result("c1", [PNG])])

    assert turns[2]["parts"][0] == response({"result": FILES_FOLLOW})
    assert turns[2]["parts"][2:] == [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]


def test_a_result_whose_call_is_gone_is_text() -> None:
    turns = contents_of([HELLO, result("c9", [{"type": "text", "text": "no"}, PNG])])

    assert turns[0]["parts"] == [
        {"text": "Hello"},
        {"text": "[Everturn] Result of a tool:\nno"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
    ]


def test_a_call_without_result_is_told_so() -> None:
    two = {**ASKS, "tool_calls": [call("c1"), call("c2", "draw", "{}")]}
    later = {"id": "a2", "role": "assistant", "content": "Well."}

    turns = contents_of([HELLO, two, result("c2", "done", "draw"), later, result("c1", "late")])

    assert turns[2]["parts"] == [
        response({"result": "done"}, "draw"),
        response({"error": NO_RESULT}),
    ]
    assert turns[4]["parts"] == [{"text": "[Everturn] Result of a tool:\nlate"}]
    assert contents_of([HELLO, ASKS])[2]["parts"][0] == response({"error": NO_RESULT})


@pytest.mark.parametrize("arguments", ["", "nonsense", "[1]", '"x"', '{"a": NaN}', "{" * 9999])
def test_arguments_that_are_no_object_are_none(arguments: str) -> None:
    asks = {**ASKS, "tool_calls": [call("c1", arguments=arguments)]}

    turns = contents_of([HELLO, asks, result("c1", "no")], model=FLASH_2)

    assert turns[1]["parts"] == [{"functionCall": {"name": "get_weather", "args": {}}}]


def test_responses_of_odd_ids_find_their_calls() -> None:
    asks = {"id": "a1", "role": "assistant", "tool_calls": [call("c 1"), call("c 2", "draw", "{}")]}

    turns = contents_of(
        [HELLO, asks, result("c 2", "late", "draw"), result("c 1", "no")], failed=["c 1"]
    )

    assert turns[2]["parts"] == [response({"result": "late"}, "draw"), response({"error": "no"})]


@given(
    texts=st.lists(
        st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=5)), max_size=8
    )
)
def test_roles_take_turns_and_no_part_is_blank(texts: list[tuple[str, str]]) -> None:
    messages = [
        {"id": f"m{at}", "role": role, "content": text} for at, (role, text) in enumerate(texts)
    ]

    turns = contents_of(messages)

    roles = [turn["role"] for turn in turns]
    assert roles == ["user", "model"] * (len(roles) // 2) + ["user"]
    assert all(part["text"].strip() for turn in turns for part in turn["parts"])
