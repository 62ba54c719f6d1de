"""OAuth 2.0: who gets tokens, what they are worth, how they are renewed and taken back."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.errors import StoreUnavailable
from everturn.observability import metrics
from everturn.ports.directory import ApiKey
from everturn.protocol.api_keys import hash_of
from everturn.protocol.client_token import SCOPES
from everturn.protocol.limits import ACCESS_TOKEN_TTL_S, REFRESH_TOKEN_TTL_S, TOKEN_LEEWAY_S
from everturn.session.events.sessions import Owner
from everturn.surfaces.callers import CACHED_MS
from unit.drive.world import TENANT
from unit.surfaces.asking import API_KEY, RIVAL_KEY, Surfaces
from unit.surfaces.oauth_client import USERINFO, OAuthClient

ALL = " ".join(SCOPES)


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


@pytest.fixture
def surfaces() -> Surfaces:
    return Surfaces()


@pytest.fixture
def client(surfaces: Surfaces) -> OAuthClient:
    return OAuthClient(surfaces)


def now_s(surfaces: Surfaces) -> int:
    return surfaces.world.clock.now // 1000


def pass_s(surfaces: Surfaces, seconds: int) -> None:
    surfaces.world.clock.move(seconds * 1000)


def add_key(surfaces: Surfaces, key: str, life_s: int | None = None, name: str = "other") -> None:
    ends = None if life_s is None else surfaces.world.clock.now + life_s * 1000
    surfaces.world.directory.put_api_key(hash_of(key), ApiKey(TENANT, name, expires_ms=ends))


# ---- client credentials


def test_a_key_is_given_an_access_token_for_an_hour_and_what_renews_it(
    surfaces: Surfaces, client: OAuthClient
) -> None:
    status, told, headers = client.ask(grant_type="client_credentials")

    began = now_s(surfaces)
    access = surfaces.tokens.read(told["access_token"])
    renewal = surfaces.tokens.read_renewal(told["refresh_token"])
    assert status == 200
    assert (told["token_type"], told["expires_in"], told["scope"]) == ("Bearer", 3600, ALL)
    assert told.keys() == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert (headers["cache-control"], headers["pragma"]) == ("no-store", "no-cache")
    assert (access.tenant, access.owner, access.scopes) == (TENANT, Owner(id="default"), SCOPES)
    assert access.expires_epoch_s == began + ACCESS_TOKEN_TTL_S
    assert renewal.expires_epoch_s == began + REFRESH_TOKEN_TTL_S
    assert access.grant_id == renewal.grant_id != access.token_id != ""
    assert client.knock(told["access_token"]) == 200


def test_scopes_are_those_that_were_asked_for_each_once_and_in_one_order(
    client: OAuthClient,
) -> None:
    told = client.granted(scope="models:read  sessions:read models:read")

    assert told["scope"] == "sessions:read models:read"


def test_a_token_without_a_routes_scope_is_told_which_one_it_takes(client: OAuthClient) -> None:
    token = client.granted(scope="sessions:read")["access_token"]

    status, told, headers = client.surfaces.http("GET", "/v1/models", key=token)

    assert (status, told["required"]) == (403, "models:read")
    assert 'scope="models:read"' in headers["www-authenticate"]


@pytest.mark.parametrize("client_id", [TENANT, "main"])
def test_a_client_is_named_by_the_tenant_or_the_keys_name(
    surfaces: Surfaces, client_id: str
) -> None:
    assert OAuthClient(surfaces, client_id).granted()


@pytest.mark.parametrize(
    ("client_id", "secret"),
    [
        ("nobody", API_KEY),
        ("rival", API_KEY),
        (TENANT, RIVAL_KEY),
        (TENANT, "unknown"),
        (TENANT, "x" * 201),
        ("Ünbekannt", "ß"),
        (TENANT, "over"),
    ],
)
def test_another_client_or_secret_is_refused_in_the_same_words(
    surfaces: Surfaces, client_id: str, secret: str
) -> None:
    add_key(surfaces, "over", life_s=0)

    status, told, headers = OAuthClient(surfaces, client_id, secret).ask(
        grant_type="client_credentials"
    )

    assert status == 401
    assert headers["www-authenticate"].startswith("Basic ")
    assert told == {
        "error": "invalid_client",
        "error_description": "The client is not known, or its secret is another one.",
        "code": "invalid_client",
        "message": "The client is not known, or its secret is another one.",
    }


def test_a_client_token_is_no_clients_secret(surfaces: Surfaces, client: OAuthClient) -> None:
    for token in (surfaces.token(), client.granted()["access_token"]):
        status, told, _ = OAuthClient(surfaces, secret=token).ask(grant_type="client_credentials")

        assert (status, told["error"]) == (401, "invalid_client")


def test_no_token_outlives_its_key(surfaces: Surfaces) -> None:
    add_key(surfaces, "brief", life_s=600)

    told = OAuthClient(surfaces, secret="brief").granted()

    ends = now_s(surfaces) + 600
    assert told["expires_in"] == 600
    assert surfaces.tokens.read(told["access_token"]).expires_epoch_s == ends
    assert surfaces.tokens.read_renewal(told["refresh_token"]).expires_epoch_s == ends


# ---- refresh


def test_a_refresh_token_stays_the_same_and_gives_fresh_tokens_again_and_again(
    surfaces: Surfaces, client: OAuthClient
) -> None:
    first = client.granted(scope="models:read runs:read")

    renewed = []
    for _ in range(3):
        pass_s(surfaces, ACCESS_TOKEN_TTL_S)
        status, told = client.refresh(first["refresh_token"])
        assert (status, told["refresh_token"]) == (200, first["refresh_token"])
        assert client.knock(told["access_token"]) == 200
        renewed.append(told)

    assert {told["scope"] for told in renewed} == {"models:read runs:read"}
    assert len({told["access_token"] for told in (first, *renewed)}) == 4
    assert client.knock(first["access_token"]) == 401


def test_a_refresh_may_ask_for_less_and_for_no_more(client: OAuthClient) -> None:
    token = client.granted(scope="models:read runs:read")["refresh_token"]

    less = client.refresh(token, scope="runs:read")
    more = client.refresh(token, scope="runs:read runs:write")
    again = client.refresh(token)

    assert (less[0], less[1]["scope"]) == (200, "runs:read")
    assert (more[0], more[1]["error"], more[1]["hint"]) == (
        400,
        "invalid_scope",
        "models:read runs:read",
    )
    assert again[1]["scope"] == "models:read runs:read"


def test_a_refresh_token_opens_no_route_and_an_access_token_renews_nothing(
    client: OAuthClient,
) -> None:
    told = client.granted()

    assert client.knock(told["refresh_token"]) == 401
    assert client.refresh(told["access_token"])[1]["error"] == "invalid_grant"


def test_a_refresh_token_is_taken_beside_its_own_key_alone(surfaces: Surfaces) -> None:
    add_key(surfaces, "second")
    token = OAuthClient(surfaces).granted()["refresh_token"]

    for other in (
        OAuthClient(surfaces, secret="second"),
        OAuthClient(surfaces, "rival", RIVAL_KEY),
    ):
        status, told = other.refresh(token)
        assert (status, told["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize("token", ["", "x", "eyJ.a.b", "x" * 5000, "é"])
def test_what_is_no_refresh_token_is_refused(client: OAuthClient, token: str) -> None:
    status, told = client.refresh(token)

    assert status == 400
    assert told["error"] == ("invalid_grant" if token else "invalid_request")


def test_a_refresh_token_is_over_after_thirty_days(surfaces: Surfaces, client: OAuthClient) -> None:
    token = client.granted()["refresh_token"]
    pass_s(surfaces, REFRESH_TOKEN_TTL_S - 1)
    before = client.refresh(token)[0]

    pass_s(surfaces, 1)

    assert (before, client.refresh(token)[1]["error"]) == (200, "invalid_grant")


def test_a_refresh_token_dies_with_its_key(surfaces: Surfaces) -> None:
    add_key(surfaces, "brief", life_s=600)
    client = OAuthClient(surfaces, secret="brief")
    token = client.granted()["refresh_token"]

    pass_s(surfaces, 600)

    assert client.refresh(token)[1]["error"] == "invalid_client"


# ---- revoking


def test_a_revoked_access_token_is_refused_within_a_minute_and_its_like_is_not(
    surfaces: Surfaces, client: OAuthClient
) -> None:
    first = client.granted()
    second = client.refresh(first["refresh_token"])[1]
    known = [client.knock(one["access_token"]) for one in (first, second)]

    status, told = client.revoke(first["access_token"], token_type_hint="refresh_token")
    surfaces.world.clock.move(CACHED_MS)

    assert (known, status, told) == ([200, 200], 200, {"ok": True})
    assert [client.knock(one["access_token"]) for one in (first, second)] == [401, 200]
    assert client.refresh(first["refresh_token"])[0] == 200
    (until,) = surfaces.revocations.until.values()
    assert until == surfaces.tokens.read(first["access_token"]).expires_epoch_s + TOKEN_LEEWAY_S


def test_a_revoked_refresh_token_takes_the_access_tokens_of_its_grant_along(
    surfaces: Surfaces, client: OAuthClient
) -> None:
    first, other = client.granted(), client.granted()
    second = client.refresh(first["refresh_token"])[1]

    client.revoke(first["refresh_token"])
    surfaces.world.clock.move(CACHED_MS)

    refused = client.refresh(first["refresh_token"])
    assert (refused[0], refused[1]["error"]) == (400, "invalid_grant")
    told = [client.knock(one["access_token"]) for one in (first, second, other)]
    assert told == [401, 401, 200]


def test_a_grants_revocation_is_kept_longer_than_any_token_of_it(
    surfaces: Surfaces, client: OAuthClient
) -> None:
    token = client.granted()["refresh_token"]
    pass_s(surfaces, REFRESH_TOKEN_TTL_S - 1)
    last = surfaces.tokens.read(client.refresh(token)[1]["access_token"])

    client.revoke(token)

    (until,) = surfaces.revocations.until.values()
    assert until > last.expires_epoch_s + TOKEN_LEEWAY_S - 1


@pytest.mark.parametrize("token", ["x", "eyJ.a.b", "x" * 5000])
def test_a_token_that_is_not_known_is_as_good_as_revoked(client: OAuthClient, token: str) -> None:
    assert client.revoke(token) == (200, {"ok": True})
    assert client.surfaces.revocations.until == {}


def test_another_tenant_revokes_nothing_and_is_told_as_little(
    surfaces: Surfaces, client: OAuthClient
) -> None:
    told = client.granted()
    rival = OAuthClient(surfaces, "rival", RIVAL_KEY)

    answers = [rival.revoke(told[name]) for name in ("access_token", "refresh_token")]

    assert answers == [(200, {"ok": True})] * 2
    assert surfaces.revocations.until == {}


def test_any_key_of_the_tenant_may_revoke(surfaces: Surfaces, client: OAuthClient) -> None:
    add_key(surfaces, "second")
    token = client.granted()["access_token"]

    OAuthClient(surfaces, secret="second").revoke(token)

    assert client.knock(token) == 401


def test_a_token_that_cannot_be_revoked_is_said_to_hold_on(
    surfaces: Surfaces, client: OAuthClient
) -> None:
    status, told = client.revoke(surfaces.token())

    assert (status, told["error"]) == (400, "unsupported_token_type")


def test_who_revokes_shows_its_key(surfaces: Surfaces, client: OAuthClient) -> None:
    token = client.granted()["access_token"]

    status, told = OAuthClient(surfaces, secret="unknown").revoke(token)

    assert (status, told["error"]) == (401, "invalid_client")
    assert client.knock(token) == 200


# ---- what it costs


def test_revocations_are_looked_for_once_a_minute_and_for_no_other_tokens(
    surfaces: Surfaces, client: OAuthClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def is_revoked(token_id: str) -> bool:
        looks.append(token_id)
        return False

    monkeypatch.setattr(surfaces.revocations, "is_revoked", is_revoked)
    plain, token = surfaces.token(), client.granted()["access_token"]

    for one in (plain, plain, token, token, token):
        assert client.knock(one) == 200
    first = list(looks)
    surfaces.world.clock.move(CACHED_MS)
    client.knock(token)

    grant = surfaces.tokens.read(token)
    assert first == [grant.grant_id, grant.token_id]
    assert looks == first * 2


def test_a_token_is_not_taken_while_nobody_can_say_whether_it_was_revoked(
    surfaces: Surfaces, client: OAuthClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_token_id: str) -> bool:
        raise StoreUnavailable("no answer")

    token = client.granted()["access_token"]
    with monkeypatch.context() as silent:
        silent.setattr(surfaces.revocations, "is_revoked", fails)
        during = client.knock(token)

    assert (during, client.knock(token)) == (503, 200)


# ---- whose it is


def test_a_token_is_told_whose_it_is(surfaces: Surfaces, client: OAuthClient) -> None:
    token = client.granted(scope="mantyx.identity:read runs:read")["access_token"]

    status, told, _ = surfaces.http("GET", USERINFO, key=token)

    assert status == 200
    assert told == {
        "sub": "default",
        "kind": "client_token",
        "workspace": {"id": TENANT, "slug": TENANT},
        "scopes": ["runs:read", "mantyx.identity:read"],
        "scope": "runs:read mantyx.identity:read",
        "expires_at": now_s(surfaces) + ACCESS_TOKEN_TTL_S,
    }


def test_a_key_is_told_whose_it_is(surfaces: Surfaces) -> None:
    status, told, _ = surfaces.http("GET", USERINFO)

    assert (status, told["sub"], told["kind"], told["scope"]) == (200, "main", "api_key", ALL)
    assert "expires_at" not in told


def test_whose_a_token_is_takes_a_scope(surfaces: Surfaces) -> None:
    status, told, _ = surfaces.http("GET", USERINFO, key=surfaces.token(scopes=["runs:read"]))

    assert (status, told["required"]) == (403, "mantyx.identity:read")
