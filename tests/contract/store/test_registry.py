"""Tenants and their keys, listed: every `Registry`, the fake and the table alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from contract.store.conftest import Aws
from contract.store.failing import Failing, never_arrives, refuses
from everturn.errors import StoreRefused, StoreUnavailable
from everturn.ports.directory import ApiKey, Directory
from everturn.ports.registry import EVERYBODY, KeyEntry, Registry
from everturn.store.memory_registry import InMemoryRegistry
from everturn.store.registry import DynamoRegistry
from sample_events import NOON_MS

ENTRY = KeyEntry("acme", "0a1b", "laptop", "f0" * 32, "wxyz", NOON_MS, NOON_MS + 1)


@dataclass(frozen=True, slots=True)
class Both:
    """A registry, and the directory that the functions look into."""

    registry: Registry
    directory: Directory


@pytest.fixture(params=["memory", "dynamo"])
def both(request: pytest.FixtureRequest) -> Both:
    if request.param == "memory":
        memory = InMemoryRegistry()
        return Both(memory, memory)
    aws: Aws = request.getfixturevalue("aws")
    return Both(registry_on(aws), aws.directory())


def registry_on(aws: Aws, client: Any = None) -> DynamoRegistry:
    return DynamoRegistry(aws.table, cast(Any, client or aws.dynamodb), aws.time.pace())


def test_tenants_are_listed_by_name_each_with_its_first_record(both: Both) -> None:
    made = [both.registry.create_tenant(name, {"name": name}) for name in ("b", "a", "b")]
    again = both.registry.create_tenant("a", {"name": "changed"})

    assert (made, again) == ([True, True, False], False)
    assert list(both.registry.tenants()) == ["a", "b"]
    assert both.registry.tenant("a") == both.directory.tenant("a") == {"name": "a"}
    assert both.registry.tenant("c") is None


def test_a_tenant_that_is_in_no_list_joins_it_and_stays_as_it_is(both: Both) -> None:
    both.directory.put_tenant("old", {"demo_provider": "off"})
    before = list(both.registry.tenants())

    made = both.registry.create_tenant("old", {"name": "old"})

    assert (before, made) == ([], False)
    assert list(both.registry.tenants()) == ["old"]
    assert both.registry.tenant("old") == {"demo_provider": "off"}


def test_a_record_is_replaced_only_as_it_was_read(both: Both) -> None:
    both.registry.create_tenant("acme", {"name": "Größe", "created_ms": 1})
    read = both.registry.tenant("acme")
    mine, theirs = {"name": "a", "aliases": {"x": "y"}}, {"name": "b"}

    replaced = [
        both.registry.replace_tenant("acme", read, mine),
        both.registry.replace_tenant("acme", read, theirs),
        both.registry.replace_tenant("acme", None, theirs),
    ]

    assert replaced == [True, False, False]
    assert both.registry.tenant("acme") == both.directory.tenant("acme") == mine


def test_a_record_for_all_begins_once_and_is_no_tenant(both: Both) -> None:
    begun = [both.registry.replace_tenant(EVERYBODY, None, {"aliases": {}}) for _ in range(2)]
    stranger = both.registry.replace_tenant("nobody", {"name": "n"}, {})

    assert (begun, stranger) == ([True, False], False)
    assert both.registry.tenant(EVERYBODY) == {"aliases": {}}
    assert list(both.registry.tenants()) == []


def test_a_key_is_found_by_its_hash_and_listed_with_its_tenant(both: Both) -> None:
    both.registry.create_tenant("acme", {})
    other = replace(ENTRY, key_id="ff", sha256="f1" * 32, created_ms=NOON_MS - 5, expires_ms=None)

    added = [both.registry.add_key(one) for one in (ENTRY, other)]

    assert added == [True, True]
    assert list(both.registry.keys_of("acme")) == [other, ENTRY]
    found = both.directory.api_key("f0" * 32)
    assert found == ApiKey("acme", "laptop", expires_ms=NOON_MS + 1)
    assert found is not None
    assert found.sha256 == "f0" * 32
    assert both.directory.api_key("f1" * 32) == ApiKey("acme", "laptop")


def test_a_key_needs_a_tenant_and_a_name_of_its_own(both: Both) -> None:
    stranger = both.registry.add_key(ENTRY)
    both.registry.create_tenant("acme", {})
    both.registry.add_key(ENTRY)

    taken = [
        both.registry.add_key(replace(ENTRY, sha256="f1" * 32)),
        both.registry.add_key(replace(ENTRY, key_id="ff")),
    ]

    assert (stranger, taken) == (False, [False, False])
    assert list(both.registry.keys_of("acme")) == [ENTRY]
    assert both.directory.api_key("f1" * 32) is None


def test_a_key_that_is_removed_is_gone_from_both_places(both: Both) -> None:
    for tenant in ("acme", "rival"):
        both.registry.create_tenant(tenant, {})
    both.registry.add_key(ENTRY)

    removed = [
        both.registry.remove_key("rival", "0a1b"),
        both.registry.remove_key("acme", "0a1b"),
        both.registry.remove_key("acme", "0a1b"),
    ]

    assert removed == [False, True, False]
    assert list(both.registry.keys_of("acme")) == []
    assert both.directory.api_key("f0" * 32) is None


# ---- the table alone


def test_no_item_has_the_key_and_the_list_needs_no_scan(aws: Aws) -> None:
    registry = registry_on(aws)
    registry.create_tenant("acme", {"name": "Acme"})
    registry.add_key(ENTRY)
    aws.dynamodb.taken()

    list(registry.keys_of("acme"))
    list(registry.tenants())

    assert aws.dynamodb.taken() == ["query", "query"]
    places = sorted((item["pk"]["S"], item["sk"]["S"]) for item in aws.items())
    assert places == [
        (f"KEY#{'f0' * 32}", "META"),
        ("TENANT#acme", "KEY#0a1b"),
        ("TENANT#acme", "META"),
        ("TENANTS", "TENANT#acme"),
    ]


def test_lists_go_over_pages(aws: Aws) -> None:
    registry = registry_on(aws)
    for name in "abc":
        registry.create_tenant(name, {})
    client = Failing(aws.dynamodb.client, page_items=1)

    assert list(registry_on(aws, client).tenants()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("trouble", "ours"),
    [(never_arrives, StoreUnavailable), (refuses("AccessDeniedException"), StoreRefused)],
)
def test_errors_are_ours(aws: Aws, trouble: Any, ours: type[Exception]) -> None:
    calls = ("transact_write_items", "query", "get_item", "put_item")
    troubles = {name: [trouble] for name in calls}
    registry = registry_on(aws, Failing(aws.dynamodb.client, troubles))

    with pytest.raises(ours):
        registry.create_tenant("acme", {})
    with pytest.raises(ours):
        list(registry.tenants())
    with pytest.raises(ours):
        registry.tenant("acme")
    with pytest.raises(ours):
        registry.replace_tenant("acme", None, {})
