"""A-2, A-3: minting a client token, and what it is worth from its first second to its last."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.observability import metrics
from everturn.ports.callers import Caller, Who
from everturn.ports.tokens import Grant
from everturn.protocol.client_token import SCOPES
from everturn.protocol.limits import (
    DEFAULT_TOKEN_TTL_S,
    MAX_TOKEN_CHARS,
    MAX_TOKEN_METADATA_BYTES,
    MAX_TOKEN_REQUEST_BYTES,
    MAX_TOKEN_TTL_S,
    TOKEN_LEEWAY_S,
)
from everturn.rejections import Unauthenticated
from everturn.session.events.sessions import Owner
from everturn.surfaces.callers import credential_in
from everturn.surfaces.routes import ROUTES
from unit.drive.world import TENANT
from unit.surfaces.asking import API_KEY, RIVAL_KEY, Surfaces

PATH = "/v1/client-tokens"


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


def now_s(surfaces: Surfaces) -> int:
    return surfaces.world.clock.now // 1000


def mint(surfaces: Surfaces, **asked: Any) -> tuple[int, dict[str, Any]]:
    return surfaces.http("POST", PATH, {"identity": {"id": "u1"}, **asked})[:2]


# ---- minting


USUAL = ("sessions:read", "sessions:write", "models:read")
"""Runs choose instructions, tools and models: that is granted by name."""


def test_a_token_is_minted_for_ten_minutes_and_what_users_of_sessions_may_do() -> None:
    surfaces = Surfaces()

    status, told = mint(surfaces, identity={"id": "u1", "metadata": {"plan": "free"}})

    began = now_s(surfaces)
    assert status == 201
    assert told.keys() == {"token", "expires_at"}
    assert told["expires_at"] == began + 600
    owner = Owner(id="u1", metadata={"plan": "free"})
    grant = Grant(TENANT, owner, USUAL, began, began + DEFAULT_TOKEN_TTL_S)
    assert surfaces.tokens.read(told["token"]) == grant


@pytest.mark.parametrize("ttl_s", [1, 2, MAX_TOKEN_TTL_S - 1, MAX_TOKEN_TTL_S])
def test_a_token_lives_as_long_as_was_asked(ttl_s: int) -> None:
    surfaces = Surfaces()

    _, told = mint(surfaces, ttl_seconds=ttl_s)

    assert told["expires_at"] == now_s(surfaces) + ttl_s


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"ttl_seconds": 0}, "/ttl_seconds"),
        ({"ttl_seconds": -1}, "/ttl_seconds"),
        ({"ttl_seconds": MAX_TOKEN_TTL_S + 1}, "/ttl_seconds"),
        ({"ttl_seconds": 1.5}, "/ttl_seconds"),
        ({"ttl_seconds": "600"}, "/ttl_seconds"),
        ({"ttl_seconds": True}, "/ttl_seconds"),
        ({"scopes": ["sessions:read", "sessions:own"]}, "/scopes/1"),
        ({"scopes": []}, "/scopes"),
        ({"scopes": "sessions:read"}, "/scopes"),
        ({"identity": None}, "/identity"),
        ({"identity": {}}, "/identity/id"),
        ({"identity": {"id": "a b"}}, "/identity/id"),
        ({"identity": {"id": "u1", "metadata": {"n": 1}}}, "/identity/metadata/n"),
        ({"identity": {"id": "u1", "tenant": "rival"}}, "/identity/tenant"),
        ({"tenant": "rival"}, "/tenant"),
    ],
    ids=str,
)
def test_a_wish_that_no_token_can_hold_is_refused_with_its_path(
    wrong: dict[str, Any], path: str
) -> None:
    status, told = mint(Surfaces(), **wrong)

    assert (status, told["code"]) == (400, "invalid_id" if "a b" in str(wrong) else told["code"])
    assert told["message"].startswith(f"{path}: ")


def test_null_is_as_good_as_nothing_asked() -> None:
    surfaces = Surfaces()

    _, told = mint(surfaces, ttl_seconds=None, scopes=None)

    assert told["expires_at"] == now_s(surfaces) + 600
    assert surfaces.tokens.read(told["token"]).scopes == USUAL


def test_scopes_stand_once_and_in_one_order() -> None:
    surfaces = Surfaces()

    token = surfaces.token(scopes=["sessions:write", "models:read", "sessions:write"])

    assert surfaces.tokens.read(token).scopes == ("sessions:write", "models:read")


def test_every_scope_that_a_route_wants_can_be_had() -> None:
    wanted = {route.scope for route in ROUTES} - {""}

    assert wanted <= set(SCOPES)
    assert all(route.scope for route in ROUTES if route.who is Who.FRONTEND)


@pytest.mark.parametrize("letter", ["x", "é", "😀", '"'])
def test_metadata_fits_exactly_and_its_token_fits_too(letter: str) -> None:
    surfaces = Surfaces()
    empty = len(json.dumps({"k": ""}, separators=(",", ":")))
    count = (MAX_TOKEN_METADATA_BYTES - empty) // (len(json.dumps(letter)) - 2)
    fits, over = ({"id": "u" * 200, "metadata": {"k": letter * n}} for n in (count, count + 1))

    status, told = mint(surfaces, identity=fits)
    refused = mint(surfaces, identity=over)

    assert (status, refused[0], refused[1]["code"]) == (201, 400, "schema_violation")
    assert len(told["token"]) <= MAX_TOKEN_CHARS
    assert surfaces.tokens.read(told["token"]).owner.metadata == fits["metadata"]


def test_a_request_over_its_limit_is_refused_and_one_at_it_is_read() -> None:
    surfaces = Surfaces()
    text = json.dumps({"identity": {"id": "u1"}})

    fits = surfaces.http("POST", PATH, text.ljust(MAX_TOKEN_REQUEST_BYTES))
    over = surfaces.http("POST", PATH, text.ljust(MAX_TOKEN_REQUEST_BYTES + 1))

    assert (fits[0], over[0], over[1]["code"]) == (201, 413, "too_large")


def test_nothing_of_a_token_is_stored() -> None:
    surfaces = Surfaces()
    before = repr(vars(surfaces.world.directory)), repr(vars(surfaces.world.store))

    mint(surfaces)

    assert (repr(vars(surfaces.world.directory)), repr(vars(surfaces.world.store))) == before


# ---- what it is worth


def test_a_token_is_its_owner_with_its_scopes_until_it_expires() -> None:
    surfaces = Surfaces()
    token = surfaces.token("u1", scopes=["sessions:read"], ttl_seconds=60)

    caller = surfaces.callers.by_credential(token)

    assert caller == Caller(
        tenant=TENANT,
        privilege=Who.FRONTEND,
        owner=Owner(id="u1"),
        scopes=("sessions:read",),
        expires_epoch_s=now_s(surfaces) + 60,
    )
    assert surfaces.callers.by_credential(API_KEY) == Caller(TENANT, key_name="main")


def test_a_token_is_taken_a_minute_longer_and_not_a_moment_more() -> None:
    surfaces = Surfaces()
    token = surfaces.token(ttl_seconds=1)
    surfaces.world.clock.move((1 + TOKEN_LEEWAY_S) * 1000 - 1)
    late = surfaces.http("GET", "/v1/sessions/s1", key=token)[0]
    surfaces.world.clock.move(1)

    status, told, headers = surfaces.http("GET", "/v1/sessions/s1", key=token)

    assert TOKEN_LEEWAY_S == 60
    assert (late, status, told["code"]) == (404, 401, "unauthenticated")
    assert "expired" in told["message"]
    assert headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("ahead_s", [1, 59, 61])
def test_a_token_that_begins_later_does_not_hold_yet(ahead_s: int) -> None:
    surfaces = Surfaces()
    begins = now_s(surfaces) + ahead_s
    token = surfaces.tokens.sign(Grant(TENANT, Owner(id="u1"), SCOPES, begins, begins + 600))

    with pytest.raises(Unauthenticated):
        surfaces.callers.by_credential(token)
    surfaces.world.clock.move(ahead_s * 1000)

    assert surfaces.callers.by_credential(token).tenant == TENANT


# ---- where it stands


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-API-Key": API_KEY}, 404),
        ({"x-api-key": f" {API_KEY} "}, 404),
        ({"X-API-Key": "nobody's"}, 401),
        ({"X-API-Key": ""}, 401),
        ({"Authorization": f"bearer  {API_KEY}"}, 404),
        ({"Authorization": "Bearer nobody's", "X-API-Key": API_KEY}, 401),
        ({"Authorization": "Basic abc", "X-API-Key": API_KEY}, 401),
        ({"Authorization": f"Bearer {API_KEY}", "X-API-Key": "nobody's"}, 404),
        ({"Cookie": API_KEY}, 401),
    ],
    ids=str,
)
def test_a_key_stands_in_one_of_two_headers_and_authorization_counts_first(
    headers: dict[str, str], status: int
) -> None:
    told = Surfaces().http("GET", "/v1/agents/nobody", key=None, headers=headers)

    assert told[0] == status
    assert (told[2].get("www-authenticate") == "Bearer") is (status == 401)


def test_a_token_may_stand_where_a_key_may() -> None:
    surfaces = Surfaces()
    headers = {"X-API-Key": surfaces.token()}

    assert surfaces.http("GET", "/v1/sessions/s1", key=None, headers=headers)[0] == 404


def test_no_credential_is_told_from_a_bad_one() -> None:
    assert credential_in({}) is None
    assert credential_in({"authorization": "Basic abc"}) == ""


# ---- what it may do


def test_a_token_is_not_enough_for_what_machines_do() -> None:
    surfaces = Surfaces()
    token = surfaces.token()

    status, told, headers = surfaces.http("POST", PATH, {"identity": {"id": "u2"}}, key=token)

    assert (status, told["code"], told["required"]) == (403, "insufficient_privilege", "machine")
    assert "www-authenticate" not in headers


@pytest.mark.parametrize("path", ["/v1/workers/submit", "/v1/sessions/s1/calls/settle"])
def test_answers_of_workers_need_a_key(path: str) -> None:
    """A-5, A-9, F-2: beside a delivery nothing vouches for a worker but its key."""
    surfaces = Surfaces()

    refused = surfaces.http("POST", path, {}, key=surfaces.token())
    nobody = surfaces.http("POST", path, {}, key=None)

    assert (refused[0], refused[1]["code"]) == (403, "insufficient_privilege")
    assert (nobody[0], nobody[1]["code"]) == (401, "unauthenticated")
    assert [refused[1]["ok"], nobody[1]["ok"]] == [False, False]


def test_a_scope_that_is_missing_is_named() -> None:
    surfaces = Surfaces()
    token = surfaces.token(scopes=["sessions:write"])

    status, told, headers = surfaces.http("GET", "/v1/sessions/s1", key=token)
    read = surfaces.events("s1", key=token)

    assert (status, told["code"], told["required"]) == (403, "insufficient_scope", "sessions:read")
    assert headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", scope="sessions:read"'
    )
    assert read["statusCode"] == 403
    assert read["headers"]["www-authenticate"] == headers["www-authenticate"]


def test_a_key_needs_no_scope_and_a_rivals_key_mints_for_the_rival() -> None:
    surfaces = Surfaces()

    told = surfaces.http("POST", PATH, {"identity": {"id": "u1"}}, key=RIVAL_KEY)[1]

    assert surfaces.tokens.read(told["token"]).tenant == "rival"
    assert Caller(TENANT).allows("sessions:write")
