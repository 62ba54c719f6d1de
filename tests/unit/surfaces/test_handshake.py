"""The handshake of a WebSocket: where a credential may stand, and which subprotocol is chosen."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.ports.callers import NOBODY, Caller, Who, from_fields, to_fields
from everturn.rejections import Unauthenticated
from everturn.session.events.sessions import Owner
from everturn.surfaces.handshake import answer_to, caller_of
from unit.drive.world import TENANT
from unit.surfaces.asking import API_KEY, RIVAL_KEY, Surfaces

TOKEN = "the token"


def event(headers: dict[str, str] | None, query: dict[str, str] | None) -> dict[str, Any]:
    """Return what of an API Gateway event counts here."""
    return {"headers": headers, "queryStringParameters": query}


def protocols(*offered: str) -> dict[str, str]:
    return {"Sec-WebSocket-Protocol": ", ".join(offered)}


def filled(given: dict[str, str] | None, token: str) -> dict[str, str] | None:
    return given and {name: value.replace(TOKEN, token) for name, value in given.items()}


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"Authorization": f"Bearer {TOKEN}"}, None),
        ({"X-API-Key": TOKEN}, None),
        (protocols("everturn", f"everturn.bearer.{TOKEN}"), None),
        (protocols(f"everturn.bearer.{TOKEN}"), {"access_token": "bad"}),
        (protocols("graphql-ws", f"everturn.bearer.{TOKEN}", "everturn"), None),
        (protocols("everturn"), {"access_token": TOKEN}),
        ({}, {"api_key": TOKEN}),
        (None, {"access_token": TOKEN, "api_key": "bad"}),
        ({"Authorization": f"Bearer {TOKEN}"}, {"access_token": "bad", "api_key": "bad"}),
        ({"Authorization": f"Bearer {TOKEN}", **protocols("everturn.bearer.bad")}, None),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_key", [False, True], ids=["a token", "a key"])
def test_a_credential_stands_in_one_of_four_places_and_the_first_one_counts(
    headers: dict[str, str] | None, query: dict[str, str] | None, is_key: bool
) -> None:
    surfaces = Surfaces()
    credential = API_KEY if is_key else surfaces.token("u1")
    opening = event(filled(headers, credential), filled(query, credential))

    caller = caller_of(surfaces.callers, opening)

    assert caller.tenant == TENANT
    assert (caller.privilege, caller.owner) == (
        (Who.MACHINE, None) if is_key else (Who.FRONTEND, Owner(id="u1"))
    )


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        (None, None),
        ({}, {}),
        (protocols("everturn"), {"token": API_KEY}),
        (protocols("everturn.bearer", "bearer.x"), None),
    ],
    ids=str,
)
def test_who_shows_no_credential_is_nobody(
    headers: dict[str, str] | None, query: dict[str, str] | None
) -> None:
    assert caller_of(Surfaces().callers, event(headers, query)) == NOBODY


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"Authorization": "Bearer bad"}, {"api_key": API_KEY}),
        ({"Authorization": "Basic abc"}, None),
        ({"Authorization": ""}, None),
        (protocols("everturn", "everturn.bearer."), None),
        (protocols("everturn", "everturn.bearer.bad", f"everturn.bearer.{API_KEY}"), None),
        (None, {"api_key": ""}),
        (None, {"access_token": "", "api_key": API_KEY}),
        (None, {"access_token": "eyJ.a.b"}),
    ],
    ids=str,
)
def test_a_bad_credential_is_not_made_good_by_another_one(
    headers: dict[str, str] | None, query: dict[str, str] | None
) -> None:
    with pytest.raises(Unauthenticated):
        caller_of(Surfaces().callers, event(headers, query))


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (protocols("everturn", "everturn.bearer.x"), "everturn"),
        ({"sec-websocket-protocol": "everturn.bearer.x,everturn"}, "everturn"),
        (protocols("everturn"), "everturn"),
        (protocols("everturn.bearer.x"), None),
        (protocols("graphql-ws"), None),
        ({}, None),
    ],
    ids=str,
)
def test_our_subprotocol_is_chosen_where_it_is_offered_and_never_the_credential(
    offered: dict[str, str], chosen: str | None
) -> None:
    headers = {"headers": {"Sec-WebSocket-Protocol": chosen}} if chosen else {}

    assert answer_to(event(offered, None)) == {"statusCode": 200, **headers}


CALLERS = [
    Caller("acme"),
    Caller("acme", expires_epoch_s=7),
    Caller("acme", Who.FRONTEND, owner=Owner(id="u1"), scopes=("a", "b"), expires_epoch_s=7),
    Caller("acme", Who.FRONTEND, owner=Owner(id="ü", metadata={"k": "é"}), expires_epoch_s=7),
    NOBODY,
]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_a_caller_survives_the_authorizers_context(caller: Caller) -> None:
    fields = to_fields(caller)

    assert from_fields({"principalId": "x", "integrationLatency": 1, **fields}) == caller
    assert all(isinstance(value, str) for value in fields.values())


def test_only_a_key_without_end_is_its_tenant_alone() -> None:
    plain = [caller for caller in CALLERS if "tenant" in to_fields(caller)]

    assert plain == [Caller("acme")]
    assert to_fields(Caller("acme", key_name="main")) == {"tenant": "acme"}


def test_a_context_of_nobody_is_none() -> None:
    with pytest.raises(KeyError):
        from_fields({"principalId": "x"})


def test_a_context_fits_what_an_authorizer_may_answer() -> None:
    surfaces = Surfaces()
    identity = {"id": "u" * 200, "metadata": {'"' * 10: '"' * 900}}
    caller = surfaces.callers.by_credential(surfaces.token(identity=identity))

    import json  # noqa: PLC0415  # the one use

    assert len(json.dumps(to_fields(caller))) < 8 * 1024


def test_keys_of_two_tenants_are_not_each_other() -> None:
    callers = Surfaces().callers

    mine, rivals = callers.by_credential(API_KEY), callers.by_credential(RIVAL_KEY)

    assert mine.is_as(Caller(TENANT))
    assert not mine.is_as(rivals)
