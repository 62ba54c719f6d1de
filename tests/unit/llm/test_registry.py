"""Which adapter serves a selector, and how routes are replaced."""

import pytest

from everturn.llm.assemble import assemble
from everturn.llm.catalogue import ModelFacts, ModelRef, Route
from everturn.llm.demo.model import DemoModel
from everturn.llm.models import Models
from everturn.llm.registry import (
    ModelRegistry,
    RegistrationReleased,
    RouteTaken,
    Served,
    UnknownProvider,
)
from everturn.protocol.llm import LlmRequest
from everturn.protocol.message import DraftMessage


def route(provider: str) -> Route:
    return Route(provider, provider, (ModelFacts(provider, "m", "M"),))


def providers_of(registry: ModelRegistry) -> set[str]:
    return {one.id for one in registry.catalogue().routes}


def served(provider: str, built: list[str] | None = None) -> Served:
    def build() -> DemoModel:
        if built is not None:
            built.append(provider)
        return DemoModel(lambda _seconds: None)

    return Served(route(provider), build)


def test_an_adapter_is_built_when_first_asked_for_and_once() -> None:
    built: list[str] = []
    registry = ModelRegistry()
    registry.register(served("demo", built), served("acme", built))

    first = registry.model("acme")
    second = registry.model("acme")

    assert built == ["acme"]
    assert first is second


def test_the_catalogue_lists_what_is_registered() -> None:
    registry = ModelRegistry(default_provider="acme")
    registry.register(served("acme"))

    catalogue = registry.catalogue()

    assert (catalogue.default_provider, catalogue.routes) == ("acme", (route("acme"),))


def test_a_provider_that_nobody_serves_is_refused() -> None:
    with pytest.raises(UnknownProvider, match="no provider named demo"):
        ModelRegistry().model("demo")


def test_replacing_swaps_the_whole_set_and_may_leave_it_empty() -> None:
    registry = ModelRegistry()
    registration = registry.register(served("a"), served("b"))

    registration.replace(served("b"), served("c"))
    swapped = providers_of(registry)
    registration.replace()

    assert (swapped, providers_of(registry)) == ({"b", "c"}, set())


def test_a_set_that_does_not_fit_changes_nothing() -> None:
    registry = ModelRegistry()
    registry.register(served("a"))
    registration = registry.register(served("b"))

    with pytest.raises(RouteTaken, match="served twice: a"):
        registration.replace(served("c"), served("a"))
    with pytest.raises(RouteTaken, match="c stands twice"):
        registry.register(served("c"), served("c"))

    assert providers_of(registry) == {"a", "b"}


def test_a_released_registration_serves_nothing_and_refuses() -> None:
    registry = ModelRegistry()
    registration = registry.register(served("a"))

    registration.release()
    registration.release()

    with pytest.raises(RegistrationReleased):
        registration.replace(served("a"))
    assert providers_of(registry) == set()


def test_a_prepared_call_outlives_its_registration() -> None:
    """MC-5."""
    registry = ModelRegistry()
    registration = registry.register(served("a"))
    prepared = Models(registry).prepare("acme", ModelRef("a", "m"))

    registration.replace(served("a"))

    assert registry.model("a") is not prepared.model
    request = LlmRequest(model="m", messages=(DraftMessage(role="user", content="hi"),))
    chunks = prepared.model.stream(request, attempt=1, cancelled=bool)
    assert assemble(chunks).content == "echo: hi"
