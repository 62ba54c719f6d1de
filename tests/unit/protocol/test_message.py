"""Messages: content in two forms, and what each role needs."""

import pytest
from pydantic import TypeAdapter

from everturn.protocol.ids import MessageId, NodeId
from everturn.protocol.message import (
    DraftMessage,
    ImagePart,
    ImageUrl,
    Message,
    MessageNode,
    MessageTree,
    TextPart,
    ToolCall,
    ToolCallFunction,
    check_message,
)
from everturn.protocol.wire import parse, to_json
from everturn.rejections import InvalidMessage, SchemaViolation

DRAFT = TypeAdapter(DraftMessage)
MESSAGE = TypeAdapter(Message)
TREE = TypeAdapter(MessageTree)


def call(call_id: str) -> ToolCall:
    return ToolCall(
        id=call_id, type="function", function=ToolCallFunction(name="f", arguments="{}")
    )


def test_every_part_of_content_is_read_and_written_alike() -> None:
    data = {
        "role": "user",
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "image_url", "image_url": {"url": "https://a.example/i.png"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBE"}},
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            {"type": "video_url", "video_url": {"url": "https://a.example/v.mp4"}},
        ],
    }

    draft = parse(DRAFT, data)

    assert to_json(draft) == data
    assert draft.content is not None
    assert draft.content[:2] == (
        TextPart(text="hi"),
        ImagePart(image_url=ImageUrl(url="https://a.example/i.png")),
    )


def test_a_whole_message_is_read_and_written_alike() -> None:
    data = {
        "id": "m1",
        "role": "assistant",
        "content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
        "tool_call_id": "c0",
        "name": "n",
    }

    message = parse(MESSAGE, data)

    assert to_json(message) == data
    assert to_json(parse(DRAFT, data)) == data


def test_a_tree_is_read_and_written_alike() -> None:
    root = Message(id=MessageId("m1"), role="user", content="a")
    leaf = Message(id=MessageId("m2"), role="user", content="b")
    tree = MessageTree(
        nodes=(MessageNode(message=root), MessageNode(message=leaf, parent_id=NodeId("m1"))),
        head_id=NodeId("m2"),
    )

    data = to_json(tree)

    assert data == {
        "nodes": [
            {"message": {"id": "m1", "role": "user", "content": "a"}},
            {"message": {"id": "m2", "role": "user", "content": "b"}, "parent_id": "m1"},
        ],
        "head_id": "m2",
    }
    assert parse(TREE, data) == tree


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"role": "robot"}, "/role: should be 'system', 'user', 'assistant' or 'tool'"),
        (
            {"role": "user", "content": 5},
            "/content: should be a string or a list of content parts",
        ),
        ({"role": "user", "content": ["hi"]}, "/content/0: should be an object"),
        (
            {"role": "user", "content": [{"type": "smell"}]},
            "/content/0: unknown type; known: text, image_url, file, input_audio, video_url",
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": None}]},
            "/content/0/text: should be a valid string",
        ),
        (
            {"role": "user", "tool_calls": [{"id": "c", "type": "function", "function": {}}]},
            "/tool_calls/0/function/name: is required (and 1 more)",
        ),
    ],
)
def test_a_malformed_message_is_told_with_its_path(data: object, sentence: str) -> None:
    with pytest.raises(SchemaViolation) as caught:
        parse(DRAFT, data)

    assert caught.value.message == sentence


def test_a_recorded_message_needs_an_id() -> None:
    with pytest.raises(SchemaViolation, match="/id: is required"):
        parse(MESSAGE, {"role": "user"})


@pytest.mark.parametrize(
    "message",
    [
        DraftMessage(role="user", content="hi"),
        DraftMessage(role="user", content=(TextPart(text=""),)),
        DraftMessage(role="user", content="hi", tool_calls=()),
        DraftMessage(role="system", content="be brief"),
        DraftMessage(role="assistant", content="hi"),
        DraftMessage(role="assistant", tool_calls=(call("c1"), call("c2"))),
        DraftMessage(role="tool", tool_call_id="c1"),
    ],
)
def test_a_message_with_what_its_role_needs_is_accepted(message: DraftMessage) -> None:
    check_message(message)

    assert parse(DRAFT, to_json(message)) == message


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (DraftMessage(role="user"), "the new user message: role user needs content"),
        (DraftMessage(role="user", content=""), "the new user message: role user needs content"),
        (
            DraftMessage(role="system", content=()),
            "the new system message: role system needs content",
        ),
        (
            DraftMessage(role="assistant", content="", tool_calls=()),
            "the new assistant message: role assistant needs content or tool_calls",
        ),
        (
            DraftMessage(id=MessageId("m1"), role="tool", content="x"),
            "message m1: role tool needs tool_call_id",
        ),
        (
            DraftMessage(role="user", content="x", tool_calls=(call("c1"),)),
            "the new user message: only role assistant has tool_calls",
        ),
        (
            DraftMessage(role="assistant", tool_calls=(call("c1"), call("c1"))),
            "the new assistant message: two tool_calls have the same id",
        ),
    ],
)
def test_a_message_without_what_its_role_needs_is_refused(
    message: DraftMessage, sentence: str
) -> None:
    with pytest.raises(InvalidMessage) as caught:
        check_message(message)

    assert caught.value.message == sentence
