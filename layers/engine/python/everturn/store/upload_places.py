"""The port of uploads: the files that callers put into the bucket themselves; protocols only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that a caller puts into the bucket itself."""

    tenant: str
    upload_id: str
    filename: str
    content_type: str
    size_bytes: int
    sha256: str = ""
    """In hex; empty where the caller did not say."""

    owner: str = ""
    """Who alone sees it beside the tenant's keys; empty for one that a key asked for."""


@dataclass(frozen=True, slots=True)
class SignedPut:
    """A request that whoever has it may send in our name."""

    url: str
    headers: Mapping[str, str]
    """All of them belong to the signature."""


class UploadPlaces(Protocol):
    """Where uploads are kept; their bytes pass through the engine only on their way to a model."""

    def signed_put(self, upload: Upload, valid_s: int) -> SignedPut:
        """Return the request that stores exactly this file, once, within `valid_s`."""
        ...

    def signed_get(self, upload: Upload, valid_s: int) -> str:
        """Return the URL that gives the file, within `valid_s`."""
        ...

    def keep(self, tenant: str, upload_id: str) -> bool:
        """Keep a file for good: one that nobody means is deleted after some days.

        Returns whether it is there. Doing it again changes nothing. Raises `TransientError`.
        """
        ...

    def find(self, tenant: str, upload_id: str) -> Upload | None:
        """Return a file that was stored. Raises `TransientError`."""
        ...

    def read(
        self, tenant: str, upload_id: str, limit_bytes: int
    ) -> tuple[Upload, bytes | None] | None:
        """Return a file that was stored with its bytes, none of them where there are more.

        Raises `TransientError`.
        """
        ...
