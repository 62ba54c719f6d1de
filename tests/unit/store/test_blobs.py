"""The bucket's adapter: its cache, and what its errors mean."""

from __future__ import annotations

import io
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError, ReadTimeoutError

from everturn.errors import StoreRefused, StoreUnavailable
from everturn.store.blobs import S3Blobs, place_of


class FakeS3:
    """Objects in a dictionary, and requests in a list."""

    def __init__(self, error: Exception | None = None) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self._error = error

    def put_object(self, **request: Any) -> None:
        self.requests.append(f"put {request['Key']}")
        if self._error:
            raise self._error
        self.objects[request["Key"]] = request["Body"]

    def get_object(self, **request: Any) -> Any:
        self.requests.append(f"get {request['Key']}")
        if self._error:
            raise self._error
        return {"Body": io.BytesIO(self.objects[request["Key"]])}


def blobs(s3: Any, cache_bytes: int = 100) -> S3Blobs:
    return S3Blobs(s3, "bucket", cache_bytes=cache_bytes)


def test_what_was_written_is_read_without_a_request() -> None:
    s3 = FakeS3()
    mine = blobs(s3)

    places = [mine.put("a", b"xyz"), mine.put("a", b"xyz")]

    assert places == [place_of("a", b"xyz")] * 2
    assert mine.get(places[0]) == b"xyz"
    assert s3.requests == ["put a"]


def test_what_was_used_last_stays() -> None:
    s3 = FakeS3()
    mine = blobs(s3)
    first, second = mine.put("a", b"a" * 50), mine.put("b", b"b" * 50)
    mine.get(first)

    mine.put("c", b"c" * 50)

    assert [len(mine.get(first)), len(mine.get(second))] == [50, 50]
    assert s3.requests == ["put a", "put b", "put c", "get b"]


def test_what_is_larger_than_the_cache_passes_it() -> None:
    s3 = FakeS3()
    mine = blobs(s3)

    place = mine.put("a", b"a" * 101)

    assert (len(mine.get(place)), len(mine.get(place))) == (101, 101)
    assert s3.requests == ["put a", "get a", "get a"]


def test_another_object_than_was_written_is_a_defect() -> None:
    s3 = FakeS3()
    place = blobs(s3).put("a", b"xyz")
    s3.objects["a"] = b"xyy"

    with pytest.raises(StoreRefused):
        blobs(s3).get(place)


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "PutObject")


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (refused("SlowDown"), StoreUnavailable),
        (refused("AccessDenied"), StoreRefused),
        (ParamValidationError(report="Key"), StoreRefused),
        (ReadTimeoutError(endpoint_url="https://s3"), StoreUnavailable),
    ],
)
def test_errors_of_the_bucket_become_ours(error: Exception, ours: type[Exception]) -> None:
    with pytest.raises(ours):
        blobs(FakeS3(error)).put("a", b"")
    with pytest.raises(ours):
        blobs(FakeS3(error)).get(place_of("a", b""))
