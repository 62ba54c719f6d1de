"""What is known of providers and models: routes, facts, prices, selectors; values, no client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from everturn.errors import RejectedError
from everturn.protocol.llm import Usage
from everturn.protocol.providers import ProviderSettings

MILLION: Final = 1_000_000


class UnsupportedEffort(RejectedError, code="unsupported_effort"):
    """The route does not offer the reasoning effort asked for. Source: session-log MC-3."""


@dataclass(frozen=True, slots=True)
class ReasoningEffort:
    """One choice of how hard a model thinks."""

    id: str
    name: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; None where the price is not known."""

    input_usd: Decimal
    output_usd: Decimal
    cache_read_usd: Decimal | None = None
    """Cache reads; None: as input."""

    cache_write_usd: Decimal | None = None
    """Cache writes; None: as input."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model of one route; what is None is unknown, not forbidden. Source: MC-1, MC-2."""

    provider: str
    id: str
    name: str
    description: str | None = None
    context_window_tokens: int | None = None
    """Input and output together."""

    default_max_tokens: int | None = None
    """Sent where nobody names a limit; None: the provider has its own."""

    max_output_tokens: int | None = None
    inputs: tuple[str, ...] = ()
    """Among text, image, file, audio, video; empty: unknown."""

    efforts: tuple[ReasoningEffort, ...] = ()
    """In preferred order; empty: unknown."""

    default_effort: str | None = None
    prices: Prices | None = None


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A route and the model id to send along it."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Route:
    """A provider that can be called, and the models it is known to have. Source: MC-1."""

    id: str
    name: str
    models: tuple[ModelFacts, ...] = ()
    settings: ProviderSettings | None = None
    """Kind, key's place, URL and headers; None where an adapter needs none, as the demo's."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What a call is sent with, and which of it the route supplied. Source: RH-4, MC-3."""

    max_tokens: int | None
    effort: str | None
    adapter_defaults: tuple[str, ...]
    """Names among `max_tokens`, `reasoning_effort`."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All registered routes at one moment; advisory on models, strict on routes."""

    routes: tuple[Route, ...] = ()
    """In order of registration, each id once."""

    default_provider: str = "demo"
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names, without a colon, to the selectors that they stand for."""

    more: Callable[[], Catalogue] | None = None
    """Returns the whole, of which `routes` is what is certain without it; asked when needed."""

    def whole(self) -> Catalogue:
        """Return the catalogue with all that there is."""
        return self if self.more is None else self.more()

    def split(self, selector: str) -> ModelRef:
        """Return the route and model that `selector` names.

        An alias stands for its selector, once. `provider:model` only where the left side is a
        registered route, else the default provider and the whole string.
        Source: vocabulary, "Ids and fixed words".
        """
        own = self._registered(selector)
        if own is not None:
            return own
        if self.more is not None:
            return self.more().split(selector)
        meant = self.aliases.get(selector, selector)
        return self._registered(meant) or ModelRef(self.default_provider, meant)

    def _registered(self, selector: str) -> ModelRef | None:
        """Return what `selector` names if its left side is one of the routes."""
        provider, _, model = selector.partition(":")
        return ModelRef(provider, model) if model and self._own(provider) else None

    def route(self, provider: str) -> Route | None:
        """Return the route of a provider, None if it is not registered."""
        own = self._own(provider)
        return self.more().route(provider) if own is None and self.more is not None else own

    def _own(self, provider: str) -> Route | None:
        return next((route for route in self.routes if route.id == provider), None)

    def models(self) -> tuple[ModelFacts, ...]:
        """Return every listed model, route by route."""
        return tuple(facts for route in self.whole().routes for facts in route.models)

    def facts(self, ref: ModelRef) -> ModelFacts:
        """Return what is known of `ref`; an unlisted model is known by its name alone."""
        route = self.route(ref.provider)
        listed = route.models if route else ()
        known = (facts for facts in listed if facts.id == ref.model)
        return next(known, ModelFacts(ref.provider, ref.model, ref.model))


CatalogueOf = Callable[[str], Catalogue]
"""Tenant to its catalogue, which may be a minute old; what it reads, it reads when asked."""


def settle(facts: ModelFacts, *, max_tokens: int | None, effort: str | None) -> Settled:
    """Return the two scalars of a call with the route's defaults filled in and named.

    Raises `UnsupportedEffort` for an effort that the route is known not to offer; nothing is
    clamped. Source: session-log MC-3.
    """
    offered = [choice.id for choice in facts.efforts]
    if effort is not None and offered and effort not in offered:
        raise UnsupportedEffort(
            f"{facts.provider}:{facts.id} offers no effort {effort}; it has {', '.join(offered)}"
        )
    filled = []
    if max_tokens is None and facts.default_max_tokens is not None:
        max_tokens = facts.default_max_tokens
        filled.append("max_tokens")
    if effort is None and facts.default_effort is not None:
        effort = facts.default_effort
        filled.append("reasoning_effort")
    return Settled(max_tokens, effort, tuple(filled))


def cost_usd(usage: Usage, prices: Prices) -> str:
    """Return the price of `usage` in dollars as a plain decimal string. Source: Y-1."""
    cache_read = prices.input_usd if prices.cache_read_usd is None else prices.cache_read_usd
    cache_write = prices.input_usd if prices.cache_write_usd is None else prices.cache_write_usd
    total = (
        usage.input_tokens * prices.input_usd
        + usage.output_tokens * prices.output_usd
        + (usage.cache_read_tokens or 0) * cache_read
        + (usage.cache_write_tokens or 0) * cache_write
    ) / MILLION
    return to_plain(total)


def to_plain(amount: Decimal) -> str:
    """Return `amount` without exponent and without trailing zeros: `0.0004`, `12`, `0`."""
    text = format(amount, "f")
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text
