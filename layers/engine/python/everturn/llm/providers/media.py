"""Content parts as bytes and types: data URLs taken apart, kinds of files told; fetches nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import punctuation
from typing import Any, Final
from urllib.parse import quote

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.outbound.url_guard import UrlRefused, check_url

_DATA_URL: Final = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.ASCII | re.IGNORECASE)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_QUERY: Final = re.compile(r"[?#]")

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
    "svg": "image/svg+xml",
}
_FILE_TYPES: Final = {
    **_IMAGE_TYPES,
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
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
UNKNOWN_TYPE: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Inline:
    """A file by value."""

    media_type: str
    """Lower case, without parameters."""

    data: str
    """Base64."""

    @property
    def url(self) -> str:
        """The same as a data URL."""
        return f"data:{self.media_type};base64,{self.data}"


@dataclass(frozen=True, slots=True)
class Linked:
    """A file by a public https URL, its type guessed from the ending."""

    media_type: str
    url: str


File = Inline | Linked


def file_at(url: str, types: Mapping[str, str]) -> File:
    """Return what a data or https URL is; an ending that `types` does not have is unknown.

    Raises `ModelFailed` for what is neither, and for a link that leads into a private network.
    """
    found = _DATA_URL.match(url)
    if found is None:
        if not _is_public(url):
            raise unsupported("a link that is no https URL of a public host", "any request")
        ending = url.partition("?")[0].rpartition(".")[2].lower()
        return Linked(types.get(ending, UNKNOWN_TYPE), url)
    if ";base64" not in found[2].lower():
        raise unsupported("a data URL that is not base64", "any request")
    return Inline(found[1].strip().lower() or UNKNOWN_TYPE, url[found.end() :])


def _is_public(url: str) -> bool:
    """Return whether a link may be handed on; its query, which may be long, leads nowhere else."""
    told = quote(_QUERY.split(url, maxsplit=1)[0], safe=punctuation)
    return not isinstance(check_url(told, "public"), UrlRefused)


def image_of(part: Mapping[str, Any]) -> File:
    """Return the image of an `image_url` part."""
    return file_at(part["image_url"]["url"], _IMAGE_TYPES)


def document_of(part: Mapping[str, Any]) -> File:
    """Return the file of a `file` part; its name tells a type that its data does not.

    Data may also be base64 alone.
    """
    given = part["file"]
    data = given["file_data"]
    if len(data) % 4 == 0 and _BASE64.fullmatch(data):
        return Inline(_type_of(given["filename"]), data)
    found = file_at(data, _FILE_TYPES)
    if found.media_type != UNKNOWN_TYPE or isinstance(found, Linked):
        return found
    return Inline(_type_of(given["filename"]), found.data)


def _type_of(filename: str) -> str:
    return _FILE_TYPES.get(filename.rpartition(".")[2].lower(), UNKNOWN_TYPE)


def audio_of(part: Mapping[str, Any]) -> Inline:
    """Return the audio of an `input_audio` part."""
    given = part["input_audio"]
    name = given["format"].lower()
    return Inline(AUDIO_TYPES.get(name, f"audio/{name}"), given["data"])


def video_of(part: Mapping[str, Any]) -> File:
    """Return the video of a `video_url` part."""
    return file_at(part["video_url"]["url"], VIDEO_TYPES)


OPENAI_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Source: OpenAI API, "Images and vision", "Image input requirements"."""


def openai_image(image: File, where: str) -> str:
    """Return the URL of an image as OpenAI takes it. Raises `ModelFailed` for a type it refuses."""
    if image.media_type == "image/jpg":
        image = replace(image, media_type="image/jpeg")
    if image.media_type not in OPENAI_IMAGES | {UNKNOWN_TYPE}:
        raise unsupported(f"an image of type {image.media_type}", where)
    return image.url


def openai_file(part: Mapping[str, Any], where: str) -> File:
    """Return a file that OpenAI may take, or an image. Raises `ModelFailed` for what it refuses.

    Source: OpenAI API, its 400 for a file without a type; "File inputs".
    """
    found = document_of(part)
    is_unknown = isinstance(found, Inline) and found.media_type == UNKNOWN_TYPE
    if is_unknown or found.media_type.startswith(("audio/", "video/", "font/")):
        raise unsupported(f"a file of type {found.media_type}", where)
    return found


def is_image(file: File) -> bool:
    """Return whether a file is an image."""
    return file.media_type.startswith("image/")


def unsupported(what: str, where: str) -> ModelFailed:
    """Return the failure of content that a provider has no place for. Source: W-6."""
    return ModelFailed(
        f"{what} has no place in {where}",
        FailureCode.INVALID_REQUEST,
        reason="unsupported_content",
    )
