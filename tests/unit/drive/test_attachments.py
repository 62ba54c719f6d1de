"""Files that messages refer to reach the provider as bytes, and nobody else's do."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.drive.attachments import MAX_INLINED_BYTES, Attachments
from everturn.errors import StoreUnavailable
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.store.memory_uploads import InMemoryUploads
from everturn.store.upload_places import Upload

PICTURE = "0198f000-2222-7000-8000-000000000001"
REFERENCE = f"everturn:upload:{PICTURE}"
IN_PLACE = "data:image/png;base64,YWJj"


def place(content: bytes = b"abc", owner: str = "", media: str = "image/png") -> InMemoryUploads:
    """Return a place with one picture."""
    places = InMemoryUploads()
    upload = Upload("acme", PICTURE, "a.png", media, len(content), owner=owner)
    places.receive(places.signed_put(upload, 900).url, content)
    return places


def body(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": list(parts)}]}


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def filled(places: InMemoryUploads, *parts: dict[str, Any], owner: str = "anna") -> Any:
    return Attachments(places, "acme", owner).filled(body(*parts))["messages"][0]["content"]


def test_each_kind_of_reference_becomes_a_data_url() -> None:
    video = {"type": "video_url", "video_url": {"url": REFERENCE}}
    file = {"type": "file", "file": {"filename": "b.png", "file_data": REFERENCE}}

    parts = filled(place(media="Image/PNG; q=1"), picture(REFERENCE), video, file)

    assert parts == [
        picture(IN_PLACE),
        {"type": "video_url", "video_url": {"url": IN_PLACE}},
        {"type": "file", "file": {"filename": "b.png", "file_data": IN_PLACE}},
    ]


def test_what_is_no_reference_stays_as_it_is() -> None:
    text = {"type": "text", "text": REFERENCE}
    sound = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}
    plain = {"model": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant"}]}

    assert filled(place(), picture("https://example.com/a.png"), text, sound) == [
        picture("https://example.com/a.png"),
        text,
        sound,
    ]
    assert Attachments(place(), "acme", "").filled(plain) == plain


def test_a_file_is_read_once() -> None:
    places = place()
    attachments = Attachments(places, "acme", "anna")
    first = attachments.filled(body(picture(REFERENCE)))

    places.expire()

    assert attachments.filled(body(picture(REFERENCE))) == first


@pytest.mark.parametrize(
    ("places", "reference"),
    [
        (InMemoryUploads(), REFERENCE),
        (place(owner="bert"), REFERENCE),
        (place(), "everturn:upload:../../other"),
    ],
    ids=["absent", "another owner's", "no id"],
)
def test_a_file_that_is_not_there_fails_the_call(places: InMemoryUploads, reference: str) -> None:
    with pytest.raises(ModelFailed, match="there is no upload") as failed:
        filled(places, picture(reference))

    assert (failed.value.code, failed.value.reason) == (
        FailureCode.INVALID_REQUEST,
        "unknown_upload",
    )


def test_an_owner_sees_the_files_of_the_tenant_and_the_own_ones() -> None:
    assert filled(place(owner="anna"), picture(REFERENCE)) == [picture(IN_PLACE)]
    assert filled(place(), picture(REFERENCE)) == [picture(IN_PLACE)]


@pytest.mark.parametrize("more", [0, 1])
def test_a_request_carries_so_many_bytes_and_no_more(more: int) -> None:
    places = place(bytes(MAX_INLINED_BYTES + more))

    if not more:
        assert len(filled(places, picture(REFERENCE))) == 1
        return
    with pytest.raises(ModelFailed, match="over 20971520 bytes") as failed:
        filled(places, picture(REFERENCE))
    assert failed.value.reason == "unsupported_content"


def test_what_counts_is_one_request_not_all_that_a_session_ever_showed() -> None:
    """A long session goes on when its old pictures have left the window."""
    other = "0198f000-2222-7000-8000-000000000002"
    places = place(bytes(MAX_INLINED_BYTES - 1))
    upload = Upload("acme", other, "b.png", "image/png", 3)
    places.receive(places.signed_put(upload, 900).url, b"abc")
    attachments = Attachments(places, "acme", "anna")
    first, second = picture(REFERENCE), picture(f"everturn:upload:{other}")

    attachments.filled(body(first))
    filled_later = attachments.filled(body(second))

    assert filled_later["messages"][0]["content"] == [picture(IN_PLACE)]
    with pytest.raises(ModelFailed, match="over 20971520 bytes"):
        attachments.filled(body(second, first))


def test_a_file_that_is_shown_again_and_again_counts_each_time() -> None:
    """Thirty references to one picture put it into the request thirty times."""
    places = place(bytes(MAX_INLINED_BYTES // 4))

    assert len(filled(places, *[picture(REFERENCE)] * 4)) == 4
    with pytest.raises(ModelFailed, match="over 20971520 bytes"):
        filled(places, *[picture(REFERENCE)] * 5)


class Unreachable(InMemoryUploads):
    """A place that does not answer."""

    def read(self, tenant: str, upload_id: str, limit_bytes: int) -> Any:
        raise StoreUnavailable(f"{tenant} {upload_id} {limit_bytes}")


def test_a_place_that_does_not_answer_is_asked_again_with_the_next_attempt() -> None:
    with pytest.raises(ModelFailed, match="could not be read") as failed:
        filled(Unreachable(), picture(REFERENCE))

    assert failed.value.code is FailureCode.NETWORK
