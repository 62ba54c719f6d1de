"""The request for a client token, and what a token may be allowed.

It must not know how a token is made or checked.
"""

import json
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, TypeAdapter

from everturn.protocol.client_input import InputIdentity
from everturn.protocol.limits import (
    DEFAULT_TOKEN_TTL_S,
    MAX_TOKEN_METADATA_BYTES,
    MAX_TOKEN_TTL_S,
)
from everturn.protocol.wire import Json, Maybe, Seq, WireModel, parse
from everturn.rejections import SchemaViolation

Scope = Literal[
    "sessions:read",
    "sessions:write",
    "models:read",
    "runs:read",
    "runs:write",
    "feedback:write",
    "mantyx.identity:read",
]
"""What a frontend can be allowed. Source: agent-runs.md, "Transport"."""

SCOPES: Final[tuple[str, ...]] = get_args(Scope)

BY_DEFAULT: Final = frozenset({"sessions:read", "sessions:write", "models:read"})
"""What a token may do where nothing is said.

Who starts runs chooses instructions, tools and models: that is granted by name.
"""


class ClientTokenRequest(WireModel):
    """Body of `POST /v1/client-tokens`. Source: decision-protocol A-3."""

    identity: InputIdentity
    """The owner whom the token speaks for."""

    ttl_seconds: Maybe[Annotated[int, Field(ge=1, le=MAX_TOKEN_TTL_S)]] = None
    scopes: Maybe[Annotated[Seq[Scope], Field(min_length=1)]] = None
    """Those of sessions and models where none are named."""

    @property
    def ttl_s(self) -> int:
        """How long the token is to live."""
        return self.ttl_seconds or DEFAULT_TOKEN_TTL_S

    @property
    def granted(self) -> tuple[str, ...]:
        """The scopes, each once, in the order of `SCOPES`."""
        wanted = BY_DEFAULT if self.scopes is None else self.scopes
        return tuple(one for one in SCOPES if one in wanted)


TOKEN_REQUEST = TypeAdapter(ClientTokenRequest)


def read_token_request(data: Json) -> ClientTokenRequest:
    """Return the request that `data` is. Raises `SchemaViolation`, `InvalidId`."""
    request = parse(TOKEN_REQUEST, data)
    metadata = request.identity.metadata or {}
    size_bytes = len(json.dumps(metadata, separators=(",", ":")))
    if size_bytes > MAX_TOKEN_METADATA_BYTES:
        raise SchemaViolation(
            f"/identity/metadata: has {size_bytes} bytes as escaped JSON; "
            f"a token holds {MAX_TOKEN_METADATA_BYTES}"
        )
    return request
