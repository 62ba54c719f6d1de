"""Refresh tokens and tokens with an id: read as they were signed, and never one for the other."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from everturn.ports.tokens import Renewal
from everturn.protocol.client_token import SCOPES
from everturn.protocol.limits import MAX_TOKEN_CHARS
from everturn.rejections import Unauthenticated
from everturn.tokens.jwt_tokens import AUDIENCE, ISSUER, RENEWAL_AUDIENCE, JwtTokens
from unit.tokens.fixed_keys import NEW, OLD, FixedKeys
from unit.tokens.test_jwt_tokens import CLAIMS, GRANT, signed

RENEWAL = Renewal("acme", "g1", "f0" * 32, ("runs:read", "runs:write"), 1_000, 2_000)
RENEWAL_CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "aud": RENEWAL_AUDIENCE,
    "tenant": "acme",
    "gid": "g1",
    "key": "f0" * 32,
    "scope": "runs:read runs:write",
    "iat": 1_000,
    "exp": 2_000,
}
NAMED = replace(GRANT, token_id="t1", grant_id="g1")  # an id


def test_a_grant_with_an_id_is_read_again() -> None:
    tokens = JwtTokens(FixedKeys())

    assert tokens.read(tokens.sign(NAMED)) == NAMED
    assert tokens.read(signed({**CLAIMS, "jti": "t1", "gid": "g1"})) == NAMED


def test_a_refresh_token_is_read_again() -> None:
    tokens = JwtTokens(FixedKeys())

    assert tokens.read_renewal(tokens.sign_renewal(RENEWAL)) == RENEWAL
    assert tokens.read_renewal(signed(RENEWAL_CLAIMS)) == RENEWAL


def test_neither_token_passes_for_the_other() -> None:
    tokens = JwtTokens(FixedKeys())

    with pytest.raises(Unauthenticated):
        tokens.read(tokens.sign_renewal(RENEWAL))
    with pytest.raises(Unauthenticated):
        tokens.read_renewal(tokens.sign(NAMED))


def test_not_even_all_claims_of_the_other_make_it_one() -> None:
    tokens, claims = JwtTokens(FixedKeys()), RENEWAL_CLAIMS | CLAIMS

    with pytest.raises(Unauthenticated):
        tokens.read(signed({**claims, "aud": RENEWAL_AUDIENCE}))
    with pytest.raises(Unauthenticated):
        tokens.read_renewal(signed({**claims, "aud": AUDIENCE}))
    with pytest.raises(Unauthenticated):
        tokens.read(signed({**claims, "aud": [AUDIENCE, RENEWAL_AUDIENCE]}))


@pytest.mark.parametrize("wrong", [{"jti": 7}, {"jti": None}, {"gid": ["g1"]}], ids=json.dumps)
def test_an_id_that_is_none_makes_no_token(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        JwtTokens(FixedKeys()).read(signed({**CLAIMS, **wrong}))


@pytest.mark.parametrize("claim", sorted(RENEWAL_CLAIMS))
def test_a_claim_of_a_refresh_token_is_there_and_of_its_kind(claim: str) -> None:
    without = {name: value for name, value in RENEWAL_CLAIMS.items() if name != claim}

    for claims in (without, {**RENEWAL_CLAIMS, claim: None}, {**RENEWAL_CLAIMS, claim: [1]}):
        with pytest.raises(Unauthenticated):
            JwtTokens(FixedKeys()).read_renewal(signed(claims))


def test_refresh_tokens_of_the_key_before_are_taken_and_no_older_ones() -> None:
    token = JwtTokens(FixedKeys(OLD)).sign_renewal(RENEWAL)

    assert JwtTokens(FixedKeys(NEW, OLD)).read_renewal(token) == RENEWAL
    with pytest.raises(Unauthenticated):
        JwtTokens(FixedKeys(NEW)).read_renewal(token)


def test_the_largest_refresh_token_fits() -> None:
    largest = replace(RENEWAL, tenant="t" * 200, grant_id="g" * 36, scopes=SCOPES)

    assert len(JwtTokens(FixedKeys()).sign_renewal(largest)) < MAX_TOKEN_CHARS // 2
