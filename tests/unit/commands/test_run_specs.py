"""What a spec comes to in a tenant: whose agent, which model, which tools."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.run_specs import RunSpecs, default_model
from everturn.commands.start_run import BASE_AGENT
from everturn.llm.catalogue import Catalogue, ModelFacts, Route
from everturn.rejections import InvalidModel, InvalidRequest, UnknownAgent
from unit.commands.asking_for_runs import Runs
from unit.drive.doubles import says
from unit.drive.world import TENANT

LOCAL: dict[str, Any] = {"kind": "local", "name": "wave", "parameters": {"type": "object"}}


def resolve(runs: Runs, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the config that a spec comes to."""
    config = runs.specs.resolve(TENANT, spec, **more).config
    assert config is not None
    return config


# ---- runs that name no agent


def test_a_run_that_names_nothing_gets_the_default_model_and_the_agent_of_runs() -> None:
    runs = Runs()

    resolved = runs.specs.resolve(TENANT, {"prompt": "Hi."})

    assert (resolved.agent_id, resolved.client) == (BASE_AGENT, None)
    assert resolved.config is not None
    assert (resolved.config["model"], resolved.config["tools"]) == ("demo:demo", [])
    assert "system" not in resolved.config


def test_the_agent_of_runs_gives_its_model_and_the_tools_that_are_named() -> None:
    """Nothing else of it: its instructions are not those of a run without an agent."""
    runs = Runs()
    runs.world.script(says("Hi."), agent_id=BASE_AGENT, system="You sell shoes.")

    config = resolve(runs, {"tools": [{"kind": "mantyx", "id": "look"}]})

    assert config["model"] == "scripted:m"
    assert [tool["name"] for tool in config["tools"]] == ["look"]
    assert "system" not in config


@pytest.mark.parametrize("has_base", [True, False])
def test_a_tool_that_is_not_registered_is_named(has_base: bool) -> None:
    runs = Runs()
    if has_base:
        runs.world.agent(BASE_AGENT)

    with pytest.raises(InvalidRequest, match="/tools/0/id"):
        resolve(runs, {"tools": [{"kind": "mantyx", "id": "nothing"}]})


def test_texts_of_system_messages_follow_the_prompt() -> None:
    config = resolve(Runs(), {"systemPrompt": "Be kind."}, system=["Be brief."])

    assert config["system"] == "Be kind.\n\nBe brief."


# ---- runs of an agent


def test_a_run_of_an_agent_goes_by_its_config_and_brings_tools_along() -> None:
    runs = Runs()
    runs.world.agent("clerk", system="You sell shoes.")

    resolved = runs.specs.resolve(TENANT, {"agentId": "clerk", "tools": [LOCAL]})

    assert resolved.agent_id == "clerk"
    assert resolved.config is not None
    assert resolved.config["system"] == "You sell shoes."
    names = [tool["name"] for tool in resolved.config["tools"]]
    assert names == ["look", "send", "put", "wave"]


@pytest.mark.parametrize("pinned", [None, {}])
def test_an_agent_that_is_not_there_is_unknown(pinned: dict[str, Any] | None) -> None:
    """Also for a session in which its worker decided: that has left no config."""
    with pytest.raises(UnknownAgent):
        Runs().specs.resolve(TENANT, {"agentId": "nobody"}, pinned=pinned)


def test_a_session_whose_agent_was_deleted_goes_by_what_it_began_with() -> None:
    pinned = {"model": "demo:demo", "system": "You sell shoes."}

    config = resolve(Runs(), {"agentId": "gone", "systemPrompt": "Sell hats."}, pinned=pinned)
    as_before = resolve(Runs(), {"agentId": "gone"}, pinned=pinned)

    assert (config["model"], config["system"]) == ("demo:demo", "Sell hats.")
    assert as_before["system"] == "You sell shoes."


def test_an_agent_that_is_there_counts_more_than_what_the_session_began_with() -> None:
    runs = Runs()
    runs.world.agent("clerk", system="You sell hats.")

    config = resolve(runs, {"agentId": "clerk"}, pinned={"model": "demo:demo", "system": "Shoes."})

    assert config["system"] == "You sell hats."


# ---- agents whose worker decides


def boss() -> Runs:
    """Return a world with an agent whose worker decides."""
    runs = Runs()
    runs.world.agent("boss", decides="worker")
    return runs


def test_a_worker_that_decides_gets_the_tools_of_the_client_and_no_config() -> None:
    resolved = boss().specs.resolve(TENANT, {"agentId": "boss", "tools": [LOCAL]})

    assert (resolved.agent_id, resolved.config) == ("boss", None)
    assert resolved.client is not None
    (tool,) = resolved.client["tools"]
    assert tool["name"] == "wave"
    assert set(tool) <= {"name", "description", "input", "output", "retry"}


def test_without_tools_a_worker_that_decides_gets_nothing() -> None:
    assert boss().specs.resolve(TENANT, {"agentId": "boss"}).client is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("modelId", "demo:demo"),
        ("systemPrompt", "Be kind."),
        ("toolBudgets", {"wave": {"maxCalls": 1}}),
        ("budgets", {"maxToolTurns": 3}),
    ],
)
def test_what_a_worker_decides_cannot_be_asked_for(field: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match=f"/{field}"):
        boss().specs.resolve(TENANT, {"agentId": "boss", field: value})


def test_policies_that_work_without_a_config_may_be_asked_for() -> None:
    spec = {"agentId": "boss", "supervisor": True, "plan": "auto"}

    assert boss().specs.resolve(TENANT, spec).config is None


def test_the_worker_of_the_agent_of_runs_decides_no_run_that_names_no_agent() -> None:
    runs = Runs()
    runs.world.agent(BASE_AGENT, decides="worker")

    assert resolve(runs, {})["model"] == "demo:demo"


# ---- models


@pytest.mark.parametrize("field", ["modelId", "fallbackModelId"])
def test_a_model_that_is_not_there_is_named_with_those_that_are_called_nearly_so(
    field: str,
) -> None:
    with pytest.raises(InvalidModel, match=f"/{field}") as refused:
        resolve(Runs(), {field: "demo:demi"})

    assert refused.value.fields["candidates"][0] == "demo:demo"


def test_a_model_of_a_provider_is_taken_though_no_list_has_it() -> None:
    runs = Runs()
    runs.world.script(says("Hi."))

    config = resolve(runs, {"modelId": "scripted:newest", "fallbackModelId": "demo:demo"})

    assert (config["model"], config["fallback_models"]) == ("scripted:newest", ["demo:demo"])


def test_a_tenant_without_a_model_has_none_for_a_run() -> None:
    specs = RunSpecs(Runs().world.directory, lambda _tenant: Catalogue())

    assert specs.default_model(TENANT) == ""
    with pytest.raises(InvalidModel):
        specs.resolve(TENANT, {})


def test_the_default_model_is_the_agents_of_runs_else_the_first_of_the_default_provider() -> None:
    runs = Runs()
    before = runs.specs.default_model(TENANT)
    runs.world.script(says("Hi."), agent_id=BASE_AGENT)

    assert (before, runs.specs.default_model(TENANT)) == ("demo:demo", "scripted:m")


@pytest.mark.parametrize(
    ("catalogue", "expected"),
    [
        (Catalogue(), ""),
        (Catalogue((Route("demo", "Demo"),)), ""),
        (
            Catalogue((Route("x", "X", (ModelFacts("x", "m", "M"),)),), default_provider="x"),
            "x:m",
        ),
    ],
)
def test_a_default_model_is_one_that_is_listed(catalogue: Catalogue, expected: str) -> None:
    assert default_model(catalogue) == expected
