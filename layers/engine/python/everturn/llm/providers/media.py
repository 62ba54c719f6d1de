"""Content parts as bytes and types: data URLs taken apart, kinds of files told; fetches nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from everturn.llm.failure import FailureCode, ModelFailed

_DATA_URL: Final = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.ASCII)

AUDIO_TYPES: Final = {
    "wav": "audio/wav",
    "mp3": "audio/mp3",
    "mpeg": "audio/mpeg",
    "m4a": "audio/mp4",
    "mp4": "audio/mp4",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "aac": "audio/aac",
    "webm": "audio/webm",
    "aiff": "audio/aiff",
}
"""MIME types of the format names that audio parts carry."""

VIDEO_TYPES: Final = {
    "mp4": "video/mp4",
    "mov": "video/mov",
    "webm": "video/webm",
    "mpeg": "video/mpeg",
    "mkv": "video/x-matroska",
    "flv": "video/x-flv",
    "wmv": "video/wmv",
    "3gp": "video/3gpp",
}
_IMAGE_TYPES: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}
_FILE_TYPES: Final = {
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
UNKNOWN_TYPE: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Inline:
    """A file by value."""

    media_type: str
    """Lower case, without parameters."""

    data: str
    """Base64."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A file by an http(s) URL, its type guessed from the ending."""

    media_type: str
    url: str


File = Inline | Linked


def file_at(url: str, types: Mapping[str, str]) -> File:
    """Return what a data or http(s) URL is; an ending that `types` does not have is unknown."""
    found = _DATA_URL.match(url)
    if found is None:
        ending = url.partition("?")[0].rpartition(".")[2].lower()
        return Linked(types.get(ending, UNKNOWN_TYPE), url)
    if ";base64" not in found[2].lower():
        raise unsupported("a data URL that is not base64", "any request")
    return Inline(found[1].strip().lower() or UNKNOWN_TYPE, url[found.end() :])


def image_of(part: Mapping[str, Any]) -> File:
    """Return the image of an `image_url` part."""
    return file_at(part["image_url"]["url"], _IMAGE_TYPES)


def document_of(part: Mapping[str, Any]) -> File:
    """Return the file of a `file` part; its name tells a type that its data does not."""
    given = part["file"]
    found = file_at(given["file_data"], _FILE_TYPES)
    if found.media_type != UNKNOWN_TYPE or isinstance(found, Linked):
        return found
    return Inline(file_at(given["filename"], _FILE_TYPES).media_type, found.data)


def audio_of(part: Mapping[str, Any]) -> Inline:
    """Return the audio of an `input_audio` part."""
    given = part["input_audio"]
    name = given["format"].lower()
    return Inline(AUDIO_TYPES.get(name, f"audio/{name}"), given["data"])


def video_of(part: Mapping[str, Any]) -> File:
    """Return the video of a `video_url` part."""
    return file_at(part["video_url"]["url"], VIDEO_TYPES)


def unsupported(what: str, where: str) -> ModelFailed:
    """Return the failure of content that a provider has no place for. Source: W-6."""
    return ModelFailed(
        f"{what} has no place in {where}",
        FailureCode.INVALID_REQUEST,
        reason="unsupported_content",
    )
