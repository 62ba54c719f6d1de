"""What Gemini said goes back as it was said: signatures, ids, thinking."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.assemble import Answer
from everturn.llm.chunks import ReasoningBlock, TextBlock, ToolCallBlock
from everturn.ports.model import Replay
from everturn.protocol.wire import to_json
from providers.gemini_calls import (
    FLASH_2,
    FLASH_3,
    HELLO,
    answer_of,
    call,
    contents_of,
    parts,
    result,
)

UNSIGNED = "skip_thought_signature_validator"


def stored(answer: Answer) -> tuple[dict[str, Any], Replay]:
    """Return an answer as a message and as the log keeps it: blocks only where they say more."""
    message: dict[str, Any] = {"id": "a1", "role": "assistant", "content": answer.content}
    message["tool_calls"] = [to_json(one) for one in answer.tool_calls]
    blocks: list[dict[str, Any]] = []
    for block in answer.blocks:
        match block:
            case TextBlock(text=text):
                blocks.append({"type": "text", "text": text})
            case ReasoningBlock(thinking=thinking, signature=signature):
                blocks.append({"type": "reasoning", "thinking": thinking, "signature": signature})
            case ToolCallBlock():
                blocks.append({"type": "tool-call"})
    says_more = any(block["type"] == "reasoning" for block in blocks)
    return message, Replay(
        "gemini", FLASH_3, tuple(blocks) if says_more else (), answer.replay_state
    )


def again(*given: dict[str, Any], model: str = FLASH_3, **changed: Any) -> list[dict[str, Any]]:
    """Return the model's parts of the next request, and those of the results."""
    message, replay = stored(answer_of([parts(*given, reason="STOP")]))
    results = [result(one["id"], "no") for one in message["tool_calls"]]
    turns = contents_of(
        [HELLO, {**message, **changed}, *results], model=model, replays={"a1": replay}
    )
    sent = [part for turn in turns[1:] for part in turn["parts"]]
    return sent if results else sent[:-1]  # without the wish that it goes on


def asks(city: str, **more: Any) -> dict[str, Any]:
    """Return a part that calls."""
    return {"functionCall": {"name": "get_weather", "args": {"city": city}, **more}}


def answers(**named: Any) -> dict[str, Any]:
    """Return a part that answers a call."""
    said = {"name": "get_weather", "response": {"result": "no"}}
    return {"functionResponse": {**named, **said}}


def test_signatures_and_ids_go_back_on_their_parts() -> None:
    said = [
        {"text": "Let me see.\n"},
        {**asks("Oslo", id="a b"), "thoughtSignature": "c2lnMQ=="},
        asks("Rome", id="x2"),
    ]

    assert again(*said) == [*said, answers(id="a b"), answers(id="x2")]


def test_calls_without_ids_go_back_without() -> None:
    said = [{**asks("Oslo"), "thoughtSignature": "c2ln"}, asks("Rome")]

    assert again(*said) == [*said, answers(), answers()]


def test_text_is_split_where_a_signature_stands() -> None:
    said = [{"text": "One"}, {"text": " two", "thoughtSignature": "c2ln"}, {"text": " three"}]

    assert again(*said) == said


def test_a_signature_may_stand_on_nothing() -> None:
    said = [{"text": "One"}, {"text": "", "thoughtSignature": "c2ln"}]

    assert again({"text": "O"}, {"text": "ne"}, {"thoughtSignature": "c2ln"}) == said


def test_blank_text_goes_back_where_a_signature_follows() -> None:
    said = [{"text": "\n"}, {**asks("Oslo"), "thoughtSignature": "c2ln"}]

    assert again(*said) == [*said, answers()]


def test_signed_thinking_goes_back_and_other_thinking_does_not() -> None:
    signed = {"text": "Hm", "thought": True, "thoughtSignature": "c2ln"}

    assert again(signed, {"text": "More", "thought": True}, asks("Oslo", id="x")) == [
        signed,
        {**asks("Oslo", id="x"), "thoughtSignature": UNSIGNED},
        answers(id="x"),
    ]


def test_a_call_that_another_model_made_has_the_made_up_signature() -> None:
    said = [{**asks("Oslo", id="x1"), "thoughtSignature": "c2ln"}, asks("Rome", id="x2")]

    assert again(*said, model="gemini-4-argon") == [
        {**asks("Oslo"), "thoughtSignature": UNSIGNED},
        asks("Rome"),
        answers(),
        answers(),
    ]
    assert again(*said, model=FLASH_2) == [asks("Oslo"), asks("Rome"), answers(), answers()]


@pytest.mark.parametrize("content", ["Edited.", None])
def test_a_message_that_was_changed_goes_as_it_is_now(content: str | None) -> None:
    said = [{"text": "One"}, {**asks("Oslo", id="x"), "thoughtSignature": "c2ln"}]

    assert again(*said, content=content) == [
        *([{"text": content}] if content else []),
        {**asks("Oslo"), "thoughtSignature": UNSIGNED},
        answers(),
    ]


SIGNED = '{"v":1,"parts":[{"text":3,"sig":"c2ln"}]}'


@pytest.mark.parametrize(
    ("state", "sent"),
    [
        (SIGNED, {"text": "One", "thoughtSignature": "c2ln"}),
        ('{"v":1,"parts":[{"thought":1},{"text":3}]}', {"text": "One"}),
        (None, {"text": "One"}),
        ("", {"text": "One"}),
        ("nonsense", {"text": "One"}),
        ("[" * 100_000, {"text": "One"}),
        ("[]", {"text": "One"}),
        ('{"v":2,"parts":[{"text":3,"sig":"c2ln"}]}', {"text": "One"}),
        ('{"v":1}', {"text": "One"}),
        ('{"v":1,"parts":[]}', {"text": "One"}),
        ('{"v":1,"parts":[5]}', {"text": "One"}),
        ('{"v":1,"parts":[{}]}', {"text": "One"}),
        ('{"v":1,"parts":[{"text":true}]}', {"text": "One"}),
        ('{"v":1,"parts":[{"text":4},{"text":-1}]}', {"text": "One"}),
        ('{"v":1,"parts":[{"text":3,"sig":5}]}', {"text": "One"}),
        ('{"v":1,"parts":[{"text":3,"call":""}]}', {"text": "One"}),
        ('{"v":1,"parts":[{"thought":1,"text":3}]}', {"text": "One"}),
        ('{"v":1,"parts":[{"text":2}]}', {"text": "One"}),
        ('{"v":1,"parts":[{"text":3},{"call":"x"}]}', {"text": "One"}),
    ],
)
def test_a_state_that_cannot_be_read_is_none(state: str | None, sent: dict[str, Any]) -> None:
    message = {"id": "a1", "role": "assistant", "content": "One"}
    replay = Replay("gemini", FLASH_3, (), state)

    turns = contents_of([HELLO, message], replays={"a1": replay})

    assert turns[1]["parts"] == [sent]


def test_a_message_of_parts_goes_as_it_is() -> None:
    content = [{"type": "text", "text": "One"}]
    message = {"id": "a1", "role": "assistant", "content": content}

    turns = contents_of([HELLO, message], replays={"a1": Replay("gemini", FLASH_3, (), SIGNED)})

    assert turns[1]["parts"] == [{"text": "One", "thoughtSignature": "c2ln"}]


SIGNATURES = st.sampled_from([{}, {"thoughtSignature": "c2ln"}, {"thoughtSignature": "bGln"}])
SAID = st.lists(
    st.one_of(
        st.builds(lambda text, sig: {"text": text, **sig}, st.text(max_size=3), SIGNATURES),
        st.builds(
            lambda sig: {"text": "Hm", "thought": True, **sig},
            SIGNATURES,
        ),
        st.builds(
            lambda city, call_id, sig: {**asks(city, **call_id), **sig},
            st.text(max_size=2),
            st.sampled_from([{}, {"id": "x"}, {"id": "y"}, {"id": "z" * 60}]),
            SIGNATURES,
        ),
    ),
    min_size=1,
    max_size=6,
)


@given(said=SAID, end=st.text("ab", min_size=1, max_size=2))
def test_whatever_was_said_goes_back_signed_as_it_was(said: list[Any], end: str) -> None:
    said = [*said, {"text": end, "thoughtSignature": "ZW5k"}]

    sent = [part for part in again(*said) if "functionResponse" not in part]

    def keyed(given: list[Any]) -> list[Any]:
        signed = [json.dumps(part, sort_keys=True) for part in given if "thoughtSignature" in part]
        return [one for one in signed if UNSIGNED not in one]

    def words(given: list[Any]) -> str:
        return "".join(part["text"] for part in given if "text" in part and "thought" not in part)

    def calls(given: list[Any]) -> list[Any]:
        return [part["functionCall"] for part in given if "functionCall" in part]

    assert keyed(sent) == keyed(said)
    assert words(sent) == words(said)
    assert calls(sent) == calls(said)
    firsts = [part for part in sent if "functionCall" in part][:1]
    assert all("thoughtSignature" in part for part in firsts)


def test_the_same_request_has_the_same_bytes_and_a_longer_one_begins_with_them() -> None:
    message = {"id": "a1", "role": "assistant", "tool_calls": [call("c1")]}
    replay = Replay("gemini", FLASH_3, (), '{"v":1,"parts":[{"call":"x","sig":"c2ln"}]}')
    short = [HELLO, message, result("c1", '{"b":1,"a":2}')]
    more = [
        *short,
        {"id": "a2", "role": "assistant", "content": "So."},
        {"id": "u2", "role": "user", "content": "And?"},
    ]

    once, twice, longer = [
        [json.dumps(turn) for turn in contents_of(one, replays={"a1": replay})]
        for one in (short, short, more)
    ]

    assert once == twice == longer[: len(once)]
