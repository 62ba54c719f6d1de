"""`InMemoryRegistry`: a directory whose tenants and keys are listed, for tests.

It must not be kinder than the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from everturn.ports.directory import ApiKey
from everturn.ports.registry import KeyEntry
from everturn.store.memory_directory import InMemoryDirectory


class InMemoryRegistry(InMemoryDirectory):
    """`Registry` and `Directory` at once: what is written here is found there."""

    def __init__(self) -> None:
        super().__init__()
        self._listed: set[str] = set()
        self._entries: dict[tuple[str, str], KeyEntry] = {}

    def create_tenant(self, tenant: str, record: Mapping[str, Any]) -> bool:
        """Write a new tenant."""
        self._listed.add(tenant)
        if self.tenant(tenant) is not None:
            return False
        self.put_tenant(tenant, record)
        return True

    def tenants(self) -> Iterator[str]:
        """Yield all tenants."""
        yield from sorted(self._listed)

    def replace_tenant(
        self, tenant: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> bool:
        """Write a record in the place of another one."""
        if self.tenant(tenant) != before:
            return False
        self.put_tenant(tenant, after)
        return True

    def add_key(self, entry: KeyEntry) -> bool:
        """Write a new key."""
        taken = (entry.tenant, entry.key_id) in self._entries or self.api_key(entry.sha256)
        if self.tenant(entry.tenant) is None or taken:
            return False
        self._entries[entry.tenant, entry.key_id] = entry
        key = ApiKey(entry.tenant, entry.name, expires_ms=entry.expires_ms)
        self.put_api_key(entry.sha256, key)
        return True

    def keys_of(self, tenant: str) -> Iterator[KeyEntry]:
        """Yield a tenant's keys."""
        found = [entry for (owner, _), entry in self._entries.items() if owner == tenant]
        yield from sorted(found, key=lambda entry: (entry.created_ms, entry.key_id))

    def remove_key(self, tenant: str, key_id: str) -> bool:
        """Delete a key."""
        entry = self._entries.pop((tenant, key_id), None)
        if entry is None:
            return False
        self._keys.pop(entry.sha256, None)
        return True
