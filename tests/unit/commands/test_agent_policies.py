"""What an agent's definition may say of guards, answers and other models."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.demo_switch import demo_allowed
from everturn.llm.catalogue import Catalogue, ModelFacts, ReasoningEffort, UnsupportedEffort
from everturn.llm.catalogue import Route as LlmRoute
from everturn.llm.registry import Served
from everturn.rejections import InvalidToolSchema, NotYetSupported, SchemaViolation
from everturn.session.facts import Route
from unit.drive.doubles import ScriptedModel
from unit.drive.world import KEY, TENANT, World

GUARDS: dict[str, Any] = {
    "loop_detection": {"consecutive_threshold": 2},
    "tool_budgets": {"look": {"max_calls": 0}},
    "max_tool_turns": 1,
    "output_repairs": 0,
}


def world_with(*models: str, **efforts: str) -> World:
    """Return a deployment that serves those models of `scripted`, some with one effort alone."""
    world = World()
    listed = tuple(
        ModelFacts(
            "scripted",
            model,
            model,
            efforts=(ReasoningEffort(efforts[model], "E"),) if model in efforts else (),
        )
        for model in models
    )
    served = Served(LlmRoute("scripted", "Scripted", listed), ScriptedModel)
    world.models.register(served)
    return world


@pytest.mark.parametrize("supervisor", [{}, {"supervisor": None}, {"supervisor": False}])
def test_guards_are_taken(supervisor: dict[str, Any]) -> None:
    world = World()

    world.agent("helper", guards={**GUARDS, **supervisor})

    record = world.directory.agent(TENANT, "helper")
    assert record is not None
    wanted = {name: value for name, value in supervisor.items() if value is not None}
    assert record.definition["guards"] == {**GUARDS, **wanted}


@pytest.mark.parametrize("supervisor", [True, {}, {"interval": 3}])
def test_a_supervisor_is_not_granted_yet(supervisor: Any) -> None:
    with pytest.raises(NotYetSupported, match=r"^/guards/supervisor: is not supported yet"):
        World().agent("helper", guards={**GUARDS, "supervisor": supervisor})


def test_a_schema_of_the_answer_has_to_be_one() -> None:
    with pytest.raises(InvalidToolSchema, match=r"^/output_schema"):
        World().agent("helper", output_schema={"type": 7})


def test_a_model_to_fall_back_to_is_checked_like_the_first_one() -> None:
    world = world_with("m", "n", n="low")
    high = {"effort": "high"}

    world.agent("helper", fallback_models=["scripted:m", "scripted:n"])

    with pytest.raises(SchemaViolation, match=r"^/fallback_models/1: no provider here serves it"):
        world.agent("helper", fallback_models=["scripted:m", "demo:other"])
    with pytest.raises(UnsupportedEffort, match="scripted:n offers no effort high"):
        world.agent("helper", fallback_models=["scripted:m", "scripted:n"], reasoning=high)


def test_a_worker_knows_its_own_models() -> None:
    world = World()

    world.agent("helper", model="own", handler="worker", fallback_models=["nobody's"])
    world.submit("Hello.")

    assert "nobody's" not in world.reader.load(KEY, world.head()).facts.routes


def test_facts_know_where_the_fallbacks_lead() -> None:
    world = world_with("m")
    world.agent("helper", fallback_models=["scripted:m"])
    world.submit("Hello.")

    loaded = world.reader.load(KEY, world.head()).facts

    assert world.reader.for_new_session(TENANT, "helper").routes == loaded.routes
    assert loaded.routes["scripted:m"] == Route("scripted", "m")
    assert loaded.routes["demo:demo"] == loaded.route


def test_the_demo_is_no_fallback_where_it_is_switched_off() -> None:
    world = world_with("m")
    world.agent("helper", model="scripted:m", fallback_models=["demo:demo"])
    facts = world.reader.for_new_session(TENANT, "helper")
    catalogue: Catalogue = world.models.catalogue()

    demo_allowed(lambda _tenant: catalogue, lambda _tenant: {})(TENANT, facts)

    off = demo_allowed(lambda _tenant: catalogue, lambda _tenant: {"demo_provider": "off"})
    with pytest.raises(NotYetSupported, match="switched off"):
        off(TENANT, facts)
