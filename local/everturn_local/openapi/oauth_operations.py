"""What the operations of OAuth take and give."""

from __future__ import annotations

from typing import Final

from everturn.protocol.oauth_views import (
    OAuthRevocationForm,
    OAuthTokenForm,
    OAuthTokens,
    UserInfo,
)
from everturn.protocol.views import Ok
from everturn.rejections import (
    InvalidClient,
    InvalidGrant,
    InvalidRequest,
    InvalidScope,
    UnsupportedGrantType,
    UnsupportedTokenType,
)
from everturn_local.openapi import examples
from everturn_local.openapi.shape import FORM, Answer, Spoken

OAUTH_OPERATIONS: Final[dict[str, Spoken]] = {
    "oauth_token": Spoken(
        "Get an access token",
        "For clients that speak OAuth 2.0: an API key is the client's secret, in the form or as "
        "HTTP Basic. A refresh token is taken from the client with the same key alone, and stays "
        "the same.",
        (Answer(200, "The tokens.", OAuthTokens, examples.OAUTH_TOKENS),),
        body=OAuthTokenForm,
        body_media=FORM,
        bodies=(
            ("a first token", {"grant_type": "client_credentials", **examples.OAUTH_CLIENT}),
            (
                "a fresh token",
                {
                    "grant_type": "refresh_token",
                    "refresh_token": "eyJ…",
                    **examples.OAUTH_CLIENT,
                },
            ),
        ),
        refusals=(InvalidRequest, InvalidClient, InvalidGrant, InvalidScope, UnsupportedGrantType),
    ),
    "oauth_revoke": Spoken(
        "Revoke a token",
        "An access token, or a refresh token with all access tokens that it was given for. It "
        "counts no more within a minute. A token that is not known is as good as revoked.",
        (Answer(200, "It counts no more.", Ok, {"ok": True}),),
        body=OAuthRevocationForm,
        body_media=FORM,
        bodies=(("a token", {"token": "eyJ…", **examples.OAUTH_CLIENT}),),
        refusals=(InvalidRequest, InvalidClient, UnsupportedTokenType),
    ),
    "get_userinfo": Spoken(
        "Ask whose a credential is",
        "The owner and the tenant behind a token or a key, and what it allows.",
        (Answer(200, "Whose it is.", UserInfo, examples.USER_INFO),),
    ),
}
