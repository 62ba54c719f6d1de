"""`UploadPlaces` in memory: what is signed can be received, and found from then on.

It must not be used outside tests.
"""

from __future__ import annotations

from everturn.store.upload_places import SignedPut, Upload

HOST = "https://bucket.example.com"


class InMemoryUploads:
    """`UploadPlaces`; `receive` plays the caller's PUT."""

    def __init__(self) -> None:
        self._signed: dict[str, Upload] = {}
        self._stored: dict[tuple[str, str], Upload] = {}
        self._kept: set[tuple[str, str]] = set()
        self._bytes: dict[tuple[str, str], bytes] = {}

    def signed_put(self, upload: Upload, valid_s: int) -> SignedPut:
        """Return a URL that `receive` takes."""
        url = f"{HOST}/{upload.tenant}/{upload.upload_id}?put&expires={valid_s}"
        self._signed[url] = upload
        return SignedPut(url, {"content-type": upload.content_type})

    def signed_get(self, upload: Upload, valid_s: int) -> str:
        """Return a URL that nobody serves."""
        return f"{HOST}/{upload.tenant}/{upload.upload_id}?get&expires={valid_s}"

    def find(self, tenant: str, upload_id: str) -> Upload | None:
        """Return what was received."""
        return self._stored.get((tenant, upload_id))

    def keep(self, tenant: str, upload_id: str) -> bool:
        """Note that a file is meant by somebody."""
        is_there = (tenant, upload_id) in self._stored
        if is_there:
            self._kept.add((tenant, upload_id))
        return is_there

    def expire(self) -> None:
        """Forget what nobody means, as the bucket does after some days."""
        self._stored = {name: one for name, one in self._stored.items() if name in self._kept}

    def read(
        self, tenant: str, upload_id: str, limit_bytes: int
    ) -> tuple[Upload, bytes | None] | None:
        """Return what was received."""
        upload = self._stored.get((tenant, upload_id))
        if upload is None:
            return None
        content = self._bytes[tenant, upload_id]
        return upload, content if len(content) <= limit_bytes else None

    def receive(self, url: str, content: bytes = b"") -> None:
        """Take what `url` was signed for."""
        upload = self._signed[url]
        self._stored[upload.tenant, upload.upload_id] = upload
        self._bytes[upload.tenant, upload.upload_id] = content
