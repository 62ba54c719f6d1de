"""What the OAuth routes are asked and answer, one model a body, for the published description.

It must not be read by a Lambda: forms are read by `oauth`, answers are built as they are.
"""

from typing import Literal

from pydantic import ConfigDict

from everturn.protocol.wire import Maybe, Seq, WireModel


class OAuthForm(WireModel):
    """What every form may have: who asks, unless HTTP Basic says it. Source: RFC 6749, 2.3.1."""

    model_config = ConfigDict(extra="allow")

    client_id: Maybe[str] = None
    """The tenant, or the name of the key."""

    client_secret: Maybe[str] = None
    """An API key."""


class OAuthTokenForm(OAuthForm):
    """Asks for tokens. Source: RFC 6749, 4.4.2, 6."""

    grant_type: Literal["client_credentials", "refresh_token"]
    refresh_token: Maybe[str] = None
    """With the grant type of its name."""

    scope: Maybe[str] = None
    """Scopes with spaces between them; all that can be had if left out."""


class OAuthRevocationForm(OAuthForm):
    """Takes a token back. Source: RFC 7009, 2.1."""

    token: str
    """An access token, or a refresh token with all that was made by it."""

    token_type_hint: Maybe[str] = None
    """Not needed: a token shows what it is."""


class OAuthTokens(WireModel):
    """An access token, and what renews it. Source: RFC 6749, section 5.1."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    """Seconds."""

    refresh_token: str
    """The same one for as long as it lives."""

    scope: str
    """The scopes of the access token, with spaces between them."""


class Workspace(WireModel):
    """A tenant as a client of the runs API names it."""

    id: str
    slug: str


class UserInfo(WireModel):
    """Whose the credential is, and what it allows."""

    sub: str
    """The owner of a token, the name of a key."""

    kind: Literal["client_token", "api_key"]
    workspace: Workspace
    scopes: Seq[str]
    scope: str
    """The same with spaces between them."""

    expires_at: Maybe[int] = None
    """Unix seconds; left out where it never does."""
