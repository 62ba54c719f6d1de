"""Gives tokens to a client that shows an API key, renews them, and takes them back.

A refresh token is of use beside its own key alone and stays the same for as long as it lives.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from everturn.ports.clock import Clock
from everturn.ports.directory import ApiKey, Directory
from everturn.ports.revocations import Revocations
from everturn.ports.tokens import Grant, Renewal, Tokens
from everturn.protocol.api_keys import MAX_KEY_CHARS, hash_of, mark_of
from everturn.protocol.limits import ACCESS_TOKEN_TTL_S, REFRESH_TOKEN_TTL_S, TOKEN_LEEWAY_S
from everturn.protocol.oauth import ClientProof, Form, wanted_scopes
from everturn.rejections import (
    InvalidClient,
    InvalidGrant,
    InvalidRequest,
    Unauthenticated,
    UnsupportedGrantType,
    UnsupportedTokenType,
)
from everturn.session.events.sessions import DEFAULT_OWNER
from everturn.session.facts import Stamp


class OAuth:
    """The use cases behind `/api/oauth/token` and `/api/oauth/revoke`. Source: docs/adr/0042."""

    def __init__(
        self,
        directory: Directory,
        revocations: Revocations,
        tokens: Callable[[], Tokens],
        clock: Clock,
    ) -> None:
        self._directory = directory
        self._revocations = revocations
        self._tokens = tokens
        self._clock = clock

    def token(self, proof: ClientProof, form: Form) -> dict[str, Any]:
        """Return `{access_token, token_type, expires_in, refresh_token, scope}`.

        Raises `InvalidClient`, `InvalidRequest`, `UnsupportedGrantType`, `InvalidGrant`,
        `InvalidScope`, or `TransientError` where table or key cannot be had.
        """
        stamp = Stamp(self._clock.now_ms(), self._clock.entropy())
        key = self._client(proof, stamp.now_ms)
        match form.get("grant_type"):
            case "client_credentials":
                return self._granted(key, form, stamp)
            case "refresh_token":
                return self._renewed(key, form, stamp)
            case None:
                raise InvalidRequest("grant_type is missing.")
            case _:
                raise UnsupportedGrantType("grant_type: client_credentials or refresh_token.")

    def revoke(self, proof: ClientProof, form: Form) -> None:
        """Let a token count no more; one that is not known, or another tenant's, is left alone.

        A refresh token takes all access tokens of its grant along. Raises `InvalidClient`,
        `InvalidRequest`, `UnsupportedTokenType`, `TransientError`. Source: RFC 7009.
        """
        key = self._client(proof, self._clock.now_ms())
        if "token" not in form:
            raise InvalidRequest("token is missing.")
        if (renewal := self._renewal_in(form["token"])) is not None:
            if renewal.tenant == key.tenant:
                until = renewal.expires_epoch_s + ACCESS_TOKEN_TTL_S + TOKEN_LEEWAY_S
                self._revocations.revoke(renewal.grant_id, until)
            return
        grant = self._grant_in(form["token"])
        if grant is None or grant.tenant != key.tenant:
            return
        if not grant.token_id:
            raise UnsupportedTokenType("A token of /v1/client-tokens holds until it expires.")
        self._revocations.revoke(grant.token_id, grant.expires_epoch_s + TOKEN_LEEWAY_S)

    def _client(self, proof: ClientProof, now_ms: int) -> ApiKey:
        """Return the key that a client shows. Raises `InvalidClient`, in the same words always."""
        sha256 = hash_of(proof.secret)
        found = None
        if len(proof.secret) <= MAX_KEY_CHARS:
            found = self._directory.api_key(sha256)
        key = found or ApiKey("", "")
        is_known = hmac.compare_digest(key.sha256, sha256)
        names = [_same(proof.client_id, name) for name in (key.tenant, key.name)]
        if not (is_known and any(names) and _left_s(key, now_ms) > 0):
            raise InvalidClient("The client is not known, or its secret is another one.")
        return key

    def _granted(self, key: ApiKey, form: Form, stamp: Stamp) -> dict[str, Any]:
        scopes = wanted_scopes(form)
        begins = stamp.now_ms // 1000
        renewal = Renewal(
            tenant=key.tenant,
            grant_id=stamp.uuid(0),
            key_mark=mark_of(key.sha256),
            scopes=scopes,
            begins_epoch_s=begins,
            expires_epoch_s=begins + min(REFRESH_TOKEN_TTL_S, _left_s(key, stamp.now_ms)),
        )
        return self._access(key, renewal, scopes, stamp, self._tokens().sign_renewal(renewal))

    def _renewed(self, key: ApiKey, form: Form, stamp: Stamp) -> dict[str, Any]:
        if "refresh_token" not in form:
            raise InvalidRequest("refresh_token is missing.")
        token = form["refresh_token"]
        renewal = self._renewal_in(token)
        if (
            renewal is None
            or not _same(renewal.key_mark, mark_of(key.sha256))
            or renewal.tenant != key.tenant
            or renewal.expires_epoch_s * 1000 <= stamp.now_ms
            or self._revocations.is_revoked(renewal.grant_id)
        ):
            raise InvalidGrant("The refresh token is not valid for this client, or not any more.")
        return self._access(key, renewal, wanted_scopes(form, renewal.scopes), stamp, token)

    def _access(
        self, key: ApiKey, renewal: Renewal, scopes: tuple[str, ...], stamp: Stamp, refresh: str
    ) -> dict[str, Any]:
        begins = stamp.now_ms // 1000
        life_s = min(ACCESS_TOKEN_TTL_S, _left_s(key, stamp.now_ms))
        grant = Grant(
            tenant=key.tenant,
            owner=DEFAULT_OWNER,
            scopes=scopes,
            begins_epoch_s=begins,
            expires_epoch_s=begins + life_s,
            token_id=stamp.uuid(1),
            grant_id=renewal.grant_id,
        )
        return {
            "access_token": self._tokens().sign(grant),
            "token_type": "Bearer",
            "expires_in": life_s,
            "refresh_token": refresh,
            "scope": " ".join(scopes),
        }

    def _renewal_in(self, token: str) -> Renewal | None:
        try:
            return self._tokens().read_renewal(token)
        except Unauthenticated:
            return None

    def _grant_in(self, token: str) -> Grant | None:
        try:
            return self._tokens().read(token)
        except Unauthenticated:
            return None


def _left_s(key: ApiKey, now_ms: int) -> int:
    """Return how long a key lives on; of one without an end, as long as any token of it."""
    if key.expires_ms is None:
        return REFRESH_TOKEN_TTL_S
    return key.expires_ms // 1000 - now_ms // 1000


def _same(one: str, other: str) -> bool:
    """Return whether two texts are the same, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())
