"""A conversation as its users read it again: messages of a session, frames of its replay."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from everturn.runs.history import Read, conversation, frames_of
from everturn.session.facts import PathMessage

PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
CALLS: list[dict[str, Any]] = [
    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"sky"}'}}
]


def path(*messages: dict[str, Any]) -> tuple[PathMessage, ...]:
    """Return messages as a path, with numbers that are not consecutive."""
    return tuple(PathMessage(10 * n, one, 9) for n, one in enumerate(messages, start=1))


def say(role: str, content: Any = "", **more: Any) -> dict[str, Any]:
    return {"id": "m", "role": role, "content": content, **more}


def reader(nodes: tuple[PathMessage, ...], most: int = 10**9) -> Read:
    """Return a reader that reads `most` messages at once."""

    def read(before: int | None, count: int) -> tuple[tuple[PathMessage, ...], bool]:
        found = [node for node in nodes if before is None or node.seq < before]
        kept = found[-min(count, most) :]
        return tuple(kept), len(kept) < len(found)

    return read


# ---- messages


def test_a_conversation_is_what_user_and_model_said() -> None:
    nodes = path(
        say("user", "Look."),
        say("assistant", None, tool_calls=CALLS),
        say("tool", "blue", tool_call_id="c1"),
        say("assistant", "It is blue."),
    )

    assert conversation(nodes) == [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "It is blue."},
    ]


def test_files_of_a_message_are_told_without_their_bytes() -> None:
    (told,) = conversation(path(say("user", [{"type": "text", "text": "Look."}, PNG])))

    assert told["content"] == "Look."
    assert [one["mimeType"] for one in told["attachments"]] == ["image/png"]
    assert "aGk=" not in str(told)


def test_a_message_of_files_alone_is_part_of_the_conversation() -> None:
    (told,) = conversation(path(say("user", [PNG])))

    assert (told["content"], len(told["attachments"])) == ("", 1)


def test_an_empty_conversation_has_no_messages() -> None:
    assert conversation(()) == []


# ---- frames


def test_frames_have_the_numbers_of_their_messages_and_tool_results_are_left_out() -> None:
    nodes = path(
        say("user", "Look."),
        say("assistant", "A moment.", tool_calls=CALLS),
        say("tool", "blue", tool_call_id="c1"),
        say("assistant", "It is blue."),
    )

    replay = frames_of(reader(nodes), None, 100)

    assert replay == {
        "total": 3,
        "nextBeforeSeq": None,
        "truncated": False,
        "events": [
            {"seq": 10, "type": "user_message", "text": "Look."},
            {
                "seq": 20,
                "type": "assistant_message",
                "text": "A moment.",
                "toolCalls": [{"id": "c1", "name": "look", "input": {"at": "sky"}}],
            },
            {"seq": 40, "type": "assistant_message", "text": "It is blue."},
        ],
    }


@pytest.mark.parametrize("arguments", ["{", "", "\ud800", '{"a":1,"a":2}'])
def test_arguments_that_are_no_json_are_an_empty_input(arguments: str) -> None:
    made = [{"id": "c1", "function": {"name": "look", "arguments": arguments}}]

    replay = frames_of(reader(path(say("assistant", "", tool_calls=made))), None, 100)

    assert replay["events"][0]["toolCalls"] == [{"id": "c1", "name": "look", "input": {}}]


def test_a_session_without_messages_has_no_frames() -> None:
    assert frames_of(reader(()), None, 5) == {
        "total": 0,
        "nextBeforeSeq": None,
        "truncated": False,
        "events": [],
    }


ROLES = st.lists(st.sampled_from(["user", "assistant", "tool"]), max_size=12)


@given(roles=ROLES, count=st.integers(1, 5), most=st.integers(1, 14))
def test_pages_backwards_are_all_frames_once_however_much_is_read_at_once(
    roles: list[str], count: int, most: int
) -> None:
    nodes = path(*(say(role, f"{n}") for n, role in enumerate(roles)))
    wanted = [node.seq for node in nodes if node.message["role"] != "tool"]
    seen: list[int] = []

    before: int | None = None
    for _ in range(40):
        page = frames_of(reader(nodes, most), before, count)
        seqs = [frame["seq"] for frame in page["events"]]
        assert len(seqs) <= count
        assert seqs == sorted(seqs)
        seen = [*seqs, *seen]
        before = page["nextBeforeSeq"]
        if before is None:
            break

    assert seen == wanted
