"""Providers, models and aliases as an operator sets them, for a tenant and for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from everturn.commands.model_settings import WRITE_ATTEMPTS, ModelSettings
from everturn.errors import RejectedError, StoreUnavailable
from everturn.outbound.url_guard import Networks
from everturn.ports.registry import EVERYBODY
from everturn.protocol.json_text import canonical
from everturn.protocol.limits import MAX_MODELS_BYTES
from everturn.protocol.wire import to_json
from everturn.rejections import SchemaViolation, TooLarge, UnknownSetting, UnknownTenant
from everturn.store.memory_registry import InMemoryRegistry

GATEWAY = {"kind": "openai-compatible", "base_url": "https://gateway.example/v1"}
LOCAL = {"kind": "openai-compatible", "base_url": "http://127.0.0.1:11434/v1"}
KEYED = {"kind": "openai", "api_key": {"ssm": "/everturn/openai"}}
BY_VARIABLE = {"kind": "openai", "api_key": {"env": "OPENAI_API_KEY"}}
MODEL = {"provider": "openai", "id": "m"}


class Busy(InMemoryRegistry):
    """A registry where others write between a read and a write, so many times."""

    def __init__(self, *others: Callable[[], object]) -> None:
        super().__init__()
        self.others = list(others)

    def replace_tenant(
        self, tenant: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> bool:
        if self.others:
            self.others.pop(0)()
        return super().replace_tenant(tenant, before, after)


def office(
    registry: InMemoryRegistry | None = None, networks: Networks = "public"
) -> ModelSettings:
    used = registry or InMemoryRegistry()
    used.create_tenant("acme", {"name": "Acme", "created_ms": 1})
    return ModelSettings(used, networks)


def said(settings: ModelSettings, tenant: str = EVERYBODY) -> dict[str, Any]:
    return {name: value for name, value in to_json(settings.of(tenant)).items() if value}


def test_settings_are_written_changed_and_removed_beside_what_else_a_record_says() -> None:
    registry = InMemoryRegistry()
    settings = office(registry)

    written = [
        settings.set_provider("acme", "openai", KEYED),
        settings.set_provider("acme", "openai", KEYED),
        settings.set_provider("acme", "router", GATEWAY),
        settings.set_model("acme", {"provider": "router", "id": "vendor/m"}),
        settings.set_model("acme", {"provider": "router", "id": "vendor/m", "name": "M"}),
        settings.set_alias("acme", "fast", "router:vendor/m"),
        settings.set_default_provider("acme", "router"),
    ]
    record = registry.tenant("acme")
    settings.remove_provider("acme", "openai")
    settings.remove_model("acme", "router", "vendor/m")
    settings.remove_alias("acme", "fast")
    settings.set_default_provider("acme", None)

    assert written == [True, False, True, True, True, True, True]
    assert record == {
        "name": "Acme",
        "created_ms": 1,
        "providers": {"openai": KEYED, "router": GATEWAY},
        "models": [{"provider": "router", "id": "vendor/m", "name": "M"}],
        "aliases": {"fast": "router:vendor/m"},
        "default_provider": "router",
    }
    assert said(settings, "acme") == {"providers": {"router": GATEWAY}}
    assert registry.tenant(EVERYBODY) is None


def test_what_holds_for_all_is_known_to_a_tenants_settings() -> None:
    settings = office()

    settings.set_provider(EVERYBODY, "router", GATEWAY)
    settings.set_model("acme", {"provider": "router", "id": "m"})
    settings.set_default_provider("acme", "demo")

    assert said(settings) == {"providers": {"router": GATEWAY}}
    assert said(settings, "acme") == {
        "models": [{"provider": "router", "id": "m"}],
        "default_provider": "demo",
    }


def test_two_operators_who_change_different_providers_lose_nothing() -> None:
    registry = Busy()
    settings = office(registry)
    registry.others += [
        lambda: ModelSettings(registry, "public").set_provider(EVERYBODY, "theirs", GATEWAY)
    ]

    settings.set_provider(EVERYBODY, "mine", KEYED | {"kind": "anthropic"})

    assert said(settings)["providers"] == {
        "theirs": GATEWAY,
        "mine": KEYED | {"kind": "anthropic"},
    }


@pytest.mark.parametrize("busy", [WRITE_ATTEMPTS - 1, WRITE_ATTEMPTS])
def test_a_record_that_is_never_left_alone_is_given_up(busy: int) -> None:
    registry = Busy()
    settings = office(registry)
    moments = iter(range(2, busy + 2))
    registry.others += [
        lambda: registry.put_tenant("acme", {"created_ms": next(moments)}) for _ in range(busy)
    ]

    def write() -> bool:
        return settings.set_alias("acme", "a", "b")

    if busy < WRITE_ATTEMPTS:
        assert write()
    else:
        with pytest.raises(StoreUnavailable):
            write()


@pytest.mark.parametrize(
    ("write", "refused"),
    [
        (lambda to: to.set_provider(EVERYBODY, "x", {"kind": "x"}), "/kind: "),
        (lambda to: to.set_provider(EVERYBODY, "X", GATEWAY), "/providers/X"),
        (lambda to: to.set_provider(EVERYBODY, "demo", GATEWAY), "/: the demo provider cannot"),
        (lambda to: to.set_provider(EVERYBODY, "x", LOCAL), "/base_url: the URL must begin with"),
        (
            lambda to: to.set_provider(
                EVERYBODY, "x", {**GATEWAY, "base_url": "https://10.0.0.1/"}
            ),
            "/base_url: the address is not one that may be called",
        ),
        (lambda to: to.set_provider(EVERYBODY, "openai", BY_VARIABLE), "/api_key/env: variables "),
        (lambda to: to.set_model(EVERYBODY, {"id": "m"}), "/provider: is required"),
        (lambda to: to.set_model(EVERYBODY, {**MODEL, "provider": "x"}), "/provider: there is no"),
        (lambda to: to.set_default_provider(EVERYBODY, "x"), "/provider: there is no provider x"),
        (lambda to: to.set_alias(EVERYBODY, "a:b", "c"), "/aliases/a:b"),
        (lambda to: to.set_alias(EVERYBODY, "a", ""), "/aliases/a: "),
        (lambda to: to.set_alias("acme", "a", "known"), "/aliases/a: known is an alias itself"),
        (lambda to: to.set_alias(EVERYBODY, "a", "known"), "/aliases/a: known is an alias itself"),
        (lambda to: to.set_alias(EVERYBODY, "m", "a"), "/: an alias names a model, and no other"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    write: Callable[[ModelSettings], object], refused: str
) -> None:
    settings = office()
    settings.set_alias(EVERYBODY, "known", "m")
    before = said(settings)

    with pytest.raises(SchemaViolation) as caught:
        write(settings)

    assert caught.value.message.startswith(refused)
    assert said(settings) == before


def test_on_one_machine_providers_may_be_anywhere_and_keys_in_variables() -> None:
    settings = office(networks="any")

    settings.set_provider(EVERYBODY, "ollama", LOCAL)
    settings.set_provider(EVERYBODY, "openai", BY_VARIABLE)

    assert said(settings)["providers"] == {"ollama": LOCAL, "openai": BY_VARIABLE}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda to: to.of("nobody"), UnknownTenant),
        (lambda to: to.set_provider("nobody", "openai", KEYED), UnknownTenant),
        (lambda to: to.remove_provider("acme", "openai"), UnknownSetting),
        (lambda to: to.remove_provider(EVERYBODY, "openai"), UnknownSetting),
        (lambda to: to.remove_model("acme", "openai", "m"), UnknownSetting),
        (lambda to: to.remove_alias("acme", "a"), UnknownSetting),
    ],
)
def test_what_is_not_there_is_said_so(
    change: Callable[[ModelSettings], object], error: type[RejectedError]
) -> None:
    with pytest.raises(error):
        change(office())


def test_a_record_ends_at_its_size() -> None:
    registry = InMemoryRegistry()
    settings = office(registry)
    wide = {**GATEWAY, "headers": {f"h{n}": "x" * 1000 for n in range(16)}}
    full = {f"p{n}": wide for n in range(8)}
    registry.put_tenant("acme", {"providers": full})

    def last(size: int) -> dict[str, Any]:
        sizes = [min(1000, size - at) for at in range(0, size, 1000)]
        return {**GATEWAY, "headers": {f"k{n:02}": "x" * one for n, one in enumerate(sizes)}}

    def size_of(size: int) -> int:
        return len(canonical({"providers": {**full, "last": last(size)}}))

    largest = max(size for size in range(1, 2000) if size_of(size) <= MAX_MODELS_BYTES)

    settings.set_provider("acme", "last", last(largest))

    assert size_of(largest) == MAX_MODELS_BYTES
    with pytest.raises(TooLarge):
        settings.set_provider("acme", "last", last(largest + 1))
    with pytest.raises(TooLarge):
        settings.set_alias("acme", "a", "b")


def test_an_entry_of_a_later_version_can_be_removed_and_nothing_else_be_written_before() -> None:
    registry = InMemoryRegistry()
    settings = office(registry)
    registry.put_tenant("acme", {"providers": {"later": {"kind": "telepathy"}, "openai": KEYED}})

    with pytest.raises(SchemaViolation):
        settings.set_alias("acme", "a", "b")
    settings.remove_provider("acme", "later")

    assert said(settings, "acme") == {"providers": {"openai": KEYED}}
