"""Messages of a chat: which part stands where."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.chat_messages import OPENAI, Dialect, chat_messages
from unit.llm.providers.openai_kit import (
    AUDIO,
    FILE,
    IMAGE,
    LINKED,
    OCTETS,
    PNG,
    REFUSED_FILES,
    VIDEO,
    call,
    image,
    named,
    text,
)

PLAIN = Dialect("a server", lambda part: part, takes_malformed=False)
HEARD = {**AUDIO, "input_audio": {"data": "AA==", "format": "MPEG"}}


def fit(*messages: dict[str, Any], dialect: Dialect = OPENAI) -> list[dict[str, Any]]:
    """Return messages as they go out."""
    return [*chat_messages(messages, dialect)]


def test_parts_of_a_user_stay_where_they_are() -> None:
    user = {"role": "user", "content": [text("a"), IMAGE, FILE, HEARD]}

    assert fit(user) == [{"role": "user", "content": [text("a"), IMAGE, FILE, AUDIO]}]
    assert fit({"role": "user", "content": "a"}) == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (LINKED, "a file by its URL"),
        *REFUSED_FILES,
        (VIDEO, "video"),
        ({"type": "input_audio", "input_audio": {"data": "A", "format": "flac"}}, "audio as flac"),
    ],
)
def test_what_openai_has_no_place_for(part: dict[str, Any], told: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        fit({"role": "user", "content": [part]})

    assert str(failed.value) == f"{told} has no place in OpenAI's chat completions"
    assert failed.value.code == FailureCode.INVALID_REQUEST
    assert failed.value.reason == "unsupported_content"


def test_other_servers_say_themselves_what_they_take() -> None:
    user = {"role": "user", "content": [LINKED, VIDEO, AUDIO]}

    assert fit(user, dialect=PLAIN) == [user]


def test_parts_of_results_follow_behind_all_results() -> None:
    asks = {"role": "assistant", "tool_calls": [call("c1"), call("c2"), call("c3")]}
    results: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": "c1", "content": [text("a"), IMAGE, text("b")]},
        {"role": "tool", "tool_call_id": "c2", "content": "plain"},
        {"role": "tool", "tool_call_id": "c3", "content": [FILE]},
    ]
    moved = {
        "role": "user",
        "content": [
            text("[Everturn] From the result of call c1:"),
            IMAGE,
            text("[Everturn] From the result of call c3:"),
            FILE,
        ],
    }

    for behind in ([], [{"role": "user", "content": "And?"}]):
        assert fit(asks, *results, *behind) == [
            {**asks, "content": None},
            {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
            {"role": "tool", "tool_call_id": "c2", "content": "plain"},
            {
                "role": "tool",
                "tool_call_id": "c3",
                "content": "[Everturn] The result follows in the next message of the user.",
            },
            moved,
            *behind,
        ]


def test_a_result_without_content_is_empty() -> None:
    assert fit({"role": "tool", "tool_call_id": "c1"})[0]["content"] == ""


def test_images_of_an_answer_follow_behind_it() -> None:
    answer = {"role": "assistant", "content": [text("Look:"), IMAGE]}
    moved = {"role": "user", "content": [text("[Everturn] From the answer:"), IMAGE]}

    assert fit(answer) == [{"role": "assistant", "content": "Look:"}, moved]
    assert fit({"role": "assistant", "content": [IMAGE]}) == [
        {"role": "assistant", "content": "[Everturn] (blank)"},
        moved,
    ]


def test_a_system_message_is_text() -> None:
    assert fit({"role": "system", "content": [text("a"), text("b")]}) == [
        {"role": "system", "content": "a\nb"}
    ]
    with pytest.raises(ModelFailed, match="image_url of a system message has no place in a server"):
        fit({"role": "system", "content": [IMAGE]}, dialect=PLAIN)


def test_a_name_goes_where_it_is_one() -> None:
    user = {"role": "user", "content": "a"}

    assert fit({**user, "name": "ann"}, {**user, "name": "Ann <3"}, {**user, "name": ""}) == [
        {**user, "name": "ann"},
        user,
        user,
    ]


@pytest.mark.parametrize(
    ("arguments", "openai", "others"),
    [
        ("", "{}", "{}"),
        (" ", "{}", "{}"),
        ('{"a": 1}', '{"a": 1}', '{"a": 1}'),
        ('{"a":', '{"a":', "{}"),
        ("[1]", "[1]", "{}"),
        ('{"a":1,"a":2}', '{"a":1,"a":2}', "{}"),
    ],
)
def test_arguments_can_be_read_again(arguments: str, openai: str, others: str) -> None:
    asks = {"role": "assistant", "content": "x", "tool_calls": [call("c1", "add", arguments)]}

    for dialect, told in ((OPENAI, openai), (PLAIN, others)):
        assert fit(asks, dialect=dialect) == [{**asks, "tool_calls": [call("c1", "add", told)]}]


def test_a_pdf_that_is_called_bytes_and_a_picture_that_is_called_a_file_are_read() -> None:
    link = "https://example.org/a.png"
    given = [named("a.pdf", OCTETS), named("a.pdf", "JVBERg=="), named("a.png", PNG)]
    odd = [named("a", link), image("data:image/jpg;base64,AAAA")]

    sent = fit({"role": "user", "content": [*given, *odd]})

    jpeg = image("data:image/jpeg;base64,AAAA")
    assert sent[0]["content"] == [FILE, FILE, IMAGE, image(link), jpeg]
