"""The role that an operator's commands need: which tenants there are, and who has keys to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """An API key as its tenant's list has it; the key itself is known to nobody but its holder."""

    tenant: str
    key_id: str
    """Names it in its tenant."""

    name: str
    sha256: str
    """What it is found by. Source: decision-protocol A-4."""

    last4: str
    """Its last characters, to tell it from others."""

    created_ms: int
    expires_ms: int | None = None
    """When it stops; `None` for never."""


EVERYBODY: Final = "*"
"""Name of the record that holds for all tenants; no tenant can have it. Source: O-9."""


class Registry(Protocol):
    """Keeps the lists of tenants and of their keys. Every method may raise `StoreUnavailable`."""

    def create_tenant(self, tenant: str, record: Mapping[str, Any]) -> bool:
        """Write a new tenant's record; returns `False`, and leaves it alone, where it has one."""
        ...

    def tenants(self) -> Iterator[str]:
        """Yield the names of all tenants, sorted."""
        ...

    def tenant(self, tenant: str) -> Mapping[str, Any] | None:
        """Return a tenant's record."""
        ...

    def replace_tenant(
        self, tenant: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> bool:
        """Write a record in the place of `before`, as it was read; `None` where there was none.

        Returns `False`, and leaves it alone, where something else stands there by now.
        """
        ...

    def add_key(self, entry: KeyEntry) -> bool:
        """Write a key and its place in the list, both or neither; `False` for no such tenant."""
        ...

    def keys_of(self, tenant: str) -> Iterator[KeyEntry]:
        """Yield a tenant's keys, the first one first."""
        ...

    def remove_key(self, tenant: str, key_id: str) -> bool:
        """Delete a key and its place in the list; returns whether there was one."""
        ...
