"""An operator's tenants and keys: made, listed, revoked; who may do so is AWS's affair."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from everturn.ports.clock import Clock
from everturn.ports.registry import KeyEntry, Registry
from everturn.protocol.api_keys import KEY_BYTES, LAST_CHARS, hash_of, key_of
from everturn.protocol.ids import check_id
from everturn.rejections import SchemaViolation, UnknownKey, UnknownTenant

KEY_ID_BYTES: Final = 6
MAX_NAME_CHARS: Final = 100
"""Characters of a tenant's or a key's name."""

MAX_KEY_LIFE_S: Final = 10 * 365 * 86_400
"""Longest life of a key that has an end."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made; this is the one time that it can be read."""

    key: str = field(repr=False)
    entry: KeyEntry


class Tenants:
    """The use cases behind `everturn tenants`."""

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock

    def create(
        self, tenant: str, name: str = "", demo_provider: Literal["on", "off"] | None = None
    ) -> bool:
        """Make a tenant; returns `False` where there is one, which stays as it is.

        Raises `InvalidId`, `SchemaViolation`.
        """
        check_id(tenant, "tenant")
        record: dict[str, Any] = {
            "name": _checked_name(name or tenant),
            "created_ms": self._clock.now_ms(),
        }
        if demo_provider is not None:
            record["demo_provider"] = demo_provider
        return self._registry.create_tenant(tenant, record)

    def all(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield every tenant with its record."""
        for tenant in self._registry.tenants():
            yield tenant, self._registry.tenant(tenant) or {}

    def get(self, tenant: str) -> Mapping[str, Any]:
        """Return a tenant's record. Raises `UnknownTenant`."""
        record = self._registry.tenant(tenant)
        if record is None:
            raise UnknownTenant(f"There is no tenant {tenant}.", hint="everturn tenants create")
        return record


class Keys:
    """The use cases behind `everturn keys`."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._random = random

    def create(
        self, tenant: str, name: str, expires_in_s: int | None = None, *, key: str | None = None
    ) -> NewKey:
        """Make a key, or take the one that is given; only its hash is kept.

        Raises `UnknownTenant`, `SchemaViolation`.
        """
        check_id(tenant, "tenant")
        now_ms = self._clock.now_ms()
        if expires_in_s is not None and not 0 < expires_in_s <= MAX_KEY_LIFE_S:
            raise SchemaViolation(f"expires_in: must be 1 to {MAX_KEY_LIFE_S} seconds")
        key = key or key_of(self._random(KEY_BYTES))
        entry = KeyEntry(
            tenant=tenant,
            key_id=self._random(KEY_ID_BYTES).hex(),
            name=_checked_name(name),
            sha256=hash_of(key),
            last4=key[-LAST_CHARS:],
            created_ms=now_ms,
            expires_ms=None if expires_in_s is None else now_ms + expires_in_s * 1000,
        )
        if not self._registry.add_key(entry):
            raise UnknownTenant(f"There is no tenant {tenant}.", hint="everturn tenants create")
        return NewKey(key, entry)

    def of(self, tenant: str) -> Iterator[KeyEntry]:
        """Yield a tenant's keys, the first one first. Raises `UnknownTenant`."""
        if self._registry.tenant(tenant) is None:
            raise UnknownTenant(f"There is no tenant {tenant}.", hint="everturn tenants create")
        yield from self._registry.keys_of(tenant)

    def revoke(self, name: str) -> None:
        """Delete the key that `named` calls so. Raises `UnknownKey`."""
        tenant, _, key_id = name.partition("/")
        if not self._registry.remove_key(tenant, key_id):
            raise UnknownKey(f"There is no key {name}.", hint="everturn keys list shows the ids")


def named(entry: KeyEntry) -> str:
    """Return what names a key among all tenants' keys; no id holds a slash. Source: O-9."""
    return f"{entry.tenant}/{entry.key_id}"


def _checked_name(name: str) -> str:
    if not 0 < len(name) <= MAX_NAME_CHARS or not name.isprintable():
        raise SchemaViolation(f"name: needs 1 to {MAX_NAME_CHARS} printable characters")
    return name
