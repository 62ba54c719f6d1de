"""Every kind of provider that settings can name has an adapter, and on a laptop its own key."""

from __future__ import annotations

from typing import get_args

import pytest

from everturn.llm.providers.bedrock import BedrockModel
from everturn.llm.providers.http_model import HttpModel
from everturn.protocol.providers import BUILT_IN, ProviderKind
from everturn.settings import settings
from everturn.wiring import providers

KINDS = sorted(set(get_args(ProviderKind)) - {"demo"})


def test_each_kind_has_an_adapter() -> None:
    assert sorted(providers.ADAPTERS) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_an_adapter_is_made_without_a_request(kind: str) -> None:
    made = providers.ADAPTERS[kind]()

    assert isinstance(made, BedrockModel if kind == "bedrock" else HttpModel)


@pytest.mark.parametrize(("networks", "found"), [("any", True), ("public", False)])
def test_a_vendors_variable_is_a_key_on_one_machine_alone(
    monkeypatch: pytest.MonkeyPatch, networks: str, found: bool
) -> None:
    for names in providers.OWN_KEYS.values():
        monkeypatch.setenv(names[-1], "sk-own")
    monkeypatch.setenv("EVERTURN_WORKER_NETWORKS", networks)
    settings.cache_clear()
    try:
        keys = {kind: providers.has_own_key(kind) for kind in BUILT_IN}
    finally:
        monkeypatch.undo()
        settings.cache_clear()

    assert keys == {kind: found and kind != "bedrock" for kind in BUILT_IN}
