"""Messages of a run become messages of the core, and are told again without their bytes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from everturn.llm.providers.media import audio_of, document_of, image_of, video_of
from everturn.protocol.message import DraftMessage, check_message
from everturn.protocol.runs.bodies import read_run, read_tool_result
from everturn.protocol.runs.files import FILE_KINDS
from everturn.protocol.upload import uploads_in
from everturn.runs.files import files_to_parts
from everturn.runs.messages import drafts, replayed, system_texts
from unit.protocol.runs.shapes import image, linked, with_files

DRAFT = TypeAdapter(DraftMessage)
UPLOAD = "everturn:upload:0198f000-2222-7000-8000-000000000001"
DATA = "YWFh"


def parts(*files: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts behind the text of a message with these files."""
    (draft,) = drafts(read_run(with_files(*files)).turn)
    check_message(DRAFT.validate_python(draft))
    assert draft["content"][0] == {"type": "text", "text": "Look."}
    return list(draft["content"][1:])


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def document(filename: str, url: str) -> dict[str, Any]:
    return {"type": "file", "file": {"filename": filename, "file_data": url}}


def test_users_and_models_are_kept_in_their_order_and_system_messages_apart() -> None:
    said = [
        ("system", "One."),
        ("user", "a"),
        ("assistant", "b"),
        ("system", " \n"),
        ("user", "c"),
        ("system", "Two."),
    ]
    turn = read_run({"messages": [{"role": role, "content": text} for role, text in said]}).turn

    assert drafts(turn) == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert system_texts(turn) == ["One.", "Two."]


def test_a_prompt_is_a_message() -> None:
    assert drafts(read_run({"prompt": "Hi"}).turn) == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("file", "part"),
    [
        (image(), picture(f"data:image/png;base64,{DATA}")),
        (image(mimeType="Image/JPG"), picture(f"data:image/jpeg;base64,{DATA}")),
        (
            image(mimeType="application/pdf", filename="a.pdf"),
            document("a.pdf", f"data:application/pdf;base64,{DATA}"),
        ),
        (
            image(mimeType="text/csv; charset=utf-8", filename="a"),
            document("a", f"data:text/csv;base64,{DATA}"),
        ),
        (
            image(mimeType="audio/mpeg"),
            {"type": "input_audio", "input_audio": {"data": DATA, "format": "mp3"}},
        ),
        (
            image(mimeType="audio/x-wav"),
            {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
        ),
        (
            image(mimeType="video/mp4"),
            {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{DATA}"}},
        ),
        (linked(), document("a.pdf", "https://example.com/a.pdf")),
        (linked(filename="b.pdf"), document("b.pdf", "https://example.com/a.pdf")),
        (
            linked(url="https://e.com/x/a%20b.PDF?c=/d.png"),
            document("a b.PDF", "https://e.com/x/a%20b.PDF?c=/d.png"),
        ),
        (linked(url="https://e.com"), document("file", "https://e.com")),
        (linked(url="https://e.com/a.JPEG?x"), picture("https://e.com/a.JPEG?x")),
        (linked(url="https://e.com/a", mimeType="image/png"), picture("https://e.com/a")),
        (
            linked(url="https://e.com/a.png", mimeType="application/pdf"),
            document("a.png", "https://e.com/a.png"),
        ),
        (
            linked(url="https://e.com/a.mp4"),
            {"type": "video_url", "video_url": {"url": "https://e.com/a.mp4"}},
        ),
        (
            linked(url="https://e.com/a.mp3", mimeType="audio/mpeg"),
            document("a.mp3", "https://e.com/a.mp3"),
        ),
        (linked(url=UPLOAD), document("file", UPLOAD)),
        (linked(url=UPLOAD, mimeType="image/png"), picture(UPLOAD)),
    ],
)
def test_each_sort_of_file_has_its_part(file: dict[str, Any], part: dict[str, Any]) -> None:
    assert parts(file) == [part]


@pytest.mark.parametrize("mime_type", FILE_KINDS)
def test_what_becomes_of_a_file_is_what_the_adapters_read(mime_type: str) -> None:
    readers = {
        "image_url": image_of,
        "file": document_of,
        "input_audio": audio_of,
        "video_url": video_of,
    }
    (part,) = parts(image(mimeType=mime_type))

    read = readers[part["type"]](part)

    assert read.media_type.partition("/")[0] == mime_type.partition("/")[0]
    assert getattr(read, "data", None) == DATA


def test_a_file_alone_needs_no_text() -> None:
    body = {"messages": [{"role": "user", "content": "", "attachments": [image()]}]}

    (draft,) = drafts(read_run(body).turn)

    assert [part["type"] for part in draft["content"]] == ["image_url"]
    assert replayed(draft)["text"] == ""


def test_references_to_uploads_are_found_where_inputs_are_looked_through() -> None:
    turn = read_run(with_files(linked(url=UPLOAD), linked(url=UPLOAD, mimeType="image/png"))).turn

    assert uploads_in(drafts(turn)) == (UPLOAD.removeprefix("everturn:upload:"),)


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (image(), {"mimeType": "image/png", "filename": "image.png", "size": 3}),
        (
            image(mimeType="text/plain", filename="n.txt"),
            {"mimeType": "text/plain", "filename": "n.txt", "size": 3},
        ),
        (
            image(mimeType="audio/mp3"),
            {"mimeType": "audio/mpeg", "filename": "audio.mp3", "size": 3},
        ),
        (
            image(mimeType="audio/wave"),
            {"mimeType": "audio/wav", "filename": "audio.wav", "size": 3},
        ),
        (
            image(mimeType="video/mp4"),
            {"mimeType": "video/mp4", "filename": "video.mp4", "size": 3},
        ),
    ],
)
def test_a_recorded_part_is_told_of_by_itself(file: dict[str, Any], told: dict[str, Any]) -> None:
    (draft,) = drafts(read_run(with_files(file)).turn)

    assert replayed(draft) == {"text": "Look.", "attachments": [{"type": "input_file", **told}]}


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (linked(), {"url": "https://example.com/a.pdf", "filename": "a.pdf"}),
        (linked(url="https://e.com/a.png"), {"url": "https://e.com/a.png"}),
        (linked(url=UPLOAD), {"url": UPLOAD, "filename": "file"}),
    ],
)
def test_a_recorded_link_is_told_of_as_one(file: dict[str, Any], told: dict[str, Any]) -> None:
    (draft,) = drafts(read_run(with_files(file)).turn)

    assert replayed(draft)["attachments"] == [{"type": "input_file_url", **told}]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "user", "content": "Hi"}, {"text": "Hi"}),
        ({"role": "assistant"}, {"text": ""}),
        ({"role": "assistant", "content": None}, {"text": ""}),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}] * 2},
            {"text": "a\na"},
        ),
        ({"role": "user", "content": [{"type": "else"}]}, {"text": ""}),
    ],
)
def test_messages_without_files_are_their_text(
    message: dict[str, Any], told: dict[str, Any]
) -> None:
    assert replayed(message) == told


def test_files_of_a_result_become_parts() -> None:
    file = {"filename": "a.png", "mimeType": "image/png", "data": DATA}
    body = read_tool_result({"toolUseId": "t", "result": "", "files": [file]})

    assert files_to_parts(body.files or ()) == [picture(f"data:image/png;base64,{DATA}")]
    assert files_to_parts(()) == []
