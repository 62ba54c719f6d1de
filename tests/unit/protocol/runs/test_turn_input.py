"""What a run is asked: a prompt or messages, a user's at the end, files with that one alone."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.runs.bodies import read_message, read_run
from unit.protocol.runs.shapes import image, linked, refusal, with_files


def said(role: str, content: str = "x", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


@pytest.mark.parametrize("reader", [read_run, read_message])
def test_a_prompt_is_one_message_of_the_user(reader: Any) -> None:
    turn = reader({"prompt": "Hi"}).turn

    assert [(message.role, message.content, message.attachments) for message in turn] == [
        ("user", "Hi", None)
    ]


def test_a_prompt_may_have_files() -> None:
    (message,) = read_run({"prompt": "Hi", "attachments": [image()]}).turn

    assert message.attachments is not None
    assert (message.content, message.attachments[0].filename) == ("Hi", "a.png")
    told = refusal(read_run, {"prompt": "Hi", "attachments": [{"type": "x"}]})
    assert told.startswith("/attachments/0")


@pytest.mark.parametrize(
    "messages",
    [
        [said("user")],
        [said("system"), said("user")],
        [said("user"), said("system")],
        [said("user"), said("assistant"), said("user")],
        [said("assistant"), said("user"), said("user")],
        [said("system", ""), said("user")],
        [said("user", attachments=None)],
        [said("user", attachments=[]), said("user")],
        [said("user", "", attachments=[image()])],
        [said("user", attachments=[linked()]), said("system")],
        [said("user", more="kept")],
    ],
)
def test_messages_of_several_roles_end_with_a_users(messages: list[dict[str, Any]]) -> None:
    turn = read_run({"messages": messages}).turn

    assert [(one.role, one.content) for one in turn] == [
        (one["role"], one["content"]) for one in messages
    ]


EXACTLY_ONE = "/prompt: exactly one of prompt and messages is required"
USER_LAST = "/messages: the last one that is no system message should be a user's"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, EXACTLY_ONE),
        ({"prompt": None}, EXACTLY_ONE),
        ({"prompt": "Hi", "messages": [said("user")]}, EXACTLY_ONE),
        ({"prompt": "Hi", "messages": []}, EXACTLY_ONE),
        ({"prompt": ""}, "/prompt: "),
        ({"prompt": []}, "/prompt: should be a valid string"),
        ({"messages": []}, USER_LAST),
        ({"messages": [said("system")]}, USER_LAST),
        ({"messages": [said("user"), said("assistant")]}, USER_LAST),
        ({"messages": [said("user"), said("assistant"), said("system")]}, USER_LAST),
        ({"messages": "Hi"}, "/messages: should be a list"),
        ({"messages": [said("tool")]}, "/messages/0/role: should be 'user', 'assistant' or"),
        ({"messages": [{"role": "user"}]}, "/messages/0/content: is required"),
        ({"messages": [{"role": "user", "content": []}]}, "/messages/0/content: should be"),
        ({"messages": [said("user", "")]}, "/messages/0/content: should not be empty"),
        (
            {"messages": [said("user", "", attachments=[])]},
            "/messages/0/content: should not be empty",
        ),
        (
            {"messages": [said("assistant", ""), said("user")]},
            "/messages/0/content: should not be empty",
        ),
        (
            {"messages": [said("user", attachments=[image()]), said("user")]},
            "/messages/0/attachments: only the last user message may have files",
        ),
        (
            {"messages": [said("system", attachments=[image()]), said("user")]},
            "/messages/0/attachments: only the last user message may have files",
        ),
        (
            {"messages": [said("user"), said("system", attachments=[image()])]},
            "/messages/1/attachments: only the last user message may have files",
        ),
    ],
)
@pytest.mark.parametrize("reader", [read_run, read_message])
def test_an_input_without_a_user_at_its_end_is_refused(
    reader: Any, body: dict[str, Any], told: str
) -> None:
    assert refusal(reader, body).startswith(told)


def test_a_prompt_with_files_is_sent_as_a_message() -> None:
    body = read_run(with_files(image(), linked(mimeType="application/pdf", filename="b.pdf")))

    assert body.spec == {}
    assert [len(message.attachments or ()) for message in body.turn] == [2]
