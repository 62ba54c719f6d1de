"""Files that are too large for a message: uploaded past the engine, referred to in messages."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from e2e.client import Client, message_body
from e2e.conftest import Enter
from everturn_local.runtime import LocalRuntime

PNG = b"\x89PNG\r\n" + bytes(range(256)) * 20_000
"""Five MB: more than a message may have."""


def asked(**more: Any) -> dict[str, Any]:
    """Return a request for an upload of `PNG`."""
    wanted = {"filename": "Bild ü.png", "content_type": "image/png", "size_bytes": len(PNG)}
    return {**wanted, **more}


def uploaded(client: Client, **more: Any) -> dict[str, Any]:
    """Upload `PNG` as a client of the API would; return what the engine had answered."""
    response = client.http.post("/v1/uploads", json=asked(**more))
    assert response.status_code == 201, response.text
    minted: dict[str, Any] = response.json()
    put = httpx.put(minted["url"], headers=minted["headers"], content=PNG, timeout=10)
    assert put.status_code == 200, put.text
    return minted


def test_a_file_is_put_and_got_without_passing_through_the_engine(
    client: Client, runtime: LocalRuntime
) -> None:
    sha256 = hashlib.sha256(PNG).hexdigest()
    before = runtime.meter.snapshot()

    minted = uploaded(client, sha256=sha256)
    shown = client.http.get(f"/v1/uploads/{minted['upload_id']}")
    got = httpx.get(shown.json()["url"], timeout=10)

    known = shown.json()
    assert minted["file_url"] == f"everturn:upload:{minted['upload_id']}"
    assert minted["expires_at"] <= known.pop("expires_at")
    assert known.pop("url") != minted["url"]
    assert known == {
        "upload_id": minted["upload_id"],
        "file_url": minted["file_url"],
        **asked(sha256=sha256),
    }
    assert (got.content == PNG, got.headers["content-type"]) == (True, "image/png")
    used = runtime.meter.snapshot().minus(before)
    assert used.total(operation="s3.").requests == used.total(operation="s3.HeadObject").requests


def test_type_length_name_and_hash_are_part_of_the_signature(client: Client) -> None:
    minted = client.http.post("/v1/uploads", json=asked(sha256="ab" * 32)).json()

    query = parse_qs(urlsplit(minted["url"]).query)

    assert set(query["X-Amz-SignedHeaders"][0].split(";")) == {"host", *minted["headers"]}
    assert query["X-Amz-Expires"] == ["900"]
    assert minted["headers"]["content-length"] == str(len(PNG))


def test_a_reference_stands_in_the_transcript_as_it_was_sent(client: Client) -> None:
    minted = uploaded(client)
    content = [
        {"type": "text", "text": "[[say:{{files}}]]"},
        {"type": "image_url", "image_url": {"url": minted["file_url"]}},
        {"type": "file", "file": {"filename": "f.png", "file_data": minted["file_url"]}},
    ]
    body = message_body("")
    body["input"]["message"]["content"] = content

    session_id = client.post(body).json()["session_id"]
    client.idle(session_id)

    assert client.messages(session_id)[0]["content"] == content


def test_an_upload_of_another_tenant_is_as_unknown_as_one_that_never_was(enter: Enter) -> None:
    owner, rival = enter(), enter()
    minted = uploaded(owner)
    waiting = owner.http.post("/v1/uploads", json=asked()).json()
    foreign = f"/v1/uploads/{minted['upload_id']}"

    answers = [
        rival.http.get(foreign),
        owner.http.get(f"/v1/uploads/{waiting['upload_id']}"),
        owner.http.get("/v1/uploads/00000000-0000-7000-8000-000000000000"),
        owner.http.get("/v1/uploads/.."),
        owner.http.get("/v1/uploads/x"),
    ]

    assert owner.http.get(foreign).status_code == 200
    assert [(one.status_code, one.json()["code"]) for one in answers if one.is_error] == [
        *[(404, "unknown_upload")] * 3,
        (404, "not_found"),
        (404, "unknown_upload"),
    ]
    assert answers[0].json() == answers[2].json()


def test_what_was_uploaded_stays_as_it_is(client: Client) -> None:
    minted = uploaded(client)

    again = httpx.put(minted["url"], headers=minted["headers"], content=PNG[::-1], timeout=10)

    shown = client.http.get(f"/v1/uploads/{minted['upload_id']}").json()
    assert again.status_code == 412
    assert httpx.get(shown["url"], timeout=10).content == PNG


def test_no_page_may_put_a_file_where_no_origin_was_named(client: Client) -> None:
    minted = client.http.post("/v1/uploads", json=asked()).json()
    origin = {"origin": "https://app.example.com"}

    asks = httpx.options(minted["url"], headers={**origin, "access-control-request-method": "PUT"})
    put = httpx.put(minted["url"], headers={**minted["headers"], **origin}, content=PNG, timeout=10)

    assert (asks.status_code, put.status_code) == (403, 200)
    told = [name for name in (*asks.headers, *put.headers) if name.startswith("access-control")]
    assert told == []


@pytest.mark.parametrize("key", [None, "nobody's"])
def test_without_a_key_nothing_is_signed(client: Client, key: str | None) -> None:
    headers = {"authorization": f"Bearer {key}"} if key else {}

    answer = httpx.post(f"{client.http_url}/v1/uploads", json=asked(), headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
