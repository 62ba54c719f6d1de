"""Objects in the bucket, named by what they contain; what is worth an object is decided elsewhere.

It must not interpret a body. An object never changes: whatever was read once stays right.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from everturn.errors import StoreRefused, StoreUnavailable
from everturn.session.refs import BlobPlace
from everturn.store.pace import Pace
from everturn.store.patience import error_code, while_busy

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import DeleteTypeDef

CACHE_BYTES: Final = 32 * 1024 * 1024
"""Bodies that a process keeps: eight of the largest inputs."""

_PASSING: Final = frozenset(
    {
        "InternalError",
        "OperationAborted",
        "RequestLimitExceeded",
        "RequestTimeout",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
    }
)
_PASSING_STATUS: Final = frozenset({429, 500, 502, 503, 504})


class Blobs(Protocol):
    """Where bodies are kept that are too large for the table."""

    def put(self, key: str, body: bytes) -> BlobPlace:
        """Keep `body` under `key`; the same one again changes nothing."""
        ...

    def get(self, place: BlobPlace) -> bytes:
        """Return what `put` was given."""
        ...


class ErasableBlobs(Blobs, Protocol):
    """`Blobs` of which a session's can be deleted."""

    def remove(self, prefix: str, is_over: Callable[[], bool]) -> bool:
        """Delete all objects whose keys begin so; returns `False` where time was over."""
        ...


class NoBlobs:
    """`Blobs` of a function that was given no bucket."""

    def put(self, key: str, body: bytes) -> BlobPlace:
        """Raise `StoreRefused`."""
        raise StoreRefused(f"there is no bucket for {len(body)} bytes under {key}")

    def get(self, place: BlobPlace) -> bytes:
        """Raise `StoreRefused`."""
        raise StoreRefused(f"there is no bucket to read {place.key} from")

    def remove(self, prefix: str, is_over: Callable[[], bool]) -> bool:
        """Raise `StoreRefused`."""
        del is_over
        raise StoreRefused(f"there is no bucket to delete {prefix} from")


class S3Blobs:
    """`Blobs` in a bucket, behind a cache of this process; a cached body costs no request."""

    def __init__(
        self,
        client: S3Client,
        bucket: str,
        *,
        cache_bytes: int = CACHE_BYTES,
        pace: Pace | None = None,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._pace = pace or Pace()
        self._cache = _Cache(cache_bytes)

    def put(self, key: str, body: bytes) -> BlobPlace:
        """Keep `body`: one PUT, none if this process has written or read it before."""
        if self._cache.get(key) is None:
            with s3_errors():
                while_busy(
                    self._pace,
                    lambda: self._client.put_object(
                        Bucket=self._bucket, Key=key, Body=body, ContentType="application/json"
                    ),
                )
            self._cache.add(key, body)
        return place_of(key, body)

    def get(self, place: BlobPlace) -> bytes:
        """Return a body: at most one GET. Raises `StoreRefused` if it is not what was kept."""
        cached = self._cache.get(place.key)
        if cached is not None:
            return cached
        with s3_errors():
            answer = while_busy(
                self._pace,
                lambda: self._client.get_object(Bucket=self._bucket, Key=place.key),
            )
            body = answer["Body"].read()
        if hashlib.sha256(body).hexdigest() != place.sha256:
            raise StoreRefused(f"object {place.key} is not what was written")
        self._cache.add(place.key, body)
        return body

    def remove(self, prefix: str, is_over: Callable[[], bool]) -> bool:
        """Delete objects, a thousand at once: one LIST and one DELETE each, one LIST at the end.

        Raises `StoreUnavailable` where some are left over.
        """
        while True:
            with s3_errors():
                answer = while_busy(
                    self._pace,
                    lambda: self._client.list_objects_v2(Bucket=self._bucket, Prefix=prefix),
                )
            found = [one["Key"] for one in answer.get("Contents", ())]
            if not found:
                return True
            _check_deleted(self._delete(found).get("Errors", ()))
            if is_over():
                return False

    def _delete(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Delete objects; the answer tells which are left over."""
        wanted: DeleteTypeDef = {"Objects": [{"Key": name} for name in names], "Quiet": True}
        with s3_errors():
            return while_busy(
                self._pace,
                lambda: self._client.delete_objects(Bucket=self._bucket, Delete=wanted),
            )


def _check_deleted(errors: Sequence[Mapping[str, Any]]) -> None:
    """Raise for what a DeleteObjects left over: `StoreUnavailable` if that passes."""
    codes = {str(error.get("Code", "")) for error in errors}
    if codes - _PASSING:
        raise StoreRefused(f"S3: {sorted(codes)}")
    if codes:
        raise StoreUnavailable(f"S3: {sorted(codes)}", retry_after_s=1.0)


def place_of(key: str, body: bytes) -> BlobPlace:
    """Return the reference to `body` under `key`."""
    return BlobPlace(key=key, sha256=hashlib.sha256(body).hexdigest(), size_bytes=len(body))


@contextmanager
def s3_errors() -> Iterator[None]:
    """Turn botocore's errors into ours. Source: S3, "Error responses"."""
    try:
        yield
    except ClientError as error:
        code = error_code(error)
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in _PASSING or status in _PASSING_STATUS:
            raise StoreUnavailable(f"S3: {code}", retry_after_s=1.0) from error
        raise StoreRefused(f"S3: {code}") from error
    except ParamValidationError as error:
        raise StoreRefused("S3: malformed request") from error
    except (BotoCoreError, OSError) as error:  # no answer, or one that broke off
        raise StoreUnavailable("S3 did not answer") from error


class _Cache:
    """The bodies used last, as many as fit; safe among threads."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        with self._lock:
            body = self._bodies.get(key)
            if body is not None:
                self._bodies.move_to_end(key)
            return body

    def add(self, key: str, body: bytes) -> None:
        if len(body) > self._limit_bytes:
            return
        with self._lock:
            self._size_bytes -= len(self._bodies.pop(key, b""))
            self._bodies[key] = body
            self._size_bytes += len(body)
            while self._size_bytes > self._limit_bytes:
                _, oldest = self._bodies.popitem(last=False)
                self._size_bytes -= len(oldest)
