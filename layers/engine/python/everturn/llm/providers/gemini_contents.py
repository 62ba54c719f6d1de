"""A conversation as Gemini's contents: roles, parts, results of tools; sends nothing.

Source: Gemini API, "Content", "Part", "Function calling", "File input methods".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.llm.providers.gemini_replay import UNSIGNED, Part, json_object, to_function_call
from everturn.llm.providers.media import (
    UNKNOWN_TYPE,
    File,
    Linked,
    audio_of,
    document_of,
    image_of,
    unsupported,
    video_of,
)

WHERE: Final = "Gemini's contents"
FILES_FOLLOW: Final = "[Everturn] Its files follow."
"""Stands for the text of a result that has none."""

NO_RESULT: Final = "[Everturn] There is no result."

MAX_RESULT_DEPTH: Final = 32
"""Containers inside each other in a result that goes as an object; a deeper one goes as text."""

_IMAGES: Final = frozenset(
    {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "image/bmp"}
)
_TEXTS: Final = frozenset(
    {
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/javascript",
        "application/x-javascript",
        "application/x-python-code",
        "application/rtf",
    }
)
"""Text by another name."""

_SAME: Final = {"image/jpg": "image/jpeg", "audio/x-wav": "audio/wav"}


@dataclass(slots=True)
class _Turn:
    """What one side says; a user's turn answers each call of the turn before, and nothing else."""

    role: str
    calls: dict[str, Part] = field(default_factory=dict)
    """Calls without result, by the ids that messages have for them."""

    responses: list[Part] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    def content(self) -> dict[str, Any]:
        """Return the content; responses come first, right behind their calls."""
        lost = [] if self.role == "model" else self.calls.values()
        left = [_response(call, {"error": NO_RESULT}) for call in lost]
        return {"role": self.role, "parts": [*self.responses, *left, *self.parts]}


def to_contents(
    messages: Iterable[Mapping[str, Any]],
    failed: frozenset[str],
    said: Mapping[str, Sequence[Part]],
    *,
    signs: bool,
) -> list[dict[str, Any]]:
    """Return the conversation without its system messages, adjacent messages of a role merged.

    `failed` are the calls whose result is an error; `said` are parts to be said again in place of a
    message, by its id. With `signs`, the first call of a message has a signature in any case.
    Raises `ModelFailed` for content that has no place there.
    """
    turns: list[_Turn] = []
    for message in messages:
        if message["role"] == "system":
            continue
        role = "model" if message["role"] == "assistant" else "user"
        if not turns or turns[-1].role != role:
            turns.append(_Turn(role, turns[-1].calls if turns and role == "user" else {}))
        turn = turns[-1]
        match message["role"]:
            case "assistant":
                _speak(turn, message, said.get(message.get("id") or ""), signs=signs)
            case "tool":
                _answer(turn, message, is_error=message["tool_call_id"] in failed)
            case _:
                turn.parts += _content_parts(message.get("content"))
    return [turn.content() for turn in turns]


def text_of(content: Any) -> str:
    """Return the text of a message's content."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content or () if part["type"] == "text")


def _said_parts(message: Mapping[str, Any]) -> Iterator[Part]:
    yield from _content_parts(message.get("content"))
    for call in message.get("tool_calls") or ():
        yield {"functionCall": to_function_call(call)}


def _signed(parts: Sequence[Part]) -> list[Part]:
    """Return `parts` with a signature on the first call; a model from 3 on demands one there."""
    first = next((at for at, part in enumerate(parts) if "functionCall" in part), None)
    if first is None or "thoughtSignature" in parts[first]:
        return list(parts)
    signed = {**parts[first], "thoughtSignature": UNSIGNED}
    return [*parts[:first], signed, *parts[first + 1 :]]


def _speak(
    turn: _Turn, message: Mapping[str, Any], said: Sequence[Part] | None, *, signs: bool
) -> None:
    """Add what the model said, its calls noted."""
    parts = list(said or _said_parts(message))
    made = [part["functionCall"] for part in parts if "functionCall" in part]
    ids = [call["id"] for call in message.get("tool_calls") or ()]
    turn.calls |= dict(zip(ids, made, strict=True))
    turn.parts += _signed(parts) if signs else parts


def _answer(turn: _Turn, message: Mapping[str, Any], *, is_error: bool) -> None:
    """Add a tool's result, its files as parts behind all results; without its call it is text."""
    content = message.get("content")
    text, files = text_of(content), list(_file_parts(content))
    call = turn.calls.pop(message["tool_call_id"], None)
    if call is None:
        turn.parts += [{"text": f"[Everturn] Result of a tool:\n{text}"}, *files]
        return
    said = {"error": text} if is_error else _result(text, has_files=bool(files))
    turn.responses.append(_response(call, said))
    if files:
        turn.parts += [{"text": f"[Everturn] From the result of {call['name']}:"}, *files]


def _response(call: Mapping[str, Any], said: Mapping[str, Any]) -> Part:
    named = {name: call[name] for name in ("id", "name") if name in call}
    return {"functionResponse": {**named, "response": said}}


def _result(text: str, *, has_files: bool) -> dict[str, Any]:
    """Return what a tool gave: an object as it is, all else as text.

    A `$ref` in an object would be read as a file's name. Source: "Multimodal function responses".
    """
    given = json_object(text)
    if given is not None and _may_go(given):
        return given
    return {"result": FILES_FOLLOW if has_files and not text.strip() else text}


def _may_go(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_RESULT_DEPTH):
        level = [one for one in level if isinstance(one, dict | list)]
        if any(isinstance(one, dict) and "$ref" in one for one in level):
            return False
        level = [
            inner for one in level for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return not any(isinstance(one, dict | list) for one in level)


def _content_parts(content: Any) -> Iterator[Part]:
    if isinstance(content, str):
        yield {"text": content}
        return
    for part in content or ():
        yield {"text": part["text"]} if part["type"] == "text" else _file_part(part)


def _file_parts(content: Any) -> Iterator[Part]:
    if not isinstance(content, str):
        yield from (_file_part(part) for part in content or () if part["type"] != "text")


def _file_part(part: Mapping[str, Any]) -> Part:
    match part["type"]:
        case "image_url":
            return _to_part(image_of(part), "an image")
        case "file":
            return _to_part(document_of(part), "a file")
        case "input_audio":
            return _to_part(audio_of(part), "audio")
        case "video_url":
            return _to_part(video_of(part), "a video")
        case other:
            raise unsupported(str(other), WHERE)


def _to_part(file: File, what: str) -> Part:
    taken = _taken(file.media_type)
    if isinstance(file, Linked) and file.media_type == UNKNOWN_TYPE:
        return {"fileData": {"fileUri": file.url}}  # a page of a video, a file of Gemini's own
    if taken is None:
        raise unsupported(f"{what} of type {file.media_type}", WHERE)
    if isinstance(file, Linked):
        return {"fileData": {"mimeType": file.media_type, "fileUri": file.url}}
    return {"inlineData": {"mimeType": taken, "data": file.data}}


def _taken(media_type: str) -> str | None:
    """Return the type under which Gemini takes a file, nothing where it takes none of its kind."""
    known = _SAME.get(media_type, media_type)
    kind = known.partition("/")[0]
    if kind == "text" or known in _TEXTS:
        return "text/plain"
    if kind in {"audio", "video"} or known in _IMAGES or known == "application/pdf":
        return known
    return None
