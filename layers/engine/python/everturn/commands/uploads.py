"""Uploads: leave to put one file into the bucket, and to get it back; no byte of it passes here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.protocol.events import to_rfc3339
from everturn.protocol.upload import is_upload_id, read_upload, reference_to, uploads_in
from everturn.rejections import UnknownUpload
from everturn.session.facts import Stamp
from everturn.store.upload_places import Upload, UploadPlaces

VALID_S: Final = 900
"""How long a presigned URL can be used."""


class Uploads:
    """The use cases behind `/v1/uploads`. What was stored is the only record of an upload."""

    def __init__(self, places: UploadPlaces, clock: Clock) -> None:
        self._places = places
        self._clock = clock

    def create(self, caller: Caller, data: Any) -> dict[str, Any]:
        """Return `{upload_id, url, headers, expires_at, file_url}`; nothing is stored yet.

        Raises `SchemaViolation`, `TooLarge`.
        """
        wanted = read_upload(data)
        now_ms = self._clock.now_ms()
        upload = Upload(
            tenant=caller.tenant,
            upload_id=Stamp(now_ms, self._clock.entropy()).uuid(0),
            filename=wanted.filename,
            content_type=wanted.content_type,
            size_bytes=wanted.size_bytes,
            sha256=wanted.sha256 or "",
            owner=caller.owner.id if caller.owner else "",
        )
        signed = self._places.signed_put(upload, VALID_S)
        return {
            "upload_id": upload.upload_id,
            "url": signed.url,
            "headers": dict(signed.headers),
            "expires_at": _expiry(now_ms),
            "file_url": reference_to(upload.upload_id),
        }

    def get(self, caller: Caller, upload_id: str) -> dict[str, Any]:
        """Return `{upload_id, filename, content_type, size_bytes, sha256?, file_url, url, …}`.

        Raises `UnknownUpload`, also for one that nothing was put to yet, or that is another's.
        """
        is_id = is_upload_id(upload_id)
        found = self._places.find(caller.tenant, upload_id) if is_id else None
        if found is None or not caller.reaches(found.owner):
            raise UnknownUpload("There is no such upload.")
        now_ms = self._clock.now_ms()
        known = {"sha256": found.sha256} if found.sha256 else {}
        return {
            "upload_id": found.upload_id,
            "filename": found.filename,
            "content_type": found.content_type,
            "size_bytes": found.size_bytes,
            **known,
            "file_url": reference_to(found.upload_id),
            "url": self._places.signed_get(found, VALID_S),
            "expires_at": _expiry(now_ms),
        }

    def keep(self, tenant: str, messages: Iterable[Mapping[str, Any]]) -> None:
        """Keep for good what `messages` refer to; done before they are recorded, one request each.

        A reference that leads nowhere is left as it is. Raises `SchemaViolation` for too many of
        them, `StoreUnavailable`.
        """
        for upload_id in uploads_in(messages):
            self._places.keep(tenant, upload_id)


def _expiry(now_ms: int) -> str:
    return to_rfc3339(now_ms + VALID_S * 1000)
