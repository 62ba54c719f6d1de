"""The routes of uploads, on places in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.protocol.limits import MAX_UPLOAD_REQUEST_BYTES
from unit.surfaces.asking import RIVAL_KEY, Surfaces

ASKED: dict[str, Any] = {"filename": "a.png", "content_type": "image/png", "size_bytes": 3}


@pytest.mark.parametrize("known", [{}, {"sha256": "ab" * 32}])
def test_an_upload_is_shown_to_its_tenant_once_it_is_stored(known: dict[str, str]) -> None:
    surfaces = Surfaces()

    status, minted, _ = surfaces.http("POST", "/v1/uploads", ASKED | known)
    path = f"/v1/uploads/{minted['upload_id']}"
    before = surfaces.http("GET", path)
    surfaces.uploads.receive(minted["url"])
    after = surfaces.http("GET", path)
    rivals = surfaces.http("GET", path, key=RIVAL_KEY)

    reference = {"upload_id": minted["upload_id"], "file_url": minted["file_url"]}
    assert status == 201
    assert minted.keys() == {"upload_id", "url", "headers", "expires_at", "file_url"}
    assert (before[0], rivals[0]) == (404, 404)
    assert before[1] == rivals[1]
    assert after[0] == 200
    assert after[1] == {
        **ASKED,
        **known,
        **reference,
        "url": after[1]["url"],
        "expires_at": minted["expires_at"],
    }


def test_a_request_over_its_limit_is_refused_and_one_at_it_is_read() -> None:
    surfaces = Surfaces()
    text = json.dumps(ASKED)

    fits = surfaces.http("POST", "/v1/uploads", text.ljust(MAX_UPLOAD_REQUEST_BYTES))
    over = surfaces.http("POST", "/v1/uploads", text.ljust(MAX_UPLOAD_REQUEST_BYTES + 1))

    assert (fits[0], over[0], over[1]["code"]) == (201, 413, "too_large")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "GET"])
def test_the_collection_takes_posts_alone(method: str) -> None:
    status, told, _ = Surfaces().http(method, "/v1/uploads", ASKED)

    assert (status, told["allow"]) == (405, "POST")
