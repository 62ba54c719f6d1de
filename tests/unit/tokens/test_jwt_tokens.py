"""A-2: a client token is a JWT of HS256, whole, ours, and not looked into before that is known."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jwt
import pytest

from everturn.ports.tokens import Grant
from everturn.protocol.limits import MAX_TOKEN_CHARS
from everturn.rejections import Unauthenticated
from everturn.session.events.sessions import Owner
from everturn.tokens.jwt_tokens import AUDIENCE, ISSUER, JwtTokens
from unit.tokens.fixed_keys import NEW, OLD, FixedKeys

ROOT = Path(__file__).parents[3]
GRANT = Grant("acme", Owner(id="u1", metadata={"plan": "free"}), ("sessions:read",), 1_000, 1_600)
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "aud": AUDIENCE,
    "sub": "u1",
    "tenant": "acme",
    "metadata": {"plan": "free"},
    "scope": "sessions:read",
    "iat": 1_000,
    "exp": 1_600,
}


def signed(
    claims: dict[str, Any] | None = None,
    *,
    key: str = NEW.secret,
    alg: str = "HS256",
    **header: Any,
) -> str:
    """Return a token of our claims and key, unless it is told otherwise."""
    payload = json.dumps(claims or CLAIMS).encode()
    return jwt.PyJWS().encode(payload, key, alg, headers={"kid": NEW.kid, **header})


def part(value: Any) -> str:
    """Return JSON as a part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_what_was_granted_is_read_again() -> None:
    tokens = JwtTokens(FixedKeys())

    token = tokens.sign(GRANT)

    assert tokens.read(token) == GRANT
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT", "kid": "new"}
    told = jwt.decode(token, options={"verify_signature": False})
    assert told == CLAIMS


def test_metadata_may_be_left_out_and_nothing_be_allowed() -> None:
    tokens = JwtTokens(FixedKeys())
    bare = Grant("acme", Owner(id="u1"), (), 1_000, 1_600)

    assert tokens.read(tokens.sign(bare)) == bare


def test_the_first_key_signs_and_tokens_of_the_one_before_are_taken() -> None:
    before, after = FixedKeys(OLD), FixedKeys(NEW, OLD)
    token = JwtTokens(before).sign(GRANT)

    fresh = JwtTokens(after).sign(GRANT)

    assert JwtTokens(after).read(token) == GRANT
    assert jwt.get_unverified_header(fresh)["kid"] == NEW.kid


def test_a_key_that_was_rotated_twice_is_of_no_use_any_more() -> None:
    token = JwtTokens(FixedKeys(OLD)).sign(GRANT)

    with pytest.raises(Unauthenticated):
        JwtTokens(FixedKeys(NEW)).read(token)


def test_a_token_of_one_key_under_the_name_of_another_is_none() -> None:
    token = signed(key=OLD.secret)

    with pytest.raises(Unauthenticated):
        JwtTokens(FixedKeys()).read(token)


class Unasked(FixedKeys):
    """Keys that nobody may ask for."""

    def named(self, kid: str) -> Any:
        raise AssertionError(f"{kid} was asked for, though the header says enough")


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none", "kid": "new"},
        {"alg": "None", "kid": "new"},
        {"alg": "hs256", "kid": "new"},
        {"alg": "HS384", "kid": "new"},
        {"alg": "HS512", "kid": "new"},
        {"alg": "RS256", "kid": "new"},
        {"alg": ["HS256"], "kid": "new"},
        {"kid": "new"},
        {"alg": "HS256"},
        {"alg": "HS256", "kid": 7},
        {"alg": "HS256", "kid": "new", "crit": ["exp"]},
        {"alg": "HS256", "kid": "new", "b64": False},
        {"alg": "HS256", "kid": "new", "jwk": {}},
        ["HS256"],
        "HS256",
    ],
    ids=json.dumps,
)
def test_another_algorithm_is_refused_before_anything_else_is_looked_at(header: Any) -> None:
    """Conformance 38: A-2."""
    token = f"{part(header)}.{'!' if header == 'HS256' else 'no-json'}.AAAA"

    with pytest.raises(Unauthenticated):
        JwtTokens(Unasked()).read(token)


@pytest.mark.parametrize("alg", ["HS384", "HS512"])
def test_a_right_signature_of_another_algorithm_is_refused_all_the_same(alg: str) -> None:
    with pytest.raises(Unauthenticated):
        JwtTokens(FixedKeys()).read(signed(key=NEW.secret * 2, alg=alg))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b",
        "a.b.c.d",
        "..",
        "a.b.c",
        "e30.e30.e30",
        f"{part({'alg': 'HS256', 'kid': 'new'})}=.e30.e30",
        f"{part({'alg': 'HS256', 'kid': 'new'})} .e30.e30",
        f"{part({'alg': 'HS256', 'kid': 'new'})}.e30.",
        f"{part({'alg': 'HS256', 'kid': 'new'})}.é.e30",
        f"{base64.urlsafe_b64encode(b'[' * 900).decode().rstrip('=')}.e30.e30",
        f"{base64.urlsafe_b64encode(b'{' + bytes([0xFF]) + b'}').decode().rstrip('=')}.e30.e30",
    ],
)
def test_what_has_not_the_form_of_a_token_is_none(token: str) -> None:
    with pytest.raises(Unauthenticated):
        JwtTokens(FixedKeys()).read(token)


def test_a_token_is_as_long_as_it_may_be_and_no_longer() -> None:
    room = MAX_TOKEN_CHARS - len(signed({**CLAIMS, "metadata": {"x": ""}}))
    whole = signed({**CLAIMS, "metadata": {"x": "y" * (room // 4 * 3)}})
    long = signed({**CLAIMS, "metadata": {"x": "y" * room}})
    tokens = JwtTokens(FixedKeys())

    assert MAX_TOKEN_CHARS - 4 <= len(whole) <= MAX_TOKEN_CHARS < len(long)
    assert tokens.read(whole).tenant == "acme"
    with pytest.raises(Unauthenticated):
        tokens.read(long)


@pytest.mark.parametrize("claim", ["exp", "iat", "iss", "aud", "sub", "tenant"])
def test_a_claim_that_has_to_be_there_is_there(claim: str) -> None:
    without = {name: value for name, value in CLAIMS.items() if name != claim}

    for claims in (without, {**CLAIMS, claim: None}):
        with pytest.raises(Unauthenticated):
            JwtTokens(FixedKeys()).read(signed(claims))


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "another"},
        {"iss": ["everturn"]},
        {"aud": "another"},
        {"aud": [AUDIENCE]},
        {"sub": "a b"},
        {"sub": "x" * 201},
        {"tenant": ""},
        {"tenant": 7},
        {"exp": "1600"},
        {"exp": 1600.5},
        {"iat": "1000"},
        {"nbf": "1000"},
        {"metadata": ["free"]},
        {"metadata": {"plan": 7}},
        {"scope": ["sessions:read"]},
    ],
    ids=json.dumps,
)
def test_a_claim_that_is_not_what_we_write_is_refused(wrong: dict[str, Any]) -> None:
    """Conformance 38: A-2."""
    with pytest.raises(Unauthenticated):
        JwtTokens(FixedKeys()).read(signed({**CLAIMS, **wrong}))


def test_a_token_holds_from_the_later_of_its_beginnings_on() -> None:
    grant = JwtTokens(FixedKeys()).read(signed({**CLAIMS, "nbf": 1_200}))

    assert grant.begins_epoch_s == 1_200


@pytest.mark.parametrize("at", range(0, 400, 7))
def test_no_character_of_a_token_can_be_another_one(at: int) -> None:
    tokens = JwtTokens(FixedKeys())
    token = tokens.sign(GRANT)
    at %= len(token) - 1  # the last one has bits that nobody reads
    other = "A" if token[at] != "A" else "B"

    with pytest.raises(Unauthenticated):
        tokens.read(token[:at] + other + token[at + 1 :])


def test_all_that_can_be_wrong_is_told_in_the_same_words() -> None:
    tokens = JwtTokens(FixedKeys())
    forged = [
        signed(key="x" * 40),
        signed(kid="nobody"),
        signed({**CLAIMS, "aud": "another"}),
        "eyJ.a.b",
    ]

    told = set()
    for token in forged:
        with pytest.raises(Unauthenticated) as refused:
            tokens.read(token)
        told.add((refused.value.message, refused.value.hint))

    assert len(told) == 1


def test_a_key_is_not_shown_by_accident() -> None:
    assert NEW.secret not in repr(NEW)


@pytest.mark.slow
def test_who_brings_a_key_does_not_wait_for_the_library_of_tokens() -> None:
    script = (
        "import sys\n"
        "from everturn.wiring import surfaces\n"
        "surfaces.http_api(), surfaces.reader_api(), surfaces.sockets()\n"
        "print('jwt' in sys.modules)\n"
    )
    names = {
        "EVERTURN_TABLE": "t",
        "EVERTURN_BUCKET": "b",
        "EVERTURN_S3_ENDPOINT": "https://s3.us-east-1.amazonaws.com",
        "EVERTURN_QUEUE_URL": "https://queue.example.com",
        "EVERTURN_WEBSOCKET_ENDPOINT": "https://socket.example.com",
        "AWS_DEFAULT_REGION": "us-east-1",
        "PYTHONPATH": str(ROOT / "layers/engine/python"),
    }

    ran = subprocess.run(  # noqa: S603  # our own interpreter on our own code
        [sys.executable, "-c", script],
        env=names,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ran.stdout, ran.returncode) == ("False\n", 0), ran.stderr
