"""Files of a body: which types, which forms, how much of them."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.limits import MAX_INLINE_FILES_BYTES
from everturn.protocol.runs.bodies import read_run, read_tool_result
from everturn.protocol.runs.files import FILE_KINDS, bare_type, decoded_bytes
from unit.protocol.runs.shapes import data_of, image, linked, refusal, with_files

UPLOAD = "everturn:upload:0198f000-2222-7000-8000-000000000001"
PLACE = "/messages/0/attachments/0"


def test_the_types_are_those_of_the_small_print() -> None:
    assert set(FILE_KINDS) == {
        *("image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"),
        *("application/pdf", "text/plain", "text/markdown", "text/csv", "application/json"),
        *("audio/mpeg", "audio/mp3", "audio/wav", "audio/x-wav", "audio/wave", "video/mp4"),
    }


@pytest.mark.parametrize("mime_type", [*FILE_KINDS, "Image/PNG", "text/plain; charset=utf-8"])
def test_a_file_of_a_known_type_is_taken(mime_type: str) -> None:
    body = read_run(with_files(image(mimeType=mime_type)))

    assert body.turn[0].attachments is not None
    assert bare_type(body.turn[0].attachments[0].mime_type or "") in FILE_KINDS


@pytest.mark.parametrize(
    "file",
    [
        linked(),
        linked(mimeType="image/png", filename="a.png"),
        linked(mimeType=None, filename=None),
        linked(url="https://example.com"),
        linked(url="HTTPS://example.com:8443/a%20b?c=d#e"),
        linked(url="https://example.com?x"),
        linked(url=UPLOAD),
        linked(more="kept"),
        image(more="kept"),
        image(filename="Größe/a b.png"),
    ],
)
def test_a_file_by_link_or_value_is_taken(file: dict[str, Any]) -> None:
    body = read_run(with_files(file))

    assert body.turn[0].attachments is not None


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ({}, ": type is required"),
        ({"type": "file"}, ": unknown type; known: input_file, input_file_url"),
        (image(mimeType=None), "/mimeType: should be a valid string"),
        (image(mimeType="application/zip"), "/mimeType: should be one of image/png, "),
        (image(mimeType=""), "/mimeType: should be one of"),
        (image(filename=""), "/filename: should have 1 to 255 bytes"),
        (image(filename="ü" * 128), "/filename: should have 1 to 255 bytes"),
        (image(filename="a\nb"), "/filename: should have 1 to 255 bytes"),
        (image(data=""), "/data: should be base64"),
        (image(data="YQ"), "/data: should be base64"),
        (image(data="YWJ*"), "/data: should be base64"),
        (image(data="YQ==YQ=="), "/data: should be base64"),
        (image(data="YWJj\n"), "/data: should be base64"),
        (image(data="===="), "/data: should be base64"),
        (image(data="data:image/png;base64,YWJj"), "/data: should be base64"),
        (image(data=3), "/data: should be a valid string"),
        ({"type": "input_file_url"}, "/url: is required"),
        (linked(url="http://example.com/a.png"), "/url: should be an https URL"),
        (linked(url="file:///etc/passwd"), "/url: should be an https URL"),
        (linked(url="https://"), "/url: should be an https URL"),
        (linked(url="https://user@example.com/"), "/url: should be an https URL"),
        (linked(url="https://example.com/a b"), "/url: should be an https URL"),
        (linked(url="https://example.com/a\x00"), "/url: should be an https URL"),
        (linked(url="data:image/png;base64,YWJj"), "/url: should be an https URL"),
        (linked(url="everturn:upload:x"), "/url: should be an https URL"),
        (linked(url=UPLOAD.removeprefix("everturn:upload:")), "/url: should be an https URL"),
        (linked(mimeType="a/b"), "/mimeType: should be one of"),
        (linked(filename=""), "/filename: should have 1 to 255 bytes"),
    ],
)
def test_a_file_that_cannot_be_is_refused_by_its_path(file: dict[str, Any], told: str) -> None:
    assert refusal(read_run, with_files(file)).startswith(PLACE + told)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_the_size_of_base64_is_that_of_what_it_stands_for(size: int) -> None:
    assert decoded_bytes(data_of(size)) == size


@pytest.mark.parametrize("over", [-1, 0])
def test_files_by_value_may_be_as_large_together_as_the_limit(over: int) -> None:
    half = MAX_INLINE_FILES_BYTES // 2
    files = [image(data=data_of(half)), linked(), image(data=data_of(half + over))]

    read_run(with_files(*files))


def test_a_byte_more_is_refused_with_what_to_do_instead() -> None:
    half = MAX_INLINE_FILES_BYTES // 2
    files = [image(data=data_of(half)), image(data=data_of(half + 1))]

    told = refusal(read_run, with_files(*files))

    assert told == (
        "/messages/0/attachments: the files by value have 4194305 bytes together; "
        "at most 4194304 are taken"
    )


def test_files_of_a_result_have_the_same_limit() -> None:
    file = {"filename": "a.png", "mimeType": "image/png", "data": data_of(MAX_INLINE_FILES_BYTES)}
    one_more = {**file, "data": data_of(1)}

    read_tool_result({"toolUseId": "t", "result": "", "files": [file]})
    told = refusal(read_tool_result, {"toolUseId": "t", "result": "", "files": [file, one_more]})

    assert told.startswith("/files: the files by value have 4194305 bytes")
