"""What a deployment or a tenant says of a provider: kind, place of the key, URL, headers.

It must not hold a key, and must not judge where a URL leads: that takes the deployment's networks.
"""

import re
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from everturn.protocol.limits import (
    MAX_PROVIDER_HEADER_CHARS,
    MAX_PROVIDER_HEADERS,
    MAX_PROVIDER_NAME_CHARS,
)
from everturn.protocol.secret_place import SecretPlace, is_like_a_key
from everturn.protocol.wire import Maybe, WireModel

ProviderKind = Literal[
    "openai", "openai-chat", "anthropic", "gemini", "bedrock", "openai-compatible", "demo"
]
"""Which adapter talks to a provider."""

BUILT_IN: Final = ("openai", "openai-chat", "anthropic", "gemini", "bedrock")
"""Kinds that are routes of the same id without any settings. Source: docs/models.md."""

ProviderId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
ShownName = Annotated[str, Field(pattern=rf"^[^\x00-\x1f\x7f]{{1,{MAX_PROVIDER_NAME_CHARS}}}$")]
"""A name that people read."""

BaseUrl = Annotated[str, Field(max_length=2048, pattern=r"^https?://[^\s/?#@\\]+(?:/[^\s?#\\]*)?$")]
"""An http(s) URL without query, fragment and credentials; the adapter adds paths to it."""

Region = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]{1,12}){1,3}-[0-9]{1,2}$")]
HeaderValue = Annotated[str, Field(pattern=rf"^[\x20-\x7e]{{1,{MAX_PROVIDER_HEADER_CHARS}}}$")]

_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|credential|password|signature")
_OWN_NAME = re.compile(
    r"host|connection|te|trailer|transfer-encoding|upgrade|expect|accept(-encoding)?|content-.*"
)
"""Headers that belong to the connection or to the adapter."""


class ProviderSettings(WireModel):
    """How a provider is reached. The key is a reference; it is read when a call is made."""

    kind: ProviderKind
    name: Maybe[ShownName] = None
    base_url: Maybe[BaseUrl] = None
    """Absent: the vendor's own address."""

    api_key: Maybe[SecretPlace] = None
    region: Maybe[Region] = None
    """Of Bedrock; absent: the region that the engine runs in."""

    headers: Maybe[Annotated[dict[str, HeaderValue], Field(max_length=MAX_PROVIDER_HEADERS)]] = None
    """Sent with each request as they are: no place for a secret."""

    @property
    def is_configured(self) -> bool:
        """Whether calls can be made: a key is named, or none is needed."""
        return self.api_key is not None or self.kind in ("bedrock", "openai-compatible", "demo")

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        problem = _problem_of_kind(self) or _problem_of_headers(self.headers or {})
        if problem:
            raise PydanticCustomError("provider_settings", "{problem}", {"problem": problem})
        return self


PROVIDER_SETTINGS = TypeAdapter(ProviderSettings)


def _problem_of_kind(settings: ProviderSettings) -> str | None:
    kind = settings.kind
    if kind == "openai-compatible" and settings.base_url is None:
        return "openai-compatible needs base_url"
    if settings.region is not None and kind != "bedrock":
        return "region is for bedrock"
    if kind in ("bedrock", "demo"):
        for name in ("base_url", "api_key", "headers"):
            if getattr(settings, name) is not None:
                return f"{kind} takes no {name}"
    return None


def _problem_of_headers(headers: dict[str, str]) -> str | None:
    lowered = [name.lower() for name in headers]
    if len(set(lowered)) < len(lowered):
        return "a header stands there twice"
    for name, value in zip(lowered, headers.values(), strict=True):
        if not _HEADER_NAME.fullmatch(name):
            return "headers: a name is 1 to 64 letters, digits and hyphens"
        if _SECRET_NAME.search(name) or is_like_a_key(value):
            return f"headers: {name} looks like a secret; name its place as api_key"
        if _OWN_NAME.fullmatch(name):
            return f"headers: {name} is set by the engine"
    return None


def problem_of_id(provider: str, settings: ProviderSettings) -> str | None:
    """Return why a provider of that id cannot have those settings, `None` where it can."""
    if provider == "demo" or settings.kind == "demo":
        return "the demo provider cannot be redefined"
    if provider in get_args(ProviderKind) and settings.kind != provider:
        return f"the provider {provider} is of kind {provider}; take another id"
    return None
