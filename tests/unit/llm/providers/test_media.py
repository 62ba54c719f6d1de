"""What a content part is: its type, and its bytes or its place."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.media import (
    Inline,
    Linked,
    audio_of,
    document_of,
    image_of,
    video_of,
)


def image(url: str) -> dict[str, Any]:
    return {"image_url": {"url": url}}


def file(name: str, data: str) -> dict[str, Any]:
    return {"file": {"filename": name, "file_data": data}}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("data:image/PNG;base64,AAAA", Inline("image/png", "AAAA")),
        ("data:image/png;charset=x;base64,AA", Inline("image/png", "AA")),
        ("data:;base64,AA", Inline("application/octet-stream", "AA")),
        ("https://example.com/a.JPG?x=1.png", Linked("image/jpeg", "https://example.com/a.JPG?x=1.png")),
        ("https://example.com/a", Linked("application/octet-stream", "https://example.com/a")),
    ],
)  # fmt: skip
def test_an_image_is_by_value_or_by_link(url: str, found: Inline | Linked) -> None:
    assert image_of(image(url)) == found


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.pdf", "data:application/pdf;base64,AA", "application/pdf"),
        ("a.csv", "data:;base64,AA", "text/csv"),
        ("a.csv", "data:application/octet-stream;base64,AA", "text/csv"),
        ("a", "data:;base64,AA", "application/octet-stream"),
        ("x", "https://example.com/a.pdf", "application/pdf"),
        ("a.PDF", "JVBERg==", "application/pdf"),
        ("a.png", "data:application/octet-stream;base64,AA", "image/png"),
    ],
)
def test_a_files_name_tells_a_type_that_its_data_does_not(
    name: str, data: str, media_type: str
) -> None:
    assert document_of(file(name, data)).media_type == media_type


def test_sound_and_video_have_their_types() -> None:
    assert audio_of({"input_audio": {"data": "AA", "format": "WAV"}}) == Inline("audio/wav", "AA")
    assert audio_of({"input_audio": {"data": "AA", "format": "x"}}) == Inline("audio/x", "AA")
    video = video_of({"video_url": {"url": "https://example.com/a.mp4"}})
    assert video == Linked("video/mp4", "https://example.com/a.mp4")


def test_data_that_is_not_base64_has_no_place() -> None:
    with pytest.raises(ModelFailed, match="not base64") as failed:
        image_of(image("data:image/svg+xml,<svg/>"))

    assert (failed.value.code, failed.value.reason) == (
        FailureCode.INVALID_REQUEST,
        "unsupported_content",
    )


NOWHERE = [
    "file:///etc/passwd",
    "http://example.com/a.png",
    "http://10.0.0.1/x",
    "https://10.0.0.1/x",
    "https://127.0.0.1:8443/x",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/x",
    "https://localhost/x",
    "https://2130706433/x",
    "https://example.com\\@10.0.0.1/x",
    "https://me:secret@example.com/x",
    "ftp://example.com/x",
    "/etc/passwd",
    "",
]


@pytest.mark.parametrize("link", NOWHERE)
def test_a_link_into_the_operators_network_is_never_handed_on(link: str) -> None:
    for fetched, part in (
        (image_of, image(link)),
        (document_of, file("a.pdf", link)),
        (video_of, {"video_url": {"url": link}}),
    ):
        with pytest.raises(ModelFailed, match="no https URL of a public host") as failed:
            fetched(part)

        assert failed.value.reason == "unsupported_content"


def test_a_signed_link_may_be_long_and_a_path_in_any_script() -> None:
    for link in (f"https://example.com/a.png?s={'x' * 4000}", "https://example.com/bücher/ä.png"):
        assert image_of(image(link)) == Linked("image/png", link)


def test_a_file_of_base64_alone_is_bytes_and_no_link() -> None:
    assert document_of(file("a.pdf", "JVBERg==")) == Inline("application/pdf", "JVBERg==")
