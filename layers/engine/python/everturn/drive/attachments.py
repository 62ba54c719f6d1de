"""Files that messages refer to, put in their places for a provider; the request stays as it was."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.errors import TransientError
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.protocol.upload import REFERENCE, is_upload_id
from everturn.store.upload_places import UploadPlaces

MAX_INLINED_BYTES: Final = 20 * 1024 * 1024
"""All files of one model request, before base64. Source: Gemini API, limit of inline requests."""


@dataclass(frozen=True, slots=True)
class _File:
    url: str
    """With all of it in it."""

    size_bytes: int


@dataclass(slots=True)
class _Used:
    """What one request has taken in so far."""

    files: dict[str, _File] = field(default_factory=dict)
    """By upload."""

    left_bytes: int = MAX_INLINED_BYTES


class Attachments:
    """The files of one session; those of the last request are at hand for the next one."""

    def __init__(self, places: UploadPlaces, tenant: str, owner_id: str) -> None:
        self._places = places
        self._tenant = tenant
        self._owner_id = owner_id
        self._at_hand: Mapping[str, _File] = {}
        """By upload."""

    def filled(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request with data URLs in place of references to uploads.

        Raises `ModelFailed` for a file that is not there, or another owner's, and for more bytes
        than a request may carry.
        """
        used = _Used()
        messages = [self._message(message, used) for message in body["messages"]]
        self._at_hand = used.files
        return {**body, "messages": messages}

    def _message(self, message: Mapping[str, Any], used: _Used) -> Mapping[str, Any]:
        content = message.get("content")
        if content is None or isinstance(content, str):
            return message
        return {**message, "content": [self._part(part, used) for part in content]}

    def _part(self, part: Mapping[str, Any], used: _Used) -> Mapping[str, Any]:
        match part:
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                return {**part, "image_url": {"url": self._url(url, used)}}
            case {"type": "video_url", "video_url": {"url": str(url)}}:
                return {**part, "video_url": {"url": self._url(url, used)}}
            case {"type": "file", "file": {"file_data": str(data), **about}}:
                return {**part, "file": {**about, "file_data": self._url(data, used)}}
            case _:
                return part

    def _url(self, url: str, used: _Used) -> str:
        upload_id = url.removeprefix(REFERENCE)
        if upload_id == url:
            return url
        known = used.files.get(upload_id) or self._at_hand.get(upload_id)
        found = known or self._file(upload_id, used.left_bytes)
        if found.size_bytes > used.left_bytes:
            raise _too_much()
        used.left_bytes -= found.size_bytes  # at each reference: each puts the whole file in
        used.files[upload_id] = found
        return found.url

    def _file(self, upload_id: str, left_bytes: int) -> _File:
        if not is_upload_id(upload_id):
            raise _missing(upload_id)
        try:
            found = self._places.read(self._tenant, upload_id, left_bytes)
        except TransientError as error:
            told = f"the upload {upload_id} could not be read"
            raise ModelFailed(told, FailureCode.NETWORK) from error
        if found is None or found[0].owner not in {"", self._owner_id}:
            raise _missing(upload_id)
        upload, content = found
        if content is None:
            raise _too_much()
        media_type = upload.content_type.partition(";")[0].strip().lower()
        data = base64.b64encode(content).decode()
        return _File(f"data:{media_type};base64,{data}", len(content))


def _too_much() -> ModelFailed:
    return ModelFailed(
        f"the files of the conversation are over {MAX_INLINED_BYTES} bytes together",
        FailureCode.INVALID_REQUEST,
        reason="unsupported_content",
    )


def _missing(upload_id: str) -> ModelFailed:
    return ModelFailed(
        f"there is no upload {upload_id[:40]}", FailureCode.INVALID_REQUEST, reason="unknown_upload"
    )
