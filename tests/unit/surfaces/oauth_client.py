"""A client that speaks OAuth 2.0 to the surfaces in memory."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote_plus, urlencode

from everturn.protocol.oauth import FORM
from unit.drive.world import TENANT
from unit.surfaces.asking import API_KEY, Surfaces

TOKEN = "/api/oauth/token"  # a path
REVOKE = "/api/oauth/revoke"
USERINFO = "/api/oauth/userinfo"

Told = dict[str, Any]


def basic(name: str, secret: str) -> str:
    """Return the header of HTTP Basic as RFC 6749, 2.3.1 has it."""
    return "Basic " + base64.b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode()).decode()


class OAuthClient:
    """One client: its id, and an API key."""

    def __init__(self, surfaces: Surfaces, client_id: str = TENANT, secret: str = API_KEY) -> None:
        self.surfaces = surfaces
        self.proof = {"client_id": client_id, "client_secret": secret}

    def post(
        self, path: str, body: str | None, media: str = FORM, **headers: str
    ) -> tuple[int, Told, dict[str, str]]:
        """Post a body as it is."""
        about = {"content-type": media, **headers}
        return self.surfaces.http("POST", path, body, key=None, headers=about)

    def ask(self, **form: str) -> tuple[int, Told, dict[str, str]]:
        """Ask for tokens with whatever is given."""
        return self.post(TOKEN, urlencode({**self.proof, **form}))

    def granted(self, **form: str) -> Told:
        """Return the answer to a grant of client credentials."""
        status, told, _ = self.ask(grant_type="client_credentials", **form)
        assert status == 200, told
        return told

    def refresh(self, token: str, **form: str) -> tuple[int, Told]:
        """Ask for a fresh access token."""
        return self.ask(grant_type="refresh_token", refresh_token=token, **form)[:2]

    def revoke(self, token: str, **form: str) -> tuple[int, Told]:
        """Revoke a token."""
        return self.post(REVOKE, urlencode({**self.proof, "token": token, **form}))[:2]

    def knock(self, token: str) -> int:
        """Return how a token is answered on a route."""
        return self.surfaces.http("GET", "/v1/models", key=token)[0]
