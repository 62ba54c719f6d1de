"""Adapters of model providers, each made when a call first needs it; no call is made here.

Imports stand inside the functions: a Lambda pays at its cold start for what it uses, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from everturn.settings import local_variable, settings
from everturn.wiring.adapters import models, secret_places
from everturn.wiring.catalogues import models_of

if TYPE_CHECKING:
    from everturn.llm.models import Models
    from everturn.llm.providers.exchange import Exchange
    from everturn.llm.providers.http_model import Wire
    from everturn.ports.model import Model

OWN_KEYS: Final = {
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""Variables that hold a key on a laptop, where nobody named a place: the vendors' own names."""


@lru_cache(maxsize=1)
def model_calls() -> Models:
    """Return what prepares the model calls of all tenants."""
    from everturn.llm.models import Models

    return Models(models(), models_of, secret_places(), _own_key, ADAPTERS)


def has_own_key(kind: str) -> bool:
    """Return whether calls to a kind of provider need no settings here, as its key is at hand."""
    return bool(_own_key(kind))


def _own_key(kind: str) -> str:
    found = (local_variable(name) for name in OWN_KEYS.get(kind, ()))
    return next((key for key in found if key), "")


@lru_cache(maxsize=1)
def _exchange() -> Exchange:
    """Return the connections to all providers."""
    from everturn.llm.providers.exchange import Exchange
    from everturn.wiring.clients import tls

    return Exchange(settings().worker_networks, ssl_context=tls())


def _over_http(wire: Wire) -> Model:
    from everturn.llm.providers.http_model import HttpModel

    return HttpModel(_exchange(), wire)


def _openai() -> Model:
    from everturn.llm.providers.openai_responses import OpenAiResponsesWire

    return _over_http(OpenAiResponsesWire())


def _openai_chat() -> Model:
    from everturn.llm.providers.openai_chat import OpenAiChatWire

    return _over_http(OpenAiChatWire())


def _openai_compatible() -> Model:
    from everturn.llm.providers.openai_compatible import OpenAiCompatibleWire

    return _over_http(OpenAiCompatibleWire())


def _anthropic() -> Model:
    from everturn.llm.providers.anthropic import AnthropicWire

    return _over_http(AnthropicWire())


def _gemini() -> Model:
    from everturn.llm.providers.gemini import GeminiWire

    return _over_http(GeminiWire())


def _bedrock() -> Model:
    from everturn.llm.providers.bedrock import BedrockModel
    from everturn.wiring.clients import bedrock_client

    return BedrockModel(bedrock_client)


ADAPTERS: Final[Mapping[str, Callable[[], Model]]] = {
    "openai": _openai,
    "openai-chat": _openai_chat,
    "openai-compatible": _openai_compatible,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
}
"""What makes the adapter of each kind of provider."""
