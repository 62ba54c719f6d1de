"""Content parts as blocks of Bedrock's Converse: bytes, formats, names of documents.

Source: "ContentBlock", "DocumentBlock", "ToolResultContentBlock", Bedrock API reference.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.formats import anthropic as messages_format
from everturn.llm.providers.media import (
    File,
    Linked,
    audio_of,
    document_of,
    image_of,
    unsupported,
    video_of,
)

BEDROCK: Final = "Amazon Bedrock"
MAX_NAME_CHARS: Final = 200
ATTACHED: Final = "[Everturn] See the file."
"""Stands beside a document that nobody wrote anything with: there must be text."""

NOT_SAID_AGAIN: Final = messages_format.NOT_SAID_AGAIN

IMAGES: Final = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
DOCUMENTS: Final = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/markdown": "md",
    "text/x-markdown": "md",
    "application/json": "txt",
    "application/xml": "txt",
    "application/yaml": "txt",
}
"""Other types of text are `txt`."""

VIDEOS: Final = {
    "video/mp4": "mp4",
    "video/mov": "mov",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/mpeg": "mpeg",
    "video/x-matroska": "mkv",
    "video/x-flv": "flv",
    "video/wmv": "wmv",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
AUDIO: Final = {
    "audio/wav": "wav",
    "audio/mp3": "mp3",
    "audio/mpeg": "mpeg",
    "audio/mp4": "mp4",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/aac": "aac",
    "audio/webm": "webm",
    "audio/opus": "opus",
    "audio/pcm": "pcm",
}
_ODD: Final = re.compile(r"[^A-Za-z0-9\-()\[\]]+")
_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,5}$")


class Parts:
    """Makes blocks of the parts of one request; each document gets a name of its own.

    Names follow from the files' and their order, so what was sent before is sent again as it was.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()

    def blocks(self, content: Any) -> list[dict[str, Any]]:
        """Return content as blocks. Raises `ModelFailed` for what Bedrock has no place for."""
        if content is None or isinstance(content, str):
            return spoken(content)
        return [self._block(part) for part in content]

    def _block(self, part: Mapping[str, Any]) -> dict[str, Any]:
        match part["type"]:
            case "text":
                return {"text": part["text"]}
            case "image_url":
                return self._file(image_of(part), "an image")
            case "file":
                return self._file(document_of(part), "a file", part["file"]["filename"])
            case "video_url":
                return self._file(video_of(part), "a video")
            case "input_audio":
                return self._file(audio_of(part), "audio")
            case other:
                raise unsupported(str(other), BEDROCK)

    def _file(self, file: File, what: str, name: str = "") -> dict[str, Any]:
        if isinstance(file, Linked):
            raise unsupported(f"{what} by its URL", f"{BEDROCK}, which takes bytes")
        kind = file.media_type
        source = {"bytes": _bytes(file.data, what)}
        for block, formats in (("image", IMAGES), ("video", VIDEOS), ("audio", AUDIO)):
            if kind in formats:
                return {block: {"format": formats[kind], "source": source}}
        if kind not in DOCUMENTS and not kind.startswith("text/"):
            raise unsupported(f"{what} of type {kind}", BEDROCK)
        format_name = DOCUMENTS.get(kind, "txt")
        return {"document": {"format": format_name, "name": self._name(name), "source": source}}

    def _name(self, filename: str) -> str:
        """Return a name that no other document of the request has, in the characters allowed."""
        stem = _ODD.sub(" ", _ENDING.sub("", filename)).strip()[:MAX_NAME_CHARS].strip()
        name = stem = stem or "document"
        number = 1
        while name in self._names:
            number += 1
            ending = f" ({number})"
            name = stem[: MAX_NAME_CHARS - len(ending)].rstrip() + ending
        self._names.add(name)
        return name


def with_text(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return blocks with a text among them, where a document needs one. Source: "Message"."""
    kinds = {kind for block in blocks for kind in block}
    return [*blocks, {"text": ATTACHED}] if "document" in kinds and "text" not in kinds else blocks


def spoken(content: Any) -> list[dict[str, Any]]:
    """Return what a model said: texts, and a word in place of each file."""
    if content is None or isinstance(content, str):
        return [{"text": content}] if content else []
    return [{"text": part.get("text", NOT_SAID_AGAIN)} for part in content]


def _bytes(data: str, what: str) -> bytes:
    try:
        found = base64.b64decode(data)
    except (binascii.Error, ValueError) as error:
        raise ModelFailed(f"{what} is not base64", FailureCode.INVALID_REQUEST) from error
    if not found:
        raise unsupported(f"{what} without a byte", BEDROCK)
    return found
