"""A-4: a key with an end stops at that moment, wherever it was used before."""

from __future__ import annotations

import pytest

from everturn.commands.tenants import Keys, Tenants
from everturn.ports.tokens import Tokens
from everturn.rejections import Unauthenticated
from everturn.store.memory_registry import InMemoryRegistry
from everturn.store.memory_revocations import InMemoryRevocations
from everturn.surfaces.callers import CACHED_MS, Callers
from unit.drive.doubles import FrozenClock


class Edge:
    """A door with one key to it, which ends after a minute."""

    def __init__(self, life_s: int | None = 60) -> None:
        self.clock = FrozenClock()
        self.registry = InMemoryRegistry()
        Tenants(self.registry, self.clock).create("acme")
        self.keys = Keys(self.registry, self.clock)
        self.made = self.keys.create("acme", "laptop", life_s)
        self.callers = Callers(self.registry, self.clock, _no_tokens, InMemoryRevocations())

    def knock(self) -> str:
        """Return who the key says it is."""
        return self.callers.by_headers({"authorization": f"Bearer {self.made.key}"}).key_name


def _no_tokens() -> Tokens:
    raise AssertionError("a key needs no reader of tokens")


def test_a_key_is_good_until_its_last_millisecond_and_no_longer() -> None:
    edge = Edge()
    edge.clock.move(59_999)
    known = edge.knock()

    edge.clock.move(1)

    assert known == "laptop"
    with pytest.raises(Unauthenticated) as refused:
        edge.knock()
    assert "expired" in refused.value.message
    assert refused.value.status == 401


def test_a_connection_of_an_expiring_key_knows_its_end() -> None:
    ending, lasting = Edge(), Edge(None)

    callers = [one.callers.by_credential(one.made.key) for one in (ending, lasting)]

    now_s = ending.clock.now_ms() // 1000
    assert [one.expires_epoch_s for one in callers] == [now_s + 60, None]


def test_a_revoked_key_is_trusted_for_a_minute_at_most() -> None:
    edge = Edge(None)
    edge.knock()
    edge.keys.revoke(f"acme/{edge.made.entry.key_id}")
    still = edge.knock()

    edge.clock.move(CACHED_MS)

    assert still == "laptop"
    with pytest.raises(Unauthenticated):
        edge.knock()


def test_a_directory_that_answers_with_another_key_lets_nobody_in() -> None:
    edge = Edge(None)
    other = edge.keys.create("acme", "other")
    edge.registry._keys[edge.made.entry.sha256] = edge.registry._keys[other.entry.sha256]

    with pytest.raises(Unauthenticated):
        edge.knock()
