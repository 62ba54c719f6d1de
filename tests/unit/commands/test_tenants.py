"""Tenants and keys as an operator makes, lists and revokes them."""

from __future__ import annotations

import pytest

from everturn.commands.tenants import MAX_KEY_LIFE_S, Keys, Tenants, named
from everturn.errors import RejectedError
from everturn.protocol.api_keys import KEY_PREFIX, hash_of, key_of
from everturn.rejections import InvalidId, SchemaViolation, UnknownKey, UnknownTenant
from everturn.store.memory_registry import InMemoryRegistry
from unit.drive.doubles import NOON_MS, FrozenClock

DAY_S = 86_400


class Office:
    """The use cases on one registry, with randomness that can be told in advance."""

    def __init__(self) -> None:
        self.clock = FrozenClock()
        self.registry = InMemoryRegistry()
        self.tenants = Tenants(self.registry, self.clock)
        self.keys = Keys(self.registry, self.clock, self._draw)
        self._drawn = 0

    def _draw(self, count: int) -> bytes:
        self._drawn += 1
        return bytes([self._drawn]) * count


def test_a_tenant_is_made_once_and_shown_with_what_was_said() -> None:
    office = Office()

    made = [
        office.tenants.create("acme", "Acme Inc.", "off"),
        office.tenants.create("main"),
        office.tenants.create("acme", "Another"),
    ]

    acme = {"name": "Acme Inc.", "created_ms": NOON_MS, "demo_provider": "off"}
    assert made == [True, True, False]
    assert office.tenants.get("acme") == acme
    assert dict(office.tenants.all()) == {
        "acme": acme,
        "main": {"name": "main", "created_ms": NOON_MS},
    }


@pytest.mark.parametrize("tenant", ["", "a#b", "a b", "x" * 201, "a/b"])
def test_a_tenant_is_spelled_as_an_id(tenant: str) -> None:
    with pytest.raises(InvalidId):
        Office().tenants.create(tenant)


def test_a_key_is_shown_once_and_kept_as_its_hash() -> None:
    office = Office()
    office.tenants.create("acme")

    made = office.keys.create("acme", "laptop", 30 * DAY_S)

    [listed] = office.keys.of("acme")
    assert made.entry == listed
    assert made.key == key_of(b"\x01" * 32)
    assert made.key.startswith(KEY_PREFIX)
    assert (listed.sha256, listed.last4) == (hash_of(made.key), made.key[-4:])
    assert named(listed) == f"acme/{'02' * 6}"
    assert listed.expires_ms == NOON_MS + 30 * DAY_S * 1000
    assert made.key not in repr(made)
    assert made.key not in repr(listed)


def test_keys_of_a_deployment_are_drawn_from_the_system() -> None:
    registry = InMemoryRegistry()
    Tenants(registry, FrozenClock()).create("acme")
    keys = Keys(registry, FrozenClock())

    made = {keys.create("acme", "one").key for _ in range(20)}

    assert len(made) == 20
    assert {len(key) for key in made} == {46}
    with pytest.raises(ValueError, match="32 random bytes"):
        key_of(b"short")


def test_a_revoked_key_is_known_to_nobody() -> None:
    office = Office()
    office.tenants.create("acme")
    made = office.keys.create("acme", "laptop")

    office.keys.revoke(named(made.entry))

    assert office.registry.api_key(made.entry.sha256) is None
    with pytest.raises(UnknownKey):
        office.keys.revoke(named(made.entry))


@pytest.mark.parametrize(
    ("tenant", "name", "life_s", "error"),
    [
        ("none", "laptop", None, UnknownTenant),
        ("acme", "", None, SchemaViolation),
        ("acme", "two\nlines", None, SchemaViolation),
        ("acme", "x" * 101, None, SchemaViolation),
        ("acme", "laptop", 0, SchemaViolation),
        ("acme", "laptop", MAX_KEY_LIFE_S + 1, SchemaViolation),
        ("a#b", "laptop", None, InvalidId),
    ],
)
def test_what_makes_no_key(
    tenant: str, name: str, life_s: int | None, error: type[RejectedError]
) -> None:
    office = Office()
    office.tenants.create("acme")

    with pytest.raises(error):
        office.keys.create(tenant, name, life_s)

    assert list(office.keys.of("acme")) == []


def test_nobody_has_keys_to_a_tenant_that_is_not_there() -> None:
    office = Office()

    with pytest.raises(UnknownTenant):
        list(office.keys.of("none"))
    with pytest.raises(UnknownTenant):
        office.tenants.get("none")
