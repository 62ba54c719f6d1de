"""What is said of a model in settings, in the shipped list and to readers; and a tenant's models.

It must not know where settings are kept.
"""

from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from everturn.protocol.limits import (
    MAX_ALIASES,
    MAX_LISTED_MODELS,
    MAX_MODEL_ID_CHARS,
    MAX_PROVIDERS,
)
from everturn.protocol.llm import ReasoningEffort
from everturn.protocol.providers import (
    ProviderId,
    ProviderKind,
    ProviderSettings,
    ShownName,
    problem_of_id,
)
from everturn.protocol.wire import Maybe, Seq, WireModel

Modality = Literal["text", "image", "file", "audio", "video"]
MODALITIES: Final[tuple[str, ...]] = get_args(Modality)

ModelId = Annotated[str, Field(pattern=rf"^[\x21-\x7e]{{1,{MAX_MODEL_ID_CHARS}}}$")]
"""As the provider writes it; it may hold colons and slashes."""

Selector = ModelId
"""`provider:model`, or a model of the default provider. Source: session-log O-7."""

Alias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Usd = Annotated[str, Field(pattern=r"^[0-9]{1,9}(\.[0-9]{1,12})?$")]
"""US dollars for a million tokens."""

TokenCount = Annotated[int, Field(ge=1, le=1_000_000_000)]


class Effort(WireModel):
    """One choice of how hard a model thinks."""

    id: ReasoningEffort
    name: Maybe[ShownName] = None
    description: Maybe[ShownName] = None


class Reasoning(WireModel):
    """The efforts that a model offers, in preferred order. Source: session-log MC-2, MC-3."""

    efforts: Annotated[Seq[Effort], Field(min_length=1, max_length=len(get_args(ReasoningEffort)))]
    default_effort: Maybe[ReasoningEffort] = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        ids = [one.id for one in self.efforts]
        if len(set(ids)) < len(ids):
            raise PydanticCustomError("reasoning", "an effort stands there twice")
        if self.default_effort is not None and self.default_effort not in ids:
            raise PydanticCustomError("reasoning", "default_effort is none of the efforts")
        return self


class Pricing(WireModel):
    """Dollars for a million tokens; cache prices that are absent are as input."""

    input_usd: Usd
    output_usd: Usd
    cache_read_usd: Maybe[Usd] = None
    cache_write_usd: Maybe[Usd] = None


class ModelLine(WireModel):
    """What is known of a model; what is absent is unknown, not forbidden. Source: MC-1, MC-2."""

    name: Maybe[ShownName] = None
    description: Maybe[ShownName] = None
    context_window_tokens: Maybe[TokenCount] = None
    """Input and output together."""

    default_max_tokens: Maybe[TokenCount] = None
    """Sent where an agent names no limit; absent: the provider's own."""

    max_output_tokens: Maybe[TokenCount] = None
    inputs: Maybe[Annotated[Seq[Modality], Field(max_length=len(MODALITIES))]] = None
    reasoning: Maybe[Reasoning] = None
    pricing: Maybe[Pricing] = None


class ModelEntry(ModelLine):
    """A model that a tenant's settings add, or put in the place of a listed one."""

    provider: ProviderId
    id: ModelId


class TenantModels(WireModel):
    """What a tenant's record, or the one of all tenants, says of providers and models."""

    providers: dict[ProviderId, ProviderSettings] = Field(
        default_factory=dict, max_length=MAX_PROVIDERS
    )
    models: Annotated[Seq[ModelEntry], Field(max_length=MAX_LISTED_MODELS)] = ()
    aliases: dict[Alias, Selector] = Field(default_factory=dict, max_length=MAX_ALIASES)
    """A name to the selector that it stands for, which is no alias."""

    default_provider: Maybe[ProviderId] = None
    """What a selector without a registered left side means."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        problem = _problem_of(self)
        if problem:
            raise PydanticCustomError("tenant_models", "{problem}", {"problem": problem})
        return self


class ModelView(ModelLine):
    """A model as `GET /v1/models` shows it."""

    id: str
    """What an agent names as its model: `provider:model`."""

    provider: ProviderId
    model: ModelId
    name: ShownName


class ProviderView(WireModel):
    """A provider as readers see it: no URL, no header, no place of a key."""

    id: ProviderId
    name: ShownName
    kind: ProviderKind
    configured: bool
    """A key is named, or none is needed."""


class ModelsView(WireModel):
    """What an agent of the tenant may name as its model."""

    models: Seq[ModelView]
    providers: Seq[ProviderView]
    aliases: dict[Alias, Selector]
    default_provider: ProviderId
    """What a selector without a registered left side means."""


TENANT_MODELS = TypeAdapter(TenantModels)
MODEL_ENTRY = TypeAdapter(ModelEntry)


def _problem_of(said: TenantModels) -> str | None:
    for provider, settings in said.providers.items():
        if problem := problem_of_id(provider, settings):
            return problem
    if any(one.provider == "demo" for one in said.models):
        return "the demo provider cannot be redefined"
    named = [(one.provider, one.id) for one in said.models]
    if len(set(named)) < len(named):
        return "a model stands there twice"
    chained = said.aliases.keys() & set(said.aliases.values())
    if chained:
        return f"an alias names a model, and no other alias as {min(chained)} is"
    return None
