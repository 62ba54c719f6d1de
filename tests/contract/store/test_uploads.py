"""Every place of uploads finds what was put there, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from contract.store.conftest import BUCKET, Aws, FakeTime
from everturn.errors import StoreRefused, StoreUnavailable
from everturn.store.keys import upload_object
from everturn.store.memory_uploads import InMemoryUploads
from everturn.store.upload_places import SignedPut, Upload, UploadPlaces
from everturn.store.uploads import S3Uploads

BODY = b"abc"
UPLOAD = Upload("acme", "0198f000-2222-7000-8000-000000000001", "Bild ü'.png", "image/png", 3)


@dataclass(frozen=True, slots=True)
class Places:
    """Where files are, and how a caller puts one there."""

    places: UploadPlaces
    put: Callable[[SignedPut], None]


def send(aws: Aws, signed: SignedPut) -> None:
    """Send what was signed: moto takes it from a client of its own."""
    headers = signed.headers
    aws.s3.client.put_object(
        Bucket=BUCKET,
        Key=unquote(urlsplit(signed.url).path.lstrip("/")),
        Body=BODY,
        ContentType=headers["content-type"],
        IfNoneMatch=headers["if-none-match"],
        Tagging=headers["x-amz-tagging"],
        Metadata={
            name.removeprefix("x-amz-meta-"): value
            for name, value in headers.items()
            if name.startswith("x-amz-meta-")
        },
    )


@pytest.fixture(params=["memory", "s3"])
def made(request: pytest.FixtureRequest) -> Places:
    if request.param == "memory":
        fake = InMemoryUploads()
        return Places(fake, lambda signed: fake.receive(signed.url, BODY))
    aws: Aws = request.getfixturevalue("aws")
    client: Any = aws.s3
    return Places(S3Uploads(client, BUCKET), lambda signed: send(aws, signed))


@pytest.mark.parametrize("sha256", ["", "ab" * 32])
def test_a_file_is_found_once_it_was_put(made: Places, sha256: str) -> None:
    upload = replace(UPLOAD, upload_id=f"0198f000-2222-7000-8000-00000000000{len(sha256) // 64}")
    before = made.places.find(upload.tenant, upload.upload_id)

    made.put(made.places.signed_put(replace(upload, sha256=sha256), 900))

    assert before is None
    assert made.places.find(upload.tenant, upload.upload_id) == replace(upload, sha256=sha256)
    assert made.places.find("rival", upload.upload_id) is None


@pytest.mark.parametrize(("limit_bytes", "content"), [(2, None), (3, BODY), (4, BODY)])
def test_a_file_is_read_unless_it_is_too_large(
    made: Places, limit_bytes: int, content: bytes | None
) -> None:
    upload = replace(UPLOAD, upload_id=f"0198f000-2222-7000-8000-00000000002{limit_bytes}")
    before = made.places.read(upload.tenant, upload.upload_id, limit_bytes)

    made.put(made.places.signed_put(upload, 900))

    assert before is None
    assert made.places.read(upload.tenant, upload.upload_id, limit_bytes) == (upload, content)
    assert made.places.read("rival", upload.upload_id, limit_bytes) is None


def test_what_is_signed_to_get_a_file_is_not_what_puts_it(made: Places) -> None:
    put = made.places.signed_put(UPLOAD, 900)

    assert made.places.signed_get(UPLOAD, 900) != put.url


def test_a_file_is_kept_if_it_is_there_and_as_often_as_one_likes(made: Places) -> None:
    upload = replace(UPLOAD, upload_id="0198f000-2222-7000-8000-00000000000b")
    before = made.places.keep(upload.tenant, upload.upload_id)
    made.put(made.places.signed_put(upload, 900))

    kept = [made.places.keep(upload.tenant, upload.upload_id) for _ in range(2)]

    assert (before, kept) == (False, [True, True])
    assert made.places.find(upload.tenant, upload.upload_id) == upload
    assert made.places.keep("rival", upload.upload_id) is False


def tags(aws: Aws, upload: Upload) -> list[dict[str, str]]:
    key = upload_object(upload.tenant, upload.upload_id)
    found: list[dict[str, str]] = aws.s3.client.get_object_tagging(Bucket=BUCKET, Key=key)["TagSet"]
    return found


def test_a_file_is_pending_until_it_is_kept_which_is_what_the_lifecycle_looks_at(aws: Aws) -> None:
    client: Any = aws.s3
    places = S3Uploads(client, BUCKET)
    upload = replace(UPLOAD, upload_id="0198f000-2222-7000-8000-00000000000c")
    send(aws, places.signed_put(upload, 900))

    pending = tags(aws, upload)
    places.keep(upload.tenant, upload.upload_id)

    assert pending == [{"Key": "upload", "Value": "pending"}]
    assert tags(aws, upload) == [{"Key": "upload", "Value": "kept"}]


def test_signing_costs_no_request_and_a_look_costs_one(aws: Aws) -> None:
    client: Any = aws.s3
    places = S3Uploads(client, BUCKET)

    places.signed_put(UPLOAD, 900)
    places.signed_get(UPLOAD, 900)
    signing = aws.s3.taken()
    places.find("acme", "0198f000-2222-7000-8000-000000000009")

    assert signing == ["generate_presigned_url"] * 2  # arithmetic, in the client
    assert aws.s3.taken() == ["head_object"]


def test_a_browser_is_told_to_save_a_file_under_its_name(aws: Aws) -> None:
    client: Any = aws.s3

    url = S3Uploads(client, BUCKET).signed_get(UPLOAD, 900)

    assert parse_qs(urlsplit(url).query)["response-content-disposition"] == [
        "attachment; filename*=UTF-8''Bild%20%C3%BC%27.png"
    ]


class Failing:
    """A client whose every look fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def head_object(self, **_request: Any) -> Any:
        raise self._error


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "HeadObject")


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (refused("SlowDown"), StoreUnavailable),
        (EndpointConnectionError(endpoint_url="x"), StoreUnavailable),
        (refused("400"), StoreRefused),
    ],
)
def test_errors_of_the_bucket_are_translated(error: Exception, known: type[Exception]) -> None:
    client: Any = Failing(error)

    with pytest.raises(known):
        S3Uploads(client, BUCKET, FakeTime().pace()).find("acme", UPLOAD.upload_id)


@pytest.mark.parametrize("code", ["404", "403", "NoSuchKey"])
def test_a_missing_file_is_none_also_where_the_role_may_not_list(code: str) -> None:
    client: Any = Failing(refused(code))

    assert S3Uploads(client, BUCKET, FakeTime().pace()).find("acme", UPLOAD.upload_id) is None
