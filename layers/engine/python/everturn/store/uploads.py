"""`UploadPlaces` in the bucket: presigned requests, and what they stored.

It must not write a file itself. A file is tagged as pending when it is put; the bucket's
lifecycle deletes those that still are after some days. Source: template.yaml, `Bucket`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, unquote

from botocore.exceptions import ClientError

from everturn.store import keys
from everturn.store.blobs import s3_errors
from everturn.store.pace import Pace
from everturn.store.patience import error_code, while_busy
from everturn.store.upload_places import SignedPut, Upload

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import TagTypeDef

Answer = TypeVar("Answer")

ABSENT: Final = frozenset({"404", "NoSuchKey", "NotFound", "403", "AccessDenied"})
"""S3 answers 403 for a missing object to a role that may not list. Source: S3, HeadObject."""

TAG: Final = "upload"
PENDING: Final = "pending"
KEPT: Final = "kept"


class S3Uploads:
    """`UploadPlaces`; the client signs with version 4 and for the host that callers reach."""

    def __init__(self, client: S3Client, bucket: str, pace: Pace | None = None) -> None:
        self._client = client
        self._bucket = bucket
        self._pace = pace or Pace()

    def signed_put(self, upload: Upload, valid_s: int) -> SignedPut:
        """No request. Type, length, name and hash are signed headers: no other file fits the URL.

        `If-None-Match: *` is one, too: a file that is there stays as it is. So is the tag.
        """
        metadata = {"filename": quote(upload.filename, safe="")}
        headers = {
            "content-type": upload.content_type,
            "content-length": str(upload.size_bytes),
            "if-none-match": "*",
            "x-amz-tagging": f"{TAG}={PENDING}",
        }
        wanted: dict[str, Any] = {
            "ContentType": upload.content_type,
            "ContentLength": upload.size_bytes,
            "IfNoneMatch": "*",
            "Tagging": f"{TAG}={PENDING}",
        }
        if upload.owner:
            metadata["owner"] = upload.owner
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
        answer = self._if_there(
            lambda: self._client.head_object(
                Bucket=self._bucket, Key=keys.upload_object(tenant, upload_id)
            )
        )
        return None if answer is None else _upload(tenant, upload_id, answer)

    def read(
        self, tenant: str, upload_id: str, limit_bytes: int
    ) -> tuple[Upload, bytes | None] | None:
        """One GET, which is broken off where the file is larger."""
        answer = self._if_there(lambda: self._got(tenant, upload_id, limit_bytes))
        if answer is None:
            return None
        found, content = answer
        return _upload(tenant, upload_id, found), content

    def _got(
        self, tenant: str, upload_id: str, limit_bytes: int
    ) -> tuple[Mapping[str, Any], bytes | None]:
        answer = self._client.get_object(
            Bucket=self._bucket, Key=keys.upload_object(tenant, upload_id)
        )
        with closing(answer["Body"]) as body:
            return answer, body.read() if answer["ContentLength"] <= limit_bytes else None

    def keep(self, tenant: str, upload_id: str) -> bool:
        """One PUT of the object's tags."""
        tags: list[TagTypeDef] = [{"Key": TAG, "Value": KEPT}]
        answer = self._if_there(
            lambda: self._client.put_object_tagging(
                Bucket=self._bucket,
                Key=keys.upload_object(tenant, upload_id),
                Tagging={"TagSet": tags},
            )
        )
        return answer is not None

    def _if_there(self, request: Callable[[], Answer]) -> Answer | None:
        """Return the answer, `None` where there is no such file."""
        with s3_errors():
            try:
                return while_busy(self._pace, request)
            except ClientError as error:
                if error_code(error) in ABSENT:
                    return None
                raise

    def _signed(self, operation: Any, upload: Upload, valid_s: int, more: dict[str, Any]) -> str:
        where = {
            "Bucket": self._bucket,
            "Key": keys.upload_object(upload.tenant, upload.upload_id),
        }
        with s3_errors():
            return self._client.generate_presigned_url(
                ClientMethod=operation, Params={**where, **more}, ExpiresIn=valid_s
            )


def _upload(tenant: str, upload_id: str, answer: Mapping[str, Any]) -> Upload:
    """Return what S3 says of a file."""
    metadata = answer["Metadata"]
    return Upload(
        tenant=tenant,
        upload_id=upload_id,
        filename=unquote(metadata.get("filename", "")),
        content_type=answer["ContentType"],
        size_bytes=answer["ContentLength"],
        sha256=metadata.get("sha256", ""),
        owner=metadata.get("owner", ""),
    )
