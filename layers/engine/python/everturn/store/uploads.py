"""`UploadPlaces` in the bucket: presigned requests, and the one look at what they stored.

It must not read or write a file itself.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from botocore.exceptions import ClientError

from everturn.store import keys
from everturn.store.blobs import s3_errors
from everturn.store.upload_places import SignedPut, Upload

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ABSENT: Final = frozenset({"404", "NoSuchKey", "NotFound", "403", "AccessDenied"})
"""S3 answers 403 for a missing object to a role that may not list. Source: S3, HeadObject."""


class S3Uploads:
    """`UploadPlaces`; the client signs with version 4 and for the host that callers reach."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def signed_put(self, upload: Upload, valid_s: int) -> SignedPut:
        """No request. Type, length, name and hash are signed headers: no other file fits the URL.

        `If-None-Match: *` is one, too: a file that is there stays as it is.
        """
        metadata = {"filename": quote(upload.filename, safe="")}
        headers = {
            "content-type": upload.content_type,
            "content-length": str(upload.size_bytes),
            "if-none-match": "*",
        }
        wanted: dict[str, Any] = {
            "ContentType": upload.content_type,
            "ContentLength": upload.size_bytes,
            "IfNoneMatch": "*",
        }
        if upload.sha256:
            metadata["sha256"] = upload.sha256
            checksum = base64.b64encode(bytes.fromhex(upload.sha256)).decode()
            wanted["ChecksumSHA256"] = headers["x-amz-checksum-sha256"] = checksum
        headers |= {f"x-amz-meta-{name}": value for name, value in metadata.items()}
        url = self._signed("put_object", upload, valid_s, {**wanted, "Metadata": metadata})
        return SignedPut(url, headers)

    def signed_get(self, upload: Upload, valid_s: int) -> str:
        """No request. A browser saves what comes, it does not show it."""
        name = quote(upload.filename, safe="")
        disposition = f"attachment; filename*=UTF-8''{name}"
        more = {"ResponseContentDisposition": disposition}
        return self._signed("get_object", upload, valid_s, more)

    def find(self, tenant: str, upload_id: str) -> Upload | None:
        """One HEAD."""
        with s3_errors():
            try:
                answer = self._client.head_object(
                    Bucket=self._bucket, Key=keys.upload_object(tenant, upload_id)
                )
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") in ABSENT:
                    return None
                raise
        metadata = answer["Metadata"]
        return Upload(
            tenant=tenant,
            upload_id=upload_id,
            filename=unquote(metadata.get("filename", "")),
            content_type=answer["ContentType"],
            size_bytes=answer["ContentLength"],
            sha256=metadata.get("sha256", ""),
        )

    def _signed(self, operation: Any, upload: Upload, valid_s: int, more: dict[str, Any]) -> str:
        where = {
            "Bucket": self._bucket,
            "Key": keys.upload_object(upload.tenant, upload.upload_id),
        }
        with s3_errors():
            return self._client.generate_presigned_url(
                ClientMethod=operation, Params={**where, **more}, ExpiresIn=valid_s
            )
