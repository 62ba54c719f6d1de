"""A conversation as items of Responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.llm.failure import ModelFailed
from everturn.llm.providers.openai_responses import OpenAiResponsesWire
from everturn.llm.providers.responses_input import (
    instructions_and_input,
    reasoning_signature,
    replay_state,
    to_part,
)
from everturn.ports.model import Replay
from unit.llm.providers.openai_kit import (
    AUDIO,
    FILE,
    IMAGE,
    LINKED,
    OCTETS,
    PNG,
    REFUSED_FILES,
    VIDEO,
    asked,
    body_of,
    call,
    named,
    text,
)

USER = {"role": "user", "content": "Hi"}
INPUT_IMAGE = {"type": "input_image", "image_url": PNG, "detail": "auto"}
INPUT_FILE = {
    "type": "input_file",
    "filename": "a.pdf",
    "file_data": "data:application/pdf;base64,JVBERg==",
}


def signed(item_id: str) -> str:
    """Return the signature of an item of reasoning."""
    signature = reasoning_signature({"id": item_id, "encrypted_content": f"sealed-{item_id}"})
    assert signature is not None
    return signature


def sealed(item_id: str, *summary: str) -> dict[str, Any]:
    """Return an item of reasoning as it goes back."""
    return {
        "type": "reasoning",
        "id": item_id,
        "summary": [{"type": "summary_text", "text": one} for one in summary],
        "encrypted_content": f"sealed-{item_id}",
    }


def items(*messages: dict[str, Any], replay: Replay | None = None) -> list[dict[str, Any]]:
    """Return what goes out behind a user's message; `replay` is of the message `a1`."""
    replays = {"a1": replay} if replay else {}
    given = asked([USER, *messages], model="gpt-5", replays=replays)
    found: list[dict[str, Any]] = body_of(OpenAiResponsesWire(), given)["input"][1:]
    return found


def test_parts_of_a_user() -> None:
    parts = [text("a"), IMAGE, FILE, LINKED]

    assert items({"role": "user", "content": parts}) == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "a"},
                INPUT_IMAGE,
                INPUT_FILE,
                {"type": "input_file", "file_url": "https://example.org/a.pdf"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("part", "told"), [(AUDIO, "input_audio"), (VIDEO, "video_url"), *REFUSED_FILES]
)
def test_what_has_no_place(part: dict[str, Any], told: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        to_part(part)

    assert str(failed.value) == f"{told} has no place in OpenAI's Responses"
    assert failed.value.reason == "unsupported_content"


def test_a_pdf_that_is_called_bytes_and_a_picture_that_is_called_a_file_are_read() -> None:
    assert to_part(named("a.pdf", OCTETS)) == INPUT_FILE
    assert to_part(named("a.pdf", "JVBERg==")) == INPUT_FILE
    assert to_part(named("a.png", PNG)) == INPUT_IMAGE
    link = "https://example.org/a.png"
    assert to_part(named("a", link)) == {**INPUT_IMAGE, "image_url": link}


def test_system_messages_are_instructions_at_the_beginning_only() -> None:
    system = {"role": "system", "content": [text("a"), text("b")]}
    later = {"role": "system", "content": "c"}

    assert instructions_and_input([system, later, USER, later], {}) == (
        "a\nb\n\nc",
        [USER, {"role": "system", "content": "c"}],
    )
    with pytest.raises(ModelFailed, match="image_url of a system message has no place"):
        instructions_and_input([{"role": "system", "content": [IMAGE]}], {})


def test_results_keep_their_parts() -> None:
    asks = {"role": "assistant", "tool_calls": [call("c1"), call("c2", arguments="")]}
    results: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": "c1", "content": [text("a"), IMAGE, FILE]},
        {"role": "tool", "tool_call_id": "c2", "content": ""},
    ]

    assert items(asks, *results) == [
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call", "call_id": "c2", "name": "add", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": "a"}, INPUT_IMAGE, INPUT_FILE],
        },
        {"type": "function_call_output", "call_id": "c2", "output": ""},
    ]


def test_images_of_an_answer_follow_behind_it() -> None:
    note = {"type": "input_text", "text": "[Everturn] From the answer:"}
    moved = {"role": "user", "content": [note, INPUT_IMAGE]}

    assert items({"role": "assistant", "content": [text("Look:"), IMAGE]}) == [
        {"role": "assistant", "content": "Look:"},
        moved,
    ]
    assert items({"role": "assistant", "content": [IMAGE]}) == [
        {"role": "assistant", "content": "[Everturn] (blank)"},
        moved,
    ]


BLOCKS = (
    {"type": "reasoning", "thinking": "First.", "signature": signed("rs_1")},
    {"type": "text", "text": "I look"},
    {"type": "reasoning", "thinking": "", "signature": signed("rs_2")},
    {"type": "reasoning", "thinking": "Open.", "signature": None},
    {"type": "tool-call"},
    {"type": "text", "text": ""},
    {"type": "other", "data_json": "{}"},
    {"type": "text", "text": "twice."},
    {"type": "tool-call"},
    {"type": "reasoning", "thinking": "Last.", "signature": signed("rs_3")},
)
ANSWER = {
    "id": "a1",
    "role": "assistant",
    "content": "I looktwice.",
    "tool_calls": [call("c1"), call("c2")],
}
CALLED = [
    {"type": "function_call", "call_id": one, "name": "add", "arguments": '{"a":1}'}
    for one in ("c1", "c2")
]


def test_sealed_reasoning_goes_back_before_what_came_of_it() -> None:
    state = replay_state(["commentary", None])

    assert items(ANSWER, replay=Replay("openai", "gpt-5", BLOCKS, state)) == [
        sealed("rs_1", "First."),
        {"role": "assistant", "content": "I look", "phase": "commentary"},
        sealed("rs_2"),
        CALLED[0],
        {"role": "assistant", "content": "twice."},
        CALLED[1],
    ]


def test_what_another_model_said_goes_as_the_public_message() -> None:
    public = [{"role": "assistant", "content": "I looktwice."}, *CALLED]

    assert items(ANSWER) == public
    assert items(ANSWER, replay=Replay("openai", "gpt-4.1", BLOCKS)) == public


def test_an_answer_without_blocks_has_its_phase() -> None:
    replay = Replay("openai", "gpt-5", (), replay_state(["final_answer"]))

    assert items({"id": "a1", "role": "assistant", "content": "a"}, replay=replay) == [
        {"role": "assistant", "content": "a", "phase": "final_answer"}
    ]


@pytest.mark.parametrize(
    ("signature", "state"),
    [
        (None, None),
        ("{", "{"),
        ("[]", "[]"),
        ('{"v":2,"id":"rs_1","encrypted_content":"x"}', '{"v":2,"phases":["a"]}'),
        ('{"v":1,"id":5,"encrypted_content":"x"}', '{"v":1,"phases":"a"}'),
        ('{"v":1,"id":"rs_1"}', '{"v":1,"phases":[5]}'),
    ],
)
def test_what_cannot_be_read_does_not_go_back(signature: str | None, state: str | None) -> None:
    blocks = (
        {"type": "reasoning", "thinking": "a", "signature": signature},
        {"type": "text", "text": "b"},
    )
    message = {"id": "a1", "role": "assistant", "content": "b"}

    assert items(message, replay=Replay("openai", "gpt-5", blocks, state)) == [
        {"role": "assistant", "content": "b"}
    ]


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"id": "rs_1"},
        {"id": "rs_1", "encrypted_content": ""},
        {"id": "rs_1", "encrypted_content": None},
        {"encrypted_content": "x"},
    ],
)
def test_reasoning_that_is_not_sealed_has_no_signature(item: dict[str, Any]) -> None:
    assert reasoning_signature(item) is None


def test_what_is_kept_is_small() -> None:
    assert json.loads(signed("rs_1")) == {
        "v": 1,
        "id": "rs_1",
        "encrypted_content": "sealed-rs_1",
    }
    assert replay_state([None, None]) is None
    assert replay_state([]) is None
