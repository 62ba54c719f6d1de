"""Requests of the OAuth routes: a form and perhaps a header, read as RFC 6749 has them.

It must not know a key or a token, nor whether one is good.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote_plus

from everturn.protocol.client_token import SCOPES
from everturn.rejections import InvalidClient, InvalidRequest, InvalidScope

FORM: Final = "application/x-www-form-urlencoded"
MAX_FORM_FIELDS: Final = 20

Form = Mapping[str, str]
"""Each parameter once; one without a value is not there. Source: RFC 6749, 3.2."""


@dataclass(frozen=True, slots=True)
class ClientProof:
    """Who asks for tokens: a name, and the API key as the secret."""

    client_id: str
    secret: str = field(repr=False)


def read_form(content_type: str, body: bytes) -> Form:
    """Return the parameters of a body. Raises `InvalidRequest`."""
    if content_type.partition(";")[0].strip().lower() != FORM:
        raise InvalidRequest(f"The body has to be {FORM}.")
    try:
        text = body.decode()
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FORM_FIELDS
        )
    except ValueError:
        raise InvalidRequest("The body is no form that can be read.") from None
    form = dict(pairs)
    if len(form) < len(pairs):
        raise InvalidRequest("A parameter stands there twice.")
    return {name: value for name, value in form.items() if value}


def read_proof(authorization: str | None, form: Form) -> ClientProof:
    """Return who asks, from the form or the header, never from both.

    Raises `InvalidClient` where neither says it, `InvalidRequest`. Source: RFC 6749, 2.3.1.
    """
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        if "client_id" not in form or "client_secret" not in form:
            raise InvalidClient("The client has to send its client_id and client_secret.")
        return ClientProof(form["client_id"], form["client_secret"])
    if "client_secret" in form:
        raise InvalidRequest("The client's secret stands in the header and in the body.")
    proof = _read_basic(encoded.strip())
    if form.get("client_id", proof.client_id) != proof.client_id:
        raise InvalidRequest("The body names another client than the header.")
    return proof


def _read_basic(encoded: str) -> ClientProof:
    try:
        text = base64.b64decode(encoded, validate=True).decode()
        name, colon, secret = text.partition(":")
        proof = ClientProof(*(unquote_plus(one, errors="strict") for one in (name, secret)))
    except (binascii.Error, ValueError):
        raise InvalidClient("The header of HTTP Basic cannot be read.") from None
    if not (colon and proof.client_id and proof.secret):
        raise InvalidClient("The header of HTTP Basic names no client and its secret.")
    return proof


def wanted_scopes(form: Form, granted: tuple[str, ...] = SCOPES) -> tuple[str, ...]:
    """Return the scopes that a form asks for, in the order of `granted`; all of those if none.

    Raises `InvalidScope` for one that is not among them. Source: RFC 6749, 3.3, 6.
    """
    if "scope" not in form:
        return granted
    wanted = set(form["scope"].split())
    if not wanted or not wanted <= set(granted):
        raise InvalidScope(
            "A scope is not known, or is more than was granted.", hint=" ".join(granted)
        )
    return tuple(one for one in granted if one in wanted)
