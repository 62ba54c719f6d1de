"""Requests, frames and readings for tests of wires of OpenAI's kind. No test lives here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import strategies as st

from everturn.llm.chunks import Chunk, Finished, UsageReported
from everturn.llm.failure import ModelFailed
from everturn.llm.providers.http_model import Asked, Encoded, Reader, Wire
from everturn.llm.providers.openai_compatible import OpenAiCompatibleWire
from everturn.llm.providers.openai_responses import OpenAiResponsesWire
from everturn.outbound.sse import SseFrame
from everturn.ports.model import Account, Beside, Replay
from everturn.protocol.llm import LlmRequest
from everturn.protocol.wire import to_json
from providers.official_models import refusals_chat, refusals_responses

_BEYOND_OPENAI = re.compile(r"reasoning:|messages\.\d+\.reasoning(_content|_details)?:")
"""What other servers take."""

KEY = "sk-test"
ANSWERING = "m-1"
PNG = "data:image/png;base64,iVBORw0KGgo="
IMAGE = {"type": "image_url", "image_url": {"url": PNG}}
FILE = {
    "type": "file",
    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
}
LINKED = {"type": "file", "file": {"filename": "a.pdf", "file_data": "https://example.org/a.pdf"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}}
VIDEO = {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}}
ADD = {"name": "add", "description": "Adds.", "input": {"type": "object", "properties": {}}}
DOTTED = {"name": "math.add", "description": "Adds."}
STRICT = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
LOOSE = {"type": "object", "properties": {"city": {"type": "string"}}}


def text(words: str) -> dict[str, Any]:
    """Return a text part."""
    return {"type": "text", "text": words}


def image(url: str) -> dict[str, Any]:
    """Return an image."""
    return {"type": "image_url", "image_url": {"url": url}}


def named(filename: str, data: str) -> dict[str, Any]:
    """Return a file."""
    return {"type": "file", "file": {"filename": filename, "file_data": data}}


OCTETS = "data:application/octet-stream;base64,JVBERg=="
REFUSED_FILES = [
    (image("data:image/svg+xml;base64,AAAA"), "an image of type image/svg+xml"),
    (image("data:image/tiff;base64,AAAA"), "an image of type image/tiff"),
    (image("https://example.org/a.svg"), "an image of type image/svg+xml"),
    (named("a.svg", "data:image/svg+xml;base64,AAAA"), "an image of type image/svg+xml"),
    (named("a.bin", OCTETS), "a file of type application/octet-stream"),
    (named("a.mp4", "data:video/mp4;base64,AAAA"), "a file of type video/mp4"),
]
"""What OpenAI refuses, and what is said of it."""


def call(call_id: str, name: str = "add", arguments: str = '{"a":1}') -> dict[str, Any]:
    """Return a tool call."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def asked(
    messages: Iterable[Mapping[str, Any]] = ({"role": "user", "content": "Hi"},),
    *,
    model: str = "gpt-4.1",
    base_url: str = "",
    key: str = KEY,
    replays: Mapping[str, Replay] | None = None,
    cache_key: str = "",
    default_max_tokens: int | None = None,
    **settings: Any,
) -> Asked:
    """Return a call, its request checked."""
    request = {"model": model, "messages": [*messages], **settings}
    checked = to_json(LlmRequest.model_validate(request))
    account = Account(base_url=base_url, api_key=key)
    beside = Beside(
        account=account,
        replays=replays or {},
        cache_key=cache_key,
        default_max_tokens=default_max_tokens,
    )
    return Asked(checked, frozenset(), beside)


def body_of(wire: Wire, given: Asked) -> dict[str, Any]:
    """Return the body of a call, as it goes over the wire, which OpenAI's client would send."""
    body: dict[str, Any] = json.loads(json.dumps(encoded(wire, given).body))
    refusals = refusals_responses if isinstance(wire, OpenAiResponsesWire) else refusals_chat
    found = refusals(body)
    if isinstance(wire, OpenAiCompatibleWire):
        found = [one for one in found if not _BEYOND_OPENAI.match(one)]
    assert found == []
    return body


def encoded(wire: Wire, given: Asked) -> Encoded:
    """Return a call, encoded twice to the same bytes."""
    once, again = wire.encode(given), wire.encode(given)
    assert json.dumps(once.body) == json.dumps(again.body)
    return once


def frame(value: Any) -> SseFrame:
    """Return a value as a frame."""
    data = value if isinstance(value, str) else json.dumps(value)
    return SseFrame("message", data)


def said(reader: Reader, values: Iterable[Any]) -> list[Chunk]:
    """Return what a whole stream says; reads as far as `HttpModel` does."""
    chunks: list[Chunk] = []
    for value in values:
        chunks += reader.read(frame(value))
        if reader.is_done:
            break
    return [*chunks, *reader.end()]


def cut_at(reader: Reader, values: Iterable[Any]) -> tuple[bool, bool]:
    """Return whether a stream that ends here is whole, and whether its usage is told."""
    chunks = said(reader, values)
    finishes = [one for one in chunks if isinstance(one, Finished)]
    assert bool(finishes) == reader.is_whole
    assert chunks[-1:] == finishes[:1] or not finishes
    return reader.is_whole, any(isinstance(one, UsageReported) for one in chunks)


def survives(reader: Reader, values: Iterable[Any]) -> None:
    """Read anything; the one error that may come is `ModelFailed`."""
    try:
        chunks = said(reader, values)
    except ModelFailed:
        chunks = [*reader.end()]
    assert sum(isinstance(one, UsageReported) for one in chunks) <= 1


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text('ab{"é ', max_size=6)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "id", "index", "name", "function"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


def bent(sample: Any) -> st.SearchStrategy[Any]:
    """Return values like `sample` of which some part is something else."""
    match sample:
        case dict():
            whole = st.fixed_dictionaries({}, optional={k: bent(v) for k, v in sample.items()})
            return whole | ANYTHING
        case list():
            return st.tuples(*map(bent, sample)).map(list) | ANYTHING
        case _:
            return st.just(sample) | ANYTHING


PARTS = st.lists(
    st.sampled_from([text("a"), text("b"), IMAGE, FILE, AUDIO]), min_size=1, max_size=3
)
RESULT_PARTS = st.lists(st.sampled_from([text("a"), IMAGE, FILE]), min_size=1, max_size=3)


@st.composite
def conversations(draw: st.DrawFn, *, audio: bool = True) -> list[dict[str, Any]]:
    """Return messages in order: each call has its result right behind it."""
    messages: list[dict[str, Any]] = []
    content = st.text("ab ", min_size=1, max_size=4) | (PARTS if audio else RESULT_PARTS)
    for at in range(draw(st.integers(1, 5))):
        match draw(st.sampled_from(["system", "user", "answer", "calls"])):
            case "system":
                messages.append({"role": "system", "content": draw(st.sampled_from(["s", "t"]))})
            case "user":
                name = draw(st.sampled_from([None, "ann", "Ann Example"]))
                named = {"name": name} if name else {}
                messages.append({"role": "user", "content": draw(content), **named})
            case "answer":
                messages.append({"role": "assistant", "content": draw(content)})
            case _:
                ids = [f"call/{at}/{one}" for one in range(draw(st.integers(1, 3)))]
                names = st.sampled_from(["add", "math.add"])
                arguments = st.sampled_from(["", "{}", '{"a":1}', '{"a":'])
                calls = [call(one, draw(names), draw(arguments)) for one in ids]
                messages.append({"role": "assistant", "tool_calls": calls})
                results = st.sampled_from(["", "ok"]) | RESULT_PARTS
                messages += [
                    {"role": "tool", "tool_call_id": one, "content": draw(results)} for one in ids
                ]
    return [{"id": f"n{at}", **message} for at, message in enumerate(messages)]
