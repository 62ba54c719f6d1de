"""The request for an upload, and how a message refers to what was uploaded.

It must not know where files are kept.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter

from everturn.protocol.limits import (
    MAX_CONTENT_TYPE_CHARS,
    MAX_FILENAME_BYTES,
    MAX_UPLOAD_BYTES,
    MAX_UPLOADS_REFERRED,
)
from everturn.protocol.wire import Json, Maybe, WireModel, parse
from everturn.rejections import SchemaViolation, TooLarge

REFERENCE: Final = "everturn:upload:"
"""Begins what a message carries in place of a URL; the upload's id follows."""

_MINTED = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOKEN = r"[A-Za-z0-9!#$&^_.+-]{1,80}"  # noqa: S105  # a word of RFC 9110
_CONTENT_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:; ?[ -~]+)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NO_FILENAME = re.compile(r"[\x00-\x1f\x7f/\\]")


class UploadRequest(WireModel):
    """What a caller is about to upload."""

    filename: str
    content_type: str
    size_bytes: Annotated[int, Field(ge=1)]
    sha256: Maybe[str] = None
    """Of the file, in lower-case hex."""


UPLOAD_REQUEST = TypeAdapter(UploadRequest)


def read_upload(data: Json) -> UploadRequest:
    """Return the request that `data` is. Raises `SchemaViolation`, `TooLarge`."""
    request = parse(UPLOAD_REQUEST, data)
    name_bytes = len(request.filename.encode("utf-8", "surrogatepass"))
    if not 1 <= name_bytes <= MAX_FILENAME_BYTES or _NO_FILENAME.search(request.filename):
        raise SchemaViolation(
            f"/filename: needs 1 to {MAX_FILENAME_BYTES} bytes without slashes and controls"
        )
    content_type = request.content_type
    if len(content_type) > MAX_CONTENT_TYPE_CHARS or not _CONTENT_TYPE.fullmatch(content_type):
        raise SchemaViolation(
            f"/content_type: needs the form type/subtype, at most {MAX_CONTENT_TYPE_CHARS} "
            "characters"
        )
    if request.sha256 is not None and not _SHA256.fullmatch(request.sha256):
        raise SchemaViolation("/sha256: needs 64 lower-case hex digits")
    if request.size_bytes > MAX_UPLOAD_BYTES:
        raise TooLarge(
            f"The file has {request.size_bytes} bytes; at most {MAX_UPLOAD_BYTES} are taken.",
            limit_bytes=MAX_UPLOAD_BYTES,
            size_bytes=request.size_bytes,
        )
    return request


def is_upload_id(text: str) -> bool:
    """Return whether `text` can name an upload: all ids of uploads are ours."""
    return _MINTED.fullmatch(text) is not None


def uploads_in(messages: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the ids of the uploads that the content of `messages` refers to, each once.

    Raises `SchemaViolation` for more than `MAX_UPLOADS_REFERRED`.
    """
    places = (place for message in messages for place in _places(message.get("content")))
    ids = {place.removeprefix(REFERENCE): None for place in places if place.startswith(REFERENCE)}
    found = tuple(one for one in ids if is_upload_id(one))
    if len(found) > MAX_UPLOADS_REFERRED:
        raise SchemaViolation(
            f"/input: refers to {len(found)} uploads; at most {MAX_UPLOADS_REFERRED} are taken"
        )
    return found


def _places(content: Any) -> Iterator[str]:
    """Yield what stands in the parts of a content where a reference may stand."""
    for part in () if isinstance(content, str) else content or ():
        match part:
            case {"image_url": {"url": str(place)}} | {"video_url": {"url": str(place)}}:
                yield place
            case {"file": {"file_data": str(place)}}:
                yield place
            case _:
                pass


def reference_to(upload_id: str) -> str:
    """Return what a message's content part carries to mean an upload."""
    return f"{REFERENCE}{upload_id}"
