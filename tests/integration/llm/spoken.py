"""What providers say over wires whose answers are streams of events. No test lives here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from everturn.llm.chunks import Block, ReasoningBlock, TextBlock, ToolCallBlock
from everturn.llm.providers.anthropic import AnthropicWire
from everturn.llm.providers.http_model import Wire
from everturn.llm.providers.openai_chat import OpenAiChatWire
from everturn.llm.providers.openai_compatible import OpenAiCompatibleWire
from everturn.llm.providers.openai_responses import OpenAiResponsesWire
from everturn.protocol.llm import Usage
from providers.frames import DONE, frame

USAGE = Usage(
    input_tokens=5,
    output_tokens=5,
    cache_read_tokens=4,
    cache_write_tokens=0,
    reasoning_tokens=3,
)
CHAT_USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 5,
    "total_tokens": 14,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
RESPONSES_USAGE = {
    "input_tokens": 9,
    "output_tokens": 5,
    "total_tokens": 14,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 3},
}
TEXT = "Grün, 日本 🎉"
SEAL = '{"v":1,"id":"rs_1","encrypted_content":"seal"}'


@dataclass(frozen=True, slots=True)
class Spoken:
    """One wire, and answers over it."""

    wire: Wire
    path: str
    text: tuple[bytes, ...]
    """`TEXT`, in frames."""

    whole_from: int
    """As many frames of `text` are a whole answer."""

    used_from: int
    """As many tell what it has cost."""

    rich: tuple[bytes, ...]
    """Thinking where the wire has it, text, two calls in parallel."""

    blocks: tuple[Block, ...]
    """Of `rich`."""

    error: bytes
    """A frame with an error: too many requests."""

    key: tuple[str, str] = ("authorization", "Bearer test-key")
    """The header with the key."""

    base: str = "/v1"
    """Path of the account's URL."""


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return frame({"id": "c", "object": "chat.completion.chunk", "choices": [choice]})


def _call(index: int, **told: Any) -> bytes:
    about = {name: told.pop(name) for name in ("id",) if name in told}
    return _chunk({"tool_calls": [{"index": index, **about, "function": told}]})


def _event(kind: str, **fields: Any) -> bytes:
    return frame({"type": f"response.{kind}", **fields}, event=f"response.{kind}")


_CALLS = (ToolCallBlock("c1", "add", '{"a":1}'), ToolCallBlock("c2", "add", "{}"))
_USED = frame({"id": "c", "choices": [], "usage": CHAT_USAGE})
_CHAT_TEXT = (
    _chunk({"role": "assistant", "content": ""}),
    _chunk({"content": TEXT[:7]}),
    _chunk({"content": TEXT[7:]}),
    _chunk({}, "stop"),
    _USED,
    DONE,
)
_CHAT_CALLS = (
    _chunk({"content": "I add."}),
    _call(0, id="c1", name="add", arguments=""),
    _call(1, id="c2", name="add", arguments=""),
    _call(0, arguments='{"a"'),
    _call(1, arguments="{}"),
    _call(0, arguments=":1}"),
    _chunk({}, "tool_calls"),
    _USED,
    DONE,
)
_CHAT_ERROR = frame({"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}})


def _item(told: str, index: int, kind: str, **fields: Any) -> bytes:
    return _event(f"output_item.{told}", output_index=index, item={"type": kind, **fields})


_COMPLETED = _event("completed", response={"id": "resp_1", "usage": RESPONSES_USAGE})

CHAT = Spoken(
    wire=OpenAiChatWire(),
    path="/v1/chat/completions",
    text=_CHAT_TEXT,
    whole_from=4,
    used_from=5,
    rich=_CHAT_CALLS,
    blocks=(TextBlock("I add."), *_CALLS),
    error=_CHAT_ERROR,
)
COMPATIBLE = Spoken(
    wire=OpenAiCompatibleWire(),
    path="/v1/chat/completions",
    text=_CHAT_TEXT,
    whole_from=4,
    used_from=5,
    rich=(_chunk({"reasoning_content": "Let me"}), _chunk({"reasoning": "."}), *_CHAT_CALLS),
    blocks=(ReasoningBlock("Let me."), TextBlock("I add."), *_CALLS),
    error=_CHAT_ERROR,
)
RESPONSES = Spoken(
    wire=OpenAiResponsesWire(),
    path="/v1/responses",
    text=(
        _event("created", response={"id": "resp_1"}),
        _item("added", 0, "message", id="msg_1"),
        _event("output_text.delta", output_index=0, delta=TEXT[:7]),
        _event("output_text.delta", output_index=0, delta=TEXT[7:]),
        _item("done", 0, "message", id="msg_1", content=[{"type": "output_text", "text": TEXT}]),
        _COMPLETED,
    ),
    whole_from=6,
    used_from=6,
    rich=(
        _item("added", 0, "reasoning", id="rs_1"),
        _event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="Let me."),
        _item("done", 0, "reasoning", id="rs_1", encrypted_content="seal"),
        _item("added", 1, "message", id="msg_1"),
        _event("output_text.delta", output_index=1, delta="I add."),
        _item("added", 2, "function_call", call_id="c1", name="add"),
        _item("added", 3, "function_call", call_id="c2", name="add"),
        _event("function_call_arguments.delta", output_index=2, delta='{"a"'),
        _event("function_call_arguments.delta", output_index=3, delta="{}"),
        _event("function_call_arguments.delta", output_index=2, delta=":1}"),
        _COMPLETED,
    ),
    blocks=(ReasoningBlock("Let me.", SEAL), TextBlock("I add."), *_CALLS),
    error=frame({"type": "error", "code": "rate_limit_exceeded", "message": "x"}, "error"),
)


def _part(kind: str, **fields: Any) -> bytes:
    return frame({"type": kind, **fields}, event=kind)


def _begun(index: int, **block: Any) -> bytes:
    return _part("content_block_start", index=index, content_block=block)


def _piece(index: int, kind: str, **delta: Any) -> bytes:
    return _part("content_block_delta", index=index, delta={"type": kind, **delta})


def _done(index: int) -> bytes:
    return _part("content_block_stop", index=index)


_MESSAGE = _part(
    "message_start",
    message={
        "id": "msg_1",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1},
    },
)


def _stopped(reason: str) -> bytes:
    usage = {"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 3}}
    return _part("message_delta", delta={"stop_reason": reason}, usage=usage)


_STOP = _part("message_stop")
ANTHROPIC = Spoken(
    wire=AnthropicWire(),
    path="/v1/messages",
    text=(
        _MESSAGE,
        _begun(0, type="text", text=""),
        _piece(0, "text_delta", text=TEXT[:7]),
        _part("ping"),
        _piece(0, "text_delta", text=TEXT[7:]),
        _done(0),
        _stopped("end_turn"),
        _STOP,
    ),
    whole_from=7,
    used_from=7,
    rich=(
        _MESSAGE,
        _begun(0, type="thinking", thinking="", signature=""),
        _piece(0, "thinking_delta", thinking="Let me."),
        _piece(0, "signature_delta", signature="seal"),
        _done(0),
        _begun(1, type="text", text=""),
        _piece(1, "text_delta", text="I add."),
        _done(1),
        _begun(2, type="tool_use", id="c1", name="add", input={}),
        _begun(3, type="tool_use", id="c2", name="add", input={}),
        _piece(2, "input_json_delta", partial_json='{"a"'),
        _piece(3, "input_json_delta", partial_json="{}"),
        _piece(2, "input_json_delta", partial_json=":1}"),
        _done(2),
        _done(3),
        _stopped("tool_use"),
        _STOP,
    ),
    blocks=(ReasoningBlock("Let me.", "seal"), TextBlock("I add."), *_CALLS),
    error=_part("error", error={"type": "rate_limit_error", "message": "Slow down."}),
    key=("x-api-key", "test-key"),
    base="",
)
ALL = {
    "chat": CHAT,
    "compatible": COMPATIBLE,
    "responses": RESPONSES,
    "anthropic": ANTHROPIC,
}
