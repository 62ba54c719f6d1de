"""Files that a page puts into the bucket itself: what a browser asks first, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from e2e.client import Client, message_body
from e2e.command import everturn_dev
from e2e.stage import Setup
from everturn_local.runtime import LocalRuntime

OURS = "https://app.example.com"
FOREIGN = "https://evil.example.com"
BODY = b"some bytes of a file"


@pytest.fixture(scope="module")
def setup() -> Setup:
    """A stack into whose bucket pages of one origin may put files."""
    return Setup(parameters=(("UploadOrigins", OURS),))


def minted(client: Client, **more: Any) -> dict[str, Any]:
    wanted = {"filename": "f.bin", "content_type": "image/png", "size_bytes": len(BODY), **more}
    answer = client.http.post("/v1/uploads", json=wanted)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def preflight(url: str, origin: str, method: str, headers: Mapping[str, str]) -> httpx.Response:
    """Ask what a browser asks before it sends a request of a page."""
    asked = sorted(set(headers) - {"content-length"})
    return httpx.options(
        url,
        headers={
            "origin": origin,
            "access-control-request-method": method,
            "access-control-request-headers": ",".join(asked),
        },
    )


def test_a_page_of_a_named_origin_puts_a_file_and_gets_it_back(client: Client) -> None:
    upload = minted(client, sha256="4f" * 32)

    allowed = preflight(upload["url"], OURS, "PUT", upload["headers"])
    del upload["headers"]["x-amz-checksum-sha256"]  # not what we send: moto checks it
    put = httpx.put(upload["url"], headers=upload["headers"] | {"origin": OURS}, content=BODY)
    url = client.http.get(f"/v1/uploads/{upload['upload_id']}").json()["url"]
    got = httpx.get(url, headers={"origin": OURS})

    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == OURS
    assert "PUT" in allowed.headers["access-control-allow-methods"]
    assert "x-amz-tagging" in allowed.headers["access-control-allow-headers"]
    for answer in (put, got):
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, OURS)
    assert got.content == BODY


@pytest.mark.parametrize(
    ("origin", "method", "more"),
    [(FOREIGN, "PUT", {}), (OURS, "DELETE", {}), (OURS, "PUT", {"x-amz-acl": "public-read"})],
)
def test_what_was_not_named_is_not_allowed(
    client: Client, origin: str, method: str, more: dict[str, str]
) -> None:
    upload = minted(client)

    asked = preflight(upload["url"], origin, method, upload["headers"] | more)
    put = httpx.put(upload["url"], headers=upload["headers"] | {"origin": FOREIGN}, content=BODY)

    assert asked.status_code == 403
    assert not [name for name in asked.headers if name.startswith("access-control")]
    assert put.status_code == 200  # the signature counts; the page may not read the answer
    assert not [name for name in put.headers if name.startswith("access-control")]


def test_dev_takes_the_origins_whose_pages_may_upload() -> None:
    with everturn_dev("--upload-origins", OURS) as (_, about):
        client = Client(about["http_url"], about["ws_url"], about["api_key"], about["workspace"])
        upload = minted(client)
        client.close()
        answers = [
            preflight(upload["url"], origin, "PUT", upload["headers"]) for origin in (OURS, FOREIGN)
        ]

    assert [answer.status_code for answer in answers] == [200, 403]


def tags(runtime: LocalRuntime, client: Client, upload: Mapping[str, Any]) -> dict[str, str]:
    found = runtime.clients.s3.get_object_tagging(
        Bucket=runtime.physical["Bucket"],
        Key=f"{client.tenant}/uploads/{upload['upload_id']}/file",
    )
    return {tag["Key"]: tag["Value"] for tag in found["TagSet"]}


def test_a_file_is_deleted_some_day_unless_a_message_refers_to_it(
    client: Client, runtime: LocalRuntime
) -> None:
    meant, forgotten = minted(client), minted(client)
    for upload in (meant, forgotten):
        httpx.put(upload["url"], headers=upload["headers"], content=BODY).raise_for_status()
    before = [tags(runtime, client, upload) for upload in (meant, forgotten)]
    body = message_body("")
    body["input"]["message"]["content"] = [
        {"type": "text", "text": "[[say:seen]]"},
        {"type": "image_url", "image_url": {"url": meant["file_url"]}},
    ]

    session_id = client.post(body).json()["session_id"]
    client.idle(session_id)

    after = [tags(runtime, client, upload) for upload in (meant, forgotten)]
    assert before == [{"upload": "pending"}] * 2
    assert after == [{"upload": "kept"}, {"upload": "pending"}]


def test_too_many_files_in_one_input_are_refused_before_any_is_looked_up(client: Client) -> None:
    part = {"type": "image_url"}
    ids = [f"0198f000-0000-7000-8000-{n:012d}" for n in range(51)]
    body = message_body("")
    body["input"]["message"]["content"] = [
        {**part, "image_url": {"url": f"everturn:upload:{one}"}} for one in ids
    ]

    refused = client.post(body)
    body["input"]["message"]["content"].pop()
    taken = client.post(body)

    assert (refused.status_code, refused.json()["code"]) == (400, "schema_violation")
    assert taken.status_code == 202
    client.idle(taken.json()["session_id"])
