"""`Tokens` as JWTs, HS256 and nothing else; it knows no clock and no secret's place."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

import jwt

from everturn.errors import RejectedError
from everturn.ports.tokens import Grant, Renewal, TokenKeys
from everturn.protocol.ids import is_id
from everturn.protocol.json_text import read_json
from everturn.protocol.limits import MAX_TOKEN_CHARS
from everturn.rejections import Unauthenticated
from everturn.session.events.sessions import Owner

ALGORITHM: Final = "HS256"
ISSUER: Final = "everturn"
AUDIENCE: Final = "everturn/v1"
RENEWAL_AUDIENCE: Final = "everturn/oauth"
"""Whom refresh tokens are for; by it alone none of them passes for a client token."""

_FORM: Final = re.compile(r"([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_HEADER: Final = frozenset({"alg", "typ", "kid"})
_CLAIMS: Final = ["exp", "iat", "iss", "aud", "sub", "tenant"]
_RENEWAL_CLAIMS: Final = ["exp", "iat", "iss", "aud", "tenant", "gid", "key", "scope"]


class JwtTokens:
    """`Tokens`; PyJWT signs and compares, in constant time."""

    def __init__(self, keys: TokenKeys) -> None:
        self._keys = keys

    def sign(self, grant: Grant) -> str:
        """Return the token, signed with the current key."""
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": grant.owner.id,
            "tenant": grant.tenant,
            "metadata": grant.owner.metadata,
            "scope": " ".join(grant.scopes),
            "iat": grant.begins_epoch_s,
            "exp": grant.expires_epoch_s,
            "jti": grant.token_id or None,
            "gid": grant.grant_id or None,
        }
        return self._signed({name: value for name, value in claims.items() if value is not None})

    def read(self, token: str) -> Grant:
        """Return what a token says; its header is judged before anything else of it is read."""
        return _grant_of(self._claims(token, AUDIENCE, _CLAIMS))

    def sign_renewal(self, renewal: Renewal) -> str:
        """Return the refresh token, signed with the current key."""
        return self._signed(
            {
                "iss": ISSUER,
                "aud": RENEWAL_AUDIENCE,
                "tenant": renewal.tenant,
                "gid": renewal.grant_id,
                "key": renewal.key_mark,
                "scope": " ".join(renewal.scopes),
                "iat": renewal.begins_epoch_s,
                "exp": renewal.expires_epoch_s,
            }
        )

    def read_renewal(self, token: str) -> Renewal:
        """Return what a refresh token says, judged as any other."""
        match self._claims(token, RENEWAL_AUDIENCE, _RENEWAL_CLAIMS):
            case {
                "tenant": str(tenant),
                "gid": str(grant_id),
                "key": str(mark),
                "scope": str(scope),
                "iat": int(iat),
                "exp": int(exp),
            }:
                return Renewal(tenant, grant_id, mark, tuple(scope.split()), iat, exp)
            case _:
                raise _refused()

    def _signed(self, claims: Mapping[str, Any]) -> str:
        key = self._keys.current()
        return jwt.encode(dict(claims), key.secret, ALGORITHM, headers={"kid": key.kid})

    def _claims(self, token: str, audience: str, needed: list[str]) -> dict[str, Any]:
        """Return the claims of a token of ours that is meant for an audience."""
        key = self._keys.named(_kid_of(token))
        if key is None:
            raise _refused()
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.secret,
                [ALGORITHM],
                audience=audience,
                issuer=ISSUER,
                options={
                    "require": needed,
                    "strict_aud": True,
                    "verify_exp": False,  # times are the caller's: theirs is the clock
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except jwt.InvalidTokenError:
            raise _refused() from None
        return claims


def _kid_of(token: str) -> str:
    """Return the name of the key that a token wants to be checked with. Source: RFC 7515."""
    form = _FORM.fullmatch(token) if len(token) <= MAX_TOKEN_CHARS else None
    if form is None:
        raise _refused()
    try:
        header = read_json(base64.urlsafe_b64decode(form[1] + "=" * (-len(form[1]) % 4)))
    except (ValueError, RejectedError):
        raise _refused() from None
    match header:
        case {"alg": "HS256", "kid": str(kid)} if header.keys() <= _HEADER:
            return kid
        case _:
            raise _refused()


def _grant_of(claims: Mapping[str, Any]) -> Grant:
    match claims:
        case {"tenant": str(tenant), "sub": str(sub), "iat": int(iat), "exp": int(exp)}:
            not_before = claims.get("nbf", iat)
            metadata, scope = claims.get("metadata"), claims.get("scope", "")
            token_id, grant_id = claims.get("jti", ""), claims.get("gid", "")
        case _:
            raise _refused()
    if not (tenant and is_id(sub) and isinstance(not_before, int) and isinstance(scope, str)):
        raise _refused()
    if metadata is not None and not _is_string_map(metadata):
        raise _refused()
    if not (isinstance(token_id, str) and isinstance(grant_id, str)):
        raise _refused()
    owner = Owner(id=sub, metadata=metadata)
    begins = max(iat, not_before)
    return Grant(tenant, owner, tuple(scope.split()), begins, exp, token_id, grant_id)


def _is_string_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _refused() -> Unauthenticated:
    """Return one answer for all that can be wrong: nobody learns how far a forgery got."""
    return Unauthenticated("The client token is not valid.", hint="Ask for a fresh one.")
