"""A request for an upload is read strictly, each limit at its edge."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.errors import RejectedError
from everturn.protocol.limits import (
    MAX_CONTENT_TYPE_CHARS,
    MAX_FILENAME_BYTES,
    MAX_UPLOAD_BYTES,
    MAX_UPLOADS_REFERRED,
)
from everturn.protocol.upload import (
    REFERENCE,
    UploadRequest,
    read_upload,
    reference_to,
    uploads_in,
)
from everturn.rejections import TooLarge

ASKED: dict[str, Any] = {"filename": "a.png", "content_type": "image/png", "size_bytes": 3}


def typed(chars: int) -> str:
    """Return a content type of that length."""
    return "text/plain; x=".ljust(chars, "y")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"sha256": "0f" * 32},
        {"sha256": None},
        {"size_bytes": 1},
        {"size_bytes": MAX_UPLOAD_BYTES - 1},
        {"size_bytes": MAX_UPLOAD_BYTES},
        {"filename": "ü" * (MAX_FILENAME_BYTES // 2)},
        {"filename": "x" * MAX_FILENAME_BYTES},
        {"content_type": "text/plain; charset=utf-8"},
        {"content_type": typed(MAX_CONTENT_TYPE_CHARS)},
    ],
)
def test_what_is_within_the_limits_is_read_as_it_is(more: dict[str, Any]) -> None:
    read = read_upload(ASKED | more)

    assert read == UploadRequest(**ASKED | more)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"size_bytes": 0}, "/size_bytes"),
        ({"size_bytes": -1}, "/size_bytes"),
        ({"size_bytes": 1.5}, "/size_bytes"),
        ({"size_bytes": True}, "/size_bytes"),
        ({"filename": ""}, "/filename"),
        ({"filename": "x" * (MAX_FILENAME_BYTES + 1)}, "/filename"),
        ({"filename": "ü" * (MAX_FILENAME_BYTES // 2 + 1)}, "/filename"),
        ({"filename": "../x"}, "/filename"),
        ({"filename": "a\r\nb"}, "/filename"),
        ({"content_type": "png"}, "/content_type"),
        ({"content_type": "image/png\r\nx: y"}, "/content_type"),
        ({"content_type": "image/png\n"}, "/content_type"),
        ({"content_type": typed(MAX_CONTENT_TYPE_CHARS + 1)}, "/content_type"),
        ({"sha256": "0f" * 31}, "/sha256"),
        ({"sha256": "0F" * 32}, "/sha256"),
        ({"tenant": "rival"}, "/tenant"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_path(more: dict[str, Any], path: str) -> None:
    with pytest.raises(RejectedError) as refused:
        read_upload(ASKED | more)

    assert refused.value.code == "schema_violation"
    assert refused.value.message.startswith(path)


def test_a_file_over_the_limit_is_too_large() -> None:
    with pytest.raises(TooLarge) as refused:
        read_upload(ASKED | {"size_bytes": MAX_UPLOAD_BYTES + 1})

    assert refused.value.fields == {
        "limit_bytes": MAX_UPLOAD_BYTES,
        "size_bytes": MAX_UPLOAD_BYTES + 1,
    }


def test_a_reference_is_no_url_that_anybody_could_fetch() -> None:
    assert reference_to("0198") == "everturn:upload:0198"


def image(place: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": place}}


def upload_id(n: int) -> str:
    return f"0198f000-0000-7000-8000-{n:012d}"


def test_a_message_refers_to_uploads_wherever_a_part_may_name_one_and_to_each_once() -> None:
    first, second, third = (reference_to(upload_id(n)) for n in range(3))
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [image(first), {"type": "text", "text": third}, image(first)]},
        {"role": "user", "content": [{"type": "video_url", "video_url": {"url": second}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_data": third}}]},
    ]

    assert uploads_in(messages) == tuple(upload_id(n) for n in range(3))


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        f"{REFERENCE}{upload_id(1)}",
        [],
        [image("https://example.com/a.png")],
        [image(REFERENCE)],
        [image(f"{REFERENCE}../secret")],
        [image(f"{REFERENCE}{upload_id(1)}/x")],
        [{"type": "input_audio", "input_audio": {"data": f"{REFERENCE}{upload_id(1)}"}}],
    ],
)
def test_what_only_looks_like_a_reference_is_none(content: Any) -> None:
    assert uploads_in([{"role": "user", "content": content}]) == ()


def test_so_many_uploads_are_referred_to_at_once_and_no_more() -> None:
    parts = [image(reference_to(upload_id(n))) for n in range(MAX_UPLOADS_REFERRED + 1)]

    taken = uploads_in([{"content": parts[1:]}])
    with pytest.raises(RejectedError) as refused:
        uploads_in([{"content": parts}])

    assert len(taken) == MAX_UPLOADS_REFERRED
    assert (refused.value.code, refused.value.message[:6]) == ("schema_violation", "/input")
