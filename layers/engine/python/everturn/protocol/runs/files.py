"""Files in the bodies of the agent runs API: by value or by link, of which types, how large.

It must not know what a model takes: adapters refuse what has no place in a request.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from everturn.protocol.limits import (
    MAX_FILE_URL_CHARS,
    MAX_FILENAME_BYTES,
    MAX_INLINE_FILES_BYTES,
    MAX_RUN_FILES,
)
from everturn.protocol.runs.shape import RunsModel, size_bytes
from everturn.protocol.upload import REFERENCE, is_upload_id
from everturn.protocol.wire import Maybe, Seq
from everturn.rejections import InvalidRequest

FileKind = Literal["image", "file", "audio", "video"]

FILE_KINDS: Final[dict[str, FileKind]] = {
    "image/png": "image",
    "image/jpeg": "image",
    "image/jpg": "image",
    "image/gif": "image",
    "image/webp": "image",
    "application/pdf": "file",
    "text/plain": "file",
    "text/markdown": "file",
    "text/csv": "file",
    "application/json": "file",
    "audio/mpeg": "audio",
    "audio/mp3": "audio",
    "audio/wav": "audio",
    "audio/x-wav": "audio",
    "audio/wave": "audio",
    "video/mp4": "video",
}
"""Every type that is taken, in lower case and without parameters. Source: agent-runs.md."""

_LINK: Final = re.compile(r"https://[^\s\x00-\x1f\x7f/?#@\\]+(?:[/?#][^\s\x00-\x1f\x7f]*)?", re.I)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f]")


def bare_type(mime_type: str) -> str:
    """Return a MIME type in lower case and without parameters."""
    return mime_type.partition(";")[0].strip().lower()


def decoded_bytes(data: str) -> int:
    """Return how many bytes well-formed base64 stands for."""
    return len(data) // 4 * 3 - data.count("=", -2)


def _mime_type(value: str) -> str:
    if bare_type(value) in FILE_KINDS:
        return value
    known = ", ".join(FILE_KINDS)
    raise PydanticCustomError("mime_type", "should be one of {known}", {"known": known})


def _filename(value: str) -> str:
    if 1 <= size_bytes(value) <= MAX_FILENAME_BYTES and not _CONTROLS.search(value):
        return value
    raise PydanticCustomError(
        "filename",
        "should have 1 to {most} bytes without controls",
        {"most": MAX_FILENAME_BYTES},
    )


def _base64(value: str) -> str:
    if len(value) % 4 == 0 and _BASE64.fullmatch(value):
        return value
    raise PydanticCustomError(
        "base64", "should be base64 with its padding, of a byte or more, without a data URL's head"
    )


def _url(value: str) -> str:
    is_link = len(value) <= MAX_FILE_URL_CHARS and _LINK.fullmatch(value)
    if is_link or is_upload_id(upload_in(value)):
        return value
    raise PydanticCustomError(
        "file_url",
        "should be an https URL of at most {most} characters",
        {"most": MAX_FILE_URL_CHARS},
    )


def upload_in(url: str) -> str:
    """Return the id of the upload that a link refers to, an empty text where it is none."""
    return url.removeprefix(REFERENCE) if url.startswith(REFERENCE) else ""


MimeType = Annotated[str, AfterValidator(_mime_type)]
Filename = Annotated[str, AfterValidator(_filename)]


class ToolFile(RunsModel):
    """A file that a tool of the caller's made, by value. Source: runs document, section 5."""

    filename: Filename
    mime_type: MimeType
    data: Annotated[str, AfterValidator(_base64)]


class InputFile(ToolFile):
    """A file of a user's message, by value. Source: runs document, section 2.1.1."""

    type: Literal["input_file"] = "input_file"


class InputFileUrl(RunsModel):
    """A file of a user's message, by its https URL or as a reference to an upload."""

    type: Literal["input_file_url"] = "input_file_url"
    url: Annotated[str, AfterValidator(_url)]
    mime_type: Maybe[MimeType] = None
    filename: Maybe[Filename] = None


Attachment = Annotated[InputFile | InputFileUrl, Field(discriminator="type")]
Attachments = Annotated[Seq[Attachment], Field(max_length=MAX_RUN_FILES)]
ToolFiles = Annotated[Seq[ToolFile], Field(max_length=MAX_RUN_FILES)]


def check_size(files: Iterable[ToolFile | InputFileUrl], at: str) -> None:
    """Accept files that are together no larger than a request may be.

    Raises `InvalidRequest`.
    """
    total = sum(decoded_bytes(file.data) for file in files if isinstance(file, ToolFile))
    if total > MAX_INLINE_FILES_BYTES:
        raise InvalidRequest(
            f"{at}: the files by value have {total} bytes together; at most "
            f"{MAX_INLINE_FILES_BYTES} are taken",
            hint="upload larger files and refer to them by URL",
        )
