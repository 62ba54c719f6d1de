"""Messages as chat completions take them: each part where its role has a place; sends nothing.

Only a user's message may hold what is no text, so parts of a result go into a user's message right
behind the results. Source: OpenAI API, "Create chat completion".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from everturn.errors import RejectedError
from everturn.llm.providers.media import (
    Linked,
    image_of,
    is_image,
    openai_file,
    openai_image,
    unsupported,
)
from everturn.llm.providers.shape import BLANK
from everturn.protocol.json_text import read_json

Part = Mapping[str, Any]

FOLLOWS: Final = "[Everturn] The result follows in the next message of the user."
"""Stands for a result that has no text of its own."""

NO_ARGUMENTS: Final = "{}"

_SPEAKER: Final = re.compile(r"[^\s<|\\/>]{1,64}")
_AUDIO: Final = {"wav": "wav", "mp3": "mp3", "mpeg": "mp3"}
"""Formats that OpenAI hears, by the names that parts may have."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server takes in a message."""

    name: str
    """For people."""

    to_part: Callable[[Part], Part]
    """Makes a part that is no text fit for a user's message; raises `ModelFailed`."""

    takes_malformed: bool
    """Whether arguments may be something else than a JSON object."""


@dataclass(frozen=True, slots=True)
class _Fit:
    message: dict[str, Any]
    moved: tuple[Part, ...] = ()


def chat_messages(
    messages: Sequence[Mapping[str, Any]], dialect: Dialect
) -> Iterator[dict[str, Any]]:
    """Yield neutral messages that fit a chat. Raises `ModelFailed` for parts without a place."""
    moved: list[Part] = []
    for message in messages:
        if moved and message["role"] != "tool":
            yield {"role": "user", "content": moved}
            moved = []
        fit = _fit(message, dialect)
        yield fit.message
        moved += fit.moved
    if moved:
        yield {"role": "user", "content": moved}


def from_elsewhere(message: Mapping[str, Any]) -> Part:
    """Return the text that stands before parts which were moved out of a message."""
    where = f"result of call {message['tool_call_id']}" if _is_result(message) else "answer"
    return {"type": "text", "text": f"[Everturn] From the {where}:"}


def words_and_rest(content: Any) -> tuple[str, list[Part]]:
    """Return the text of a content, its pieces on lines of their own, and what is no text."""
    if isinstance(content, str):
        return content, []
    parts = content or ()
    words = [part["text"] for part in parts if part["type"] == "text"]
    return "\n".join(words), [part for part in parts if part["type"] != "text"]


def openai_part(part: Part) -> Part:
    """Return a part as OpenAI's chat completions take it."""
    where = "OpenAI's chat completions"
    match part["type"]:
        case "image_url":
            return _image(openai_image(image_of(part), where), part["image_url"])
        case "file":
            return _file(part, where)
        case "input_audio":
            given = part["input_audio"]
            spelled = _AUDIO.get(given["format"].lower())
            if spelled is None:
                raise unsupported(f"audio as {given['format']}", where)
            return {"type": "input_audio", "input_audio": {**given, "format": spelled}}
        case "video_url":
            raise unsupported("video", where)
        case _:
            return part


def _image(url: str, given: Part) -> Part:
    return {"type": "image_url", "image_url": {**given, "url": url}}


def _file(part: Part, where: str) -> Part:
    """Return a file by its bytes; one that is an image goes as such."""
    file = openai_file(part, where)
    if is_image(file):
        return _image(openai_image(file, where), {})
    if isinstance(file, Linked):
        raise unsupported("a file by its URL", where)
    return {"type": "file", "file": {**part["file"], "file_data": file.url}}


OPENAI: Final = Dialect("OpenAI's chat completions", openai_part, takes_malformed=True)


def _fit(message: Mapping[str, Any], dialect: Dialect) -> _Fit:
    named = {**message}
    if not _SPEAKER.fullmatch(named.get("name") or ""):
        named.pop("name", None)
    if message["role"] == "user":
        content = message["content"]
        if not isinstance(content, str):
            named["content"] = [_of_user(part, dialect) for part in content]
        return _Fit(named)
    words, rest = words_and_rest(message.get("content"))
    if rest and message["role"] == "system":
        raise unsupported(f"{rest[0]['type']} of a system message", dialect.name)
    moved = tuple(_of_user(part, dialect) for part in rest)
    named["content"] = words
    fit = _Fit(named, (from_elsewhere(message), *moved) if moved else ())
    return _of_assistant(fit, dialect) if message["role"] == "assistant" else _of_result(fit)


def _of_user(part: Part, dialect: Dialect) -> Part:
    return part if part["type"] == "text" else dialect.to_part(part)


def _is_result(message: Mapping[str, Any]) -> bool:
    return bool(message["role"] == "tool")


def _of_result(fit: _Fit) -> _Fit:
    if fit.moved and not fit.message["content"]:
        return replace(fit, message={**fit.message, "content": FOLLOWS})
    return fit


def _of_assistant(fit: _Fit, dialect: Dialect) -> _Fit:
    """Source: OpenAI API: content may be null where there are calls, and nowhere else."""
    message = {**fit.message}
    calls = message.pop("tool_calls", None)
    if calls:
        message["content"] = message["content"] or None
        message["tool_calls"] = [with_arguments(call, dialect.takes_malformed) for call in calls]
    else:
        message["content"] = message["content"] or BLANK
    return replace(fit, message=message)


def with_arguments(call: Mapping[str, Any], takes_malformed: bool) -> Mapping[str, Any]:
    """Return a call whose arguments can be read again: none are an empty object."""
    function = call["function"]
    text = function["arguments"]
    if text.strip() and (takes_malformed or _is_object(text)):
        return call
    return {**call, "function": {**function, "arguments": NO_ARGUMENTS}}


def _is_object(text: str) -> bool:
    try:
        return isinstance(read_json(text), dict)
    except RejectedError:
        return False
