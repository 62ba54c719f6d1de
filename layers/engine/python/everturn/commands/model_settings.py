"""An operator's providers, models and aliases, of a tenant or of all; who may is AWS's affair.

No key passes through here: settings name its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from everturn.errors import StoreUnavailable
from everturn.llm.extended import FIELDS, read_tenant_models
from everturn.outbound.url_guard import Networks, UrlRefused, check_url
from everturn.ports.registry import EVERYBODY, Registry
from everturn.protocol.json_text import canonical
from everturn.protocol.limits import MAX_MODELS_BYTES
from everturn.protocol.models import MODEL_ENTRY, TENANT_MODELS, TenantModels
from everturn.protocol.providers import BUILT_IN, PROVIDER_SETTINGS, ProviderSettings
from everturn.protocol.wire import parse, to_json
from everturn.rejections import SchemaViolation, TooLarge, UnknownSetting, UnknownTenant

WRITE_ATTEMPTS: Final = 20
"""How often a record that somebody else keeps changing is read again."""

Said = dict[str, Any]
"""What a record says of models, as JSON."""


class ModelSettings:
    """The use cases behind `everturn providers` and `everturn models`."""

    def __init__(self, registry: Registry, networks: Networks) -> None:
        """Take the registry; `networks` is where the deployment's providers may be."""
        self._registry = registry
        self._networks = networks

    def of(self, tenant: str) -> TenantModels:
        """Return what the record of a tenant, or of all tenants, says. Raises `UnknownTenant`."""
        return read_tenant_models(self._record(tenant) or {})[0]

    def set_provider(self, tenant: str, provider: str, settings: Any) -> bool:
        """Write the settings of one provider; returns whether that changed anything.

        Raises `SchemaViolation`, `TooLarge`, `UnknownTenant`.
        """
        read = parse(PROVIDER_SETTINGS, settings)
        self._check_reach(read)
        return self._change(tenant, _entry("providers", provider, to_json(read)))

    def remove_provider(self, tenant: str, provider: str) -> None:
        """Take a provider's settings away. Raises `UnknownSetting`, `UnknownTenant`."""
        self._change(tenant, _no_entry("providers", provider))

    def set_model(self, tenant: str, entry: Any) -> bool:
        """List a model of a known provider, or change what is said of it. As `set_provider`."""
        model = to_json(parse(MODEL_ENTRY, entry))
        self._check_known(tenant, model["provider"])
        return self._change(
            tenant, lambda said: said | {"models": [*_other_models(said, model), model]}
        )

    def remove_model(self, tenant: str, provider: str, model: str) -> None:
        """Take a model off the record's list. Raises `UnknownSetting`, `UnknownTenant`."""

        def without(said: Said) -> Said:
            others = _other_models(said, {"provider": provider, "id": model})
            if len(others) == len(said.get("models", ())):
                raise _unknown("models", f"{provider}:{model}")
            return said | {"models": others}

        self._change(tenant, without)

    def set_alias(self, tenant: str, alias: str, selector: str) -> bool:
        """Let a name stand for a selector. As `set_provider`."""
        if selector in self.of(EVERYBODY).aliases:
            raise SchemaViolation(f"/aliases/{alias}: {selector} is an alias itself; name a model")
        return self._change(tenant, _entry("aliases", alias, selector))

    def remove_alias(self, tenant: str, alias: str) -> None:
        """Take a name away. Raises `UnknownSetting`, `UnknownTenant`."""
        self._change(tenant, _no_entry("aliases", alias))

    def set_default_provider(self, tenant: str, provider: str | None) -> bool:
        """Say which provider a selector without one means, `None` for the stack's."""
        if provider is not None and provider != "demo":
            self._check_known(tenant, provider)
        return self._change(tenant, lambda said: said | {"default_provider": provider})

    def _check_known(self, tenant: str, provider: str) -> None:
        known = {*BUILT_IN, *self.of(EVERYBODY).providers, *self.of(tenant).providers}
        if provider not in known:
            raise SchemaViolation(
                f"/provider: there is no provider {provider}", hint="everturn providers set"
            )

    def _check_reach(self, settings: ProviderSettings) -> None:
        """Refuse what a deployed engine would not call, or cannot read."""
        if settings.base_url is not None:
            checked = check_url(settings.base_url, self._networks)
            if isinstance(checked, UrlRefused):
                raise SchemaViolation(f"/base_url: {checked.reason}")
        if settings.api_key is not None and settings.api_key.env and self._networks == "public":
            raise SchemaViolation(
                "/api_key/env: variables are for the local runtime; "
                "a deployed engine reads Secrets Manager and Parameter Store"
            )

    def _record(self, tenant: str) -> Mapping[str, Any] | None:
        record = self._registry.tenant(tenant)
        if record is None and tenant != EVERYBODY:
            raise UnknownTenant(f"There is no tenant {tenant}.", hint="everturn tenants create")
        return record

    def _change(self, tenant: str, change: Callable[[Said], Said]) -> bool:
        """Write what `change` makes of what stands there, so that no other change gets lost."""
        for _ in range(WRITE_ATTEMPTS):
            before = self._record(tenant)
            kept = dict(before or {})
            said = change({name: kept[name] for name in FIELDS if name in kept})
            after = {name: value for name, value in kept.items() if name not in FIELDS}
            after |= _checked({name: value for name, value in said.items() if value})
            if after == kept:
                return False
            if self._registry.replace_tenant(tenant, before, after):
                return True
        raise StoreUnavailable("others write the same record", retry_after_s=1.0)


def _checked(said: Said) -> Said:
    """Return `said` if it can be stored. Raises `SchemaViolation`, `TooLarge`."""
    parse(TENANT_MODELS, said)
    size_bytes = len(canonical(said))
    if size_bytes > MAX_MODELS_BYTES:
        raise TooLarge(
            "The record says too much of models.",
            limit_bytes=MAX_MODELS_BYTES,
            size_bytes=size_bytes,
        )
    return said


def _entry(field: str, name: str, value: Any) -> Callable[[Said], Said]:
    return lambda said: said | {field: {**said.get(field, {}), name: value}}


def _no_entry(field: str, name: str) -> Callable[[Said], Said]:
    def without(said: Said) -> Said:
        held = said.get(field, {})
        if name not in held:
            raise _unknown(field, name)
        return said | {field: {key: held[key] for key in held if key != name}}

    return without


def _other_models(said: Said, model: Said) -> list[Said]:
    named = (model["provider"], model["id"])
    return [one for one in said.get("models", ()) if (one["provider"], one["id"]) != named]


def _unknown(field: str, name: str) -> UnknownSetting:
    return UnknownSetting(f"The record's {field} have no {name}.")
