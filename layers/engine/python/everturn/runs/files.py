"""Files of the runs API as content parts, and parts as what may be told of a file.

It must not fetch one, nor decide whether a model takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from everturn.protocol.runs.files import (
    FILE_KINDS,
    FileKind,
    InputFileUrl,
    ToolFile,
    bare_type,
    decoded_bytes,
    upload_in,
)

_ENDINGS: Final[dict[str, str]] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "mp4": "video/mp4",
}
"""Types that the end of a link tells; all else is a file."""

_SPELLED: Final[dict[str, str]] = {"image/jpg": "image/jpeg"}
_NAMELESS: Final = "file"


def files_to_parts(files: Iterable[ToolFile]) -> list[dict[str, Any]]:
    """Return the files of a tool's result as content parts."""
    return [part_of(file) for file in files]


def part_of(file: ToolFile | InputFileUrl) -> dict[str, Any]:
    """Return a file as a content part: an image, audio, a video or a document."""
    if isinstance(file, InputFileUrl):
        return _linked(file)
    media_type = bare_type(file.mime_type)
    url = f"data:{_SPELLED.get(media_type, media_type)};base64,{file.data}"
    match FILE_KINDS[media_type]:
        case "audio":
            spelled = "mp3" if media_type in {"audio/mpeg", "audio/mp3"} else "wav"
            return {"type": "input_audio", "input_audio": {"data": file.data, "format": spelled}}
        case kind:
            return _at_url(kind, url, file.filename)


def _linked(file: InputFileUrl) -> dict[str, Any]:
    path = "" if upload_in(file.url) else urlsplit(file.url).path
    told = bare_type(file.mime_type or "") or _ENDINGS.get(path.rpartition(".")[2].lower(), "")
    name = file.filename or unquote(path.rpartition("/")[2]) or _NAMELESS
    return _at_url(FILE_KINDS.get(told, "file"), file.url, name)


def _at_url(kind: FileKind, url: str, filename: str) -> dict[str, Any]:
    match kind:
        case "image":
            return {"type": "image_url", "image_url": {"url": url}}
        case "video":
            return {"type": "video_url", "video_url": {"url": url}}
        case _:  # audio by its link too: a part for audio takes bytes alone
            return {"type": "file", "file": {"filename": filename, "file_data": url}}


def told_of_part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is told of a file's content part, without its bytes.

    A name that the part does not hold is made of its type.
    """
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _told("image", url)
        case {"type": "video_url", "video_url": {"url": str(url)}}:
            return _told("video", url)
        case {"type": "file", "file": {"filename": str(name), "file_data": str(url)}}:
            return _told(_NAMELESS, url, name)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(spelled)}}:
            media_type = "audio/mpeg" if spelled == "mp3" else f"audio/{spelled}"
            return _inline(media_type, f"audio.{spelled}", data)
        case _:
            return None


def _told(what: str, url: str, name: str | None = None) -> dict[str, Any]:
    head, comma, data = url.partition(",")
    if not comma or head[:5].lower() != "data:":
        told = {"type": "input_file_url", "url": url}
        return told if name is None else {**told, "filename": name}
    media_type = head[5:].partition(";")[0].lower()
    named = name or f"{what}.{media_type.partition('/')[2]}"
    return _inline(media_type, named, data)


def _inline(media_type: str, filename: str, data: str) -> dict[str, Any]:
    return {
        "type": "input_file",
        "mimeType": media_type,
        "filename": filename,
        "size": decoded_bytes(data),
    }
