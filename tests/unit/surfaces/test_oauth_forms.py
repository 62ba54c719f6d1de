"""Forms and headers of OAuth: what is read of them, and that nothing else breaks a door."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.errors import StoreUnavailable
from everturn.observability import metrics
from everturn.ports.directory import ApiKey
from everturn.protocol.api_keys import hash_of
from everturn.protocol.limits import MAX_OAUTH_REQUEST_BYTES
from everturn.protocol.oauth import FORM, read_form, read_proof
from everturn.rejections import InvalidClient, InvalidRequest
from unit.drive.world import TENANT
from unit.surfaces.asking import API_KEY, Surfaces, http_event
from unit.surfaces.oauth_client import REVOKE, TOKEN, OAuthClient, basic

GRANT = {"grant_type": "client_credentials"}
PROOF = {"client_id": TENANT, "client_secret": API_KEY}
WHOLE = urlencode(GRANT | PROOF)


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


@pytest.fixture
def client() -> OAuthClient:
    return OAuthClient(Surfaces())


@pytest.mark.parametrize(
    "media", [FORM, f"{FORM}; charset=utf-8", FORM.upper(), f" {FORM} ;charset=x"]
)
def test_a_form_is_known_by_its_media_type(client: OAuthClient, media: str) -> None:
    assert client.post(TOKEN, WHOLE, media)[0] == 200


def test_a_body_in_base64_is_read_as_well(client: OAuthClient) -> None:
    event = {"key": None, "headers": {"content-type": FORM}, "encoded": True}

    assert client.surfaces.http("POST", TOKEN, WHOLE, **event)[0] == 200


def test_http_basic_names_the_client_too(client: OAuthClient) -> None:
    header = basic(TENANT, API_KEY)

    bare = client.post(TOKEN, urlencode(GRANT), authorization=header)
    beside = client.post(TOKEN, urlencode(GRANT | {"client_id": TENANT}), authorization=header)

    assert (bare[0], beside[0]) == (200, 200)


def test_basic_is_percent_encoded_before_it_is_basic(client: OAuthClient) -> None:
    odd = "a key: 100% + ü"
    directory = client.surfaces.world.directory
    directory.put_api_key(hash_of(odd), ApiKey(TENANT, odd))

    header = basic(odd, odd)

    assert client.post(TOKEN, urlencode(GRANT), authorization=header)[0] == 200


def test_another_scheme_beside_the_form_is_not_looked_at(client: OAuthClient) -> None:
    assert client.post(TOKEN, WHOLE, authorization="Bearer something")[0] == 200


@pytest.mark.parametrize(
    ("body", "media", "code"),
    [
        (WHOLE, "application/json", "invalid_request"),
        (WHOLE, "", "invalid_request"),
        ('{"grant_type": "client_credentials"}', "application/json", "invalid_request"),
        (None, FORM, "invalid_client"),
        ("", FORM, "invalid_client"),
        ("&&&", FORM, "invalid_client"),
        (urlencode(GRANT), FORM, "invalid_client"),
        (urlencode(GRANT | {"client_id": TENANT}), FORM, "invalid_client"),
        (urlencode(GRANT | PROOF | {"client_secret": ""}), FORM, "invalid_client"),
        (urlencode(PROOF), FORM, "invalid_request"),
        (urlencode(PROOF | {"grant_type": ""}), FORM, "invalid_request"),
        (urlencode(PROOF | {"grant_type": "refresh_token"}), FORM, "invalid_request"),
        (urlencode(PROOF | {"grant_type": "password"}), FORM, "unsupported_grant_type"),
        (urlencode(PROOF | {"grant_type": "authorization_code"}), FORM, "unsupported_grant_type"),
        (f"{WHOLE}&grant_type=client_credentials", FORM, "invalid_request"),
        (f"{WHOLE}&scope=&scope=runs:read", FORM, "invalid_request"),
        (f"{WHOLE}&scope=runs:own", FORM, "invalid_scope"),
        (f"{WHOLE}&scope=+", FORM, "invalid_scope"),
        (f"{WHOLE}&scope=%FF", FORM, "invalid_request"),
        (f"{WHOLE}&scope=%ED%A0%80", FORM, "invalid_request"),
        (f"{WHOLE}&x=\ud800", FORM, "invalid_request"),
        (WHOLE + "".join(f"&n{n}=1" for n in range(30)), FORM, "invalid_request"),
        (f"{WHOLE}&x={'x' * MAX_OAUTH_REQUEST_BYTES}", FORM, "invalid_request"),
    ],
)
def test_what_cannot_be_granted_is_refused_by_its_code(
    client: OAuthClient, body: str | None, media: str, code: str
) -> None:
    status, told, headers = client.post(TOKEN, body, media)

    assert told["error"] == told["code"] == code
    assert told["error_description"] == told["message"]
    assert status == (401 if code == "invalid_client" else 400)
    assert ("www-authenticate" in headers) is (code == "invalid_client")
    assert headers["pragma"] == "no-cache"


def test_what_is_not_known_of_a_form_is_not_looked_at(client: OAuthClient) -> None:
    assert client.post(TOKEN, f"{WHOLE}&audience=x&y")[0] == 200


def test_a_body_that_is_no_base64_is_refused(client: OAuthClient) -> None:
    event = http_event("POST", TOKEN, "%%%", key=None, headers={"content-type": FORM})

    answer = client.surfaces._http({**event, "isBase64Encoded": True}, None)

    assert answer["statusCode"] == 400
    assert '"error":"invalid_request"' in answer["body"]


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic é",
        "Basic " + base64.b64encode(b"\xff:\xff").decode(),
        "Basic " + base64.b64encode(b"no-colon").decode(),
        "Basic " + base64.b64encode(b":secret").decode(),
        "Basic " + base64.b64encode(b"name:").decode(),
        "Basic " + base64.b64encode(b"%FF:secret").decode(),
        "Bearer " + API_KEY,
        basic(TENANT, "unknown"),
    ],
)
def test_a_bad_header_names_no_client(client: OAuthClient, header: str) -> None:
    status, told, _ = client.post(TOKEN, urlencode(GRANT), authorization=header)

    assert (status, told["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("more", [{"client_secret": API_KEY}, {"client_id": "another"}])
def test_a_client_says_who_it_is_in_one_way(client: OAuthClient, more: dict[str, str]) -> None:
    header = basic(TENANT, API_KEY)

    status, told, _ = client.post(TOKEN, urlencode(GRANT | more), authorization=header)

    assert (status, told["error"]) == (400, "invalid_request")


def test_a_revocation_names_its_token(client: OAuthClient) -> None:
    status, told, _ = client.post(REVOKE, urlencode(PROOF))

    assert (status, told["error"]) == (400, "invalid_request")


def test_a_table_that_does_not_answer_is_a_503_in_both_wordings(
    client: OAuthClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_sha256: str) -> Any:
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(client.surfaces.world.directory, "api_key", fails)

    status, told, headers = client.ask(**GRANT)

    assert (status, told["error"], headers["retry-after"]) == (503, "store_unavailable", "1")
    assert told["error_description"] == told["message"]


@given(media=st.sampled_from([FORM, ""]) | st.text(), body=st.binary(max_size=200))
def test_any_body_is_a_form_or_refused(media: str, body: bytes) -> None:
    try:
        form = read_form(media, body)
    except InvalidRequest:
        return
    assert all(form.values())


@given(
    header=st.none()
    | st.text()
    | st.binary().map(lambda raw: f"Basic {base64.b64encode(raw).decode()}"),
    form=st.dictionaries(st.sampled_from(["client_id", "client_secret"]), st.text(min_size=1)),
)
def test_any_header_and_form_are_a_proof_or_refused(
    header: str | None, form: dict[str, str]
) -> None:
    try:
        proof = read_proof(header, form)
    except (InvalidClient, InvalidRequest):
        return
    assert proof.client_id
    assert proof.secret
    assert "secret" not in repr(proof)
