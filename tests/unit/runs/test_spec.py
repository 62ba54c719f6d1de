"""A spec becomes the config that its turn goes by."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.agent import AGENT_CONFIG, check_agent
from everturn.protocol.runs.bodies import read_run
from everturn.rejections import InvalidRequest, NotYetSupported
from everturn.runs.spec import TOOL_BUDGETS, SpecBase, config_of, inherited, model_of
from everturn.runs.tools import tools_of
from unit.protocol.runs.shapes import CATALOGUE, EMPTY, LOCAL, PEER, PLUGIN, SPEC

HELPER: dict[str, Any] = {
    "model": "openai:gpt-5.5",
    "system": "You help.",
    "tools": [{"name": "search_repos", "effect": "read"}],
    "sub_agents": [{"id": "scout"}],
    "builtins": ["ask_user"],
    "a2a": [{"name": "peer", "agent_card_url": "https://a.b"}],
    "reasoning": {"effort": "low", "exclude": True},
    "temperature": 0.5,
    "on_failure": "interrupt",
}
ALONE = SpecBase("demo:demo")
WITH_AGENT = SpecBase("demo:demo", HELPER, {"search_repos": HELPER["tools"][0]})
USUAL = {name: {"max_calls": calls} for name, calls in TOOL_BUDGETS.items()}


def config(
    spec: dict[str, Any],
    base: SpecBase = ALONE,
    efforts: tuple[str, ...] = (),
    system: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the config of a spec that a caller may send, which is one that the core takes."""
    made = config_of(read_run({**spec, "prompt": "Hi"}).spec, base, efforts, system)
    known = {name: value for name, value in made.items() if name != "fallback_models"}
    check_agent(AGENT_CONFIG.validate_python(known), decides="engine")
    return made


def test_a_run_without_a_word_goes_by_the_defaults() -> None:
    assert config({}) == {
        "model": "demo:demo",
        "tools": [],
        "guards": {
            "loop_detection": {"consecutive_threshold": 3, "hard_cutoff_threshold": 6},
            "tool_budgets": USUAL,
            "max_tool_turns": 32,
        },
        "on_failure": "fail",
        "on_truncated": "record",
        "stream": True,
    }


def test_a_run_that_says_all_has_all_of_it() -> None:
    said = {**SPEC, "tools": [LOCAL, PEER, CATALOGUE]}

    made = config(said, efforts=("low", "medium"), system=("And kind.",))

    assert made == {
        "model": "openai:gpt-5.5",
        "system": "Be brief.\n\nAnd kind.",
        "tools": tools_of([LOCAL, PEER, CATALOGUE], {}),
        "guards": {
            "loop_detection": {"consecutive_threshold": 4, "hard_cutoff_threshold": 8},
            "tool_budgets": {"send_email": {"max_calls": 2}, **USUAL},
            "max_tool_turns": 12,
        },
        "output_schema": EMPTY,
        "reasoning": {"effort": "medium"},
        "fallback_models": ["anthropic:claude-opus-5"],
        "on_failure": "fail",
        "on_truncated": "record",
        "stream": True,
    }


def test_an_agent_keeps_what_its_run_does_not_say() -> None:
    made = config({}, WITH_AGENT)

    kept = ("model", "system", "tools", "sub_agents", "builtins", "reasoning", "temperature")
    assert {name: made[name] for name in kept} == {name: HELPER[name] for name in kept}
    assert made["on_failure"] == "fail"


def test_what_a_run_says_wins_over_its_agent() -> None:
    said = {
        "modelId": "demo:demo",
        "systemPrompt": "You search.",
        "reasoningLevel": "high",
        "tools": [LOCAL],
    }

    made = config(said, WITH_AGENT, efforts=("high",), system=("Now.",))

    assert made["model"] == "demo:demo"
    assert made["system"] == "You search.\n\nNow."
    assert made["reasoning"] == {"effort": "high"}
    assert made["tools"] == [*HELPER["tools"], *tools_of([LOCAL], {})]


@pytest.mark.parametrize(
    ("said", "efforts", "reasoning"),
    [
        ({"reasoningLevel": "off"}, ("none",), {"effort": "none"}),
        ({"reasoningLevel": 0}, ("low",), {"enabled": False}),
        ({"reasoningLevel": 90}, ("none",), None),
        ({"reasoningLevel": 20}, (), {"effort": "low"}),
    ],
)
def test_a_level_takes_the_place_of_the_agents_effort(
    said: dict[str, Any], efforts: tuple[str, ...], reasoning: dict[str, Any] | None
) -> None:
    assert config(said, WITH_AGENT, efforts).get("reasoning") == reasoning


@pytest.mark.parametrize(
    ("prompt", "system", "text"),
    [
        (None, (), "You help."),
        (None, ("a", "b"), "You help.\n\na\n\nb"),
        ("", ("a",), "You help.\n\na"),
        ("Mine.", ("a",), "Mine.\n\na"),
    ],
)
def test_instructions_are_put_together_with_blank_lines(
    prompt: str | None, system: tuple[str, ...], text: str
) -> None:
    assert config({"systemPrompt": prompt}, WITH_AGENT, system=system)["system"] == text


def test_system_messages_alone_are_instructions_too() -> None:
    assert config({}, system=("a", "b"))["system"] == "a\n\nb"


@pytest.mark.parametrize(
    ("spec", "base", "model"),
    [
        ({}, ALONE, "demo:demo"),
        ({}, WITH_AGENT, "openai:gpt-5.5"),
        ({"modelId": "x:y"}, WITH_AGENT, "x:y"),
    ],
)
def test_the_model_is_the_runs_or_the_agents_or_the_default(
    spec: dict[str, Any], base: SpecBase, model: str
) -> None:
    assert model_of(spec, base) == model


DEFAULT_LOOP = {"consecutive_threshold": 3, "hard_cutoff_threshold": 6}


@pytest.mark.parametrize(
    ("asked", "own", "found"),
    [
        (None, None, DEFAULT_LOOP),
        (True, None, DEFAULT_LOOP),
        ({}, None, DEFAULT_LOOP),
        ({"consecutiveThreshold": 5}, None, {**DEFAULT_LOOP, "consecutive_threshold": 5}),
        ({"hardCutoffThreshold": 9}, None, {**DEFAULT_LOOP, "hard_cutoff_threshold": 9}),
        (False, None, False),
        (None, False, False),
        (None, {"consecutive_threshold": 4}, {"consecutive_threshold": 4}),
        (True, False, DEFAULT_LOOP),
        (False, {"consecutive_threshold": 4}, False),
    ],
)
def test_loops_are_watched_unless_somebody_says_no(asked: Any, own: Any, found: Any) -> None:
    guards = {} if own is None else {"loop_detection": own}
    base = SpecBase("m", {"model": "m", "guards": guards})

    assert config({"loopDetection": asked}, base)["guards"]["loop_detection"] == found


@pytest.mark.parametrize(
    ("asked", "own", "found"),
    [
        (None, None, USUAL),
        ({}, None, {}),
        ({}, {"t": {"max_calls": 1}}, {}),
        ({"t": {"maxCalls": 0}}, None, {**USUAL, "t": {"max_calls": 0}}),
        ({"recall": {"maxCalls": 9}}, None, {**USUAL, "recall": {"max_calls": 9}}),
        (None, {"recall": {"max_calls": 8}}, {**USUAL, "recall": {"max_calls": 8}}),
        (
            {"recall": {"maxCalls": 9}},
            {"recall": {"max_calls": 8}, "t": {"max_calls": 1}},
            {**USUAL, "recall": {"max_calls": 9}, "t": {"max_calls": 1}},
        ),
    ],
)
def test_budgets_of_the_run_lie_over_the_agents_and_those_over_the_usual(
    asked: Any, own: Any, found: Any
) -> None:
    guards = {} if own is None else {"tool_budgets": own}
    base = SpecBase("m", {"model": "m", "guards": guards})

    assert config({"toolBudgets": asked}, base)["guards"]["tool_budgets"] == found


def test_the_usual_budgets_are_those_of_the_document() -> None:
    searches = {name: calls for name, calls in TOOL_BUDGETS.items() if "search" in name}

    assert searches == dict.fromkeys(searches, 5)
    assert len(searches) == 9
    rest = {name: calls for name, calls in TOOL_BUDGETS.items() if name not in searches}
    assert rest == {"recall": 4, "traverse": 3, "hive_consult_ontology": 4}


def test_usual_budgets_take_no_room_of_the_runs_own() -> None:
    asked = {f"t{at}": {"maxCalls": at} for at in range(31)}

    found = config({"toolBudgets": asked})["guards"]["tool_budgets"]

    assert len(found) == 32
    assert list(found)[:31] == list(asked)


@pytest.mark.parametrize(
    ("asked", "own", "found"),
    [(None, None, 32), ({}, None, 32), ({"maxToolTurns": 1}, 9, 1), (None, 9, 9)],
)
def test_tool_turns_have_a_cap(asked: Any, own: int | None, found: int) -> None:
    guards = {} if own is None else {"max_tool_turns": own}
    base = SpecBase("m", {"model": "m", "guards": guards})

    assert config({"budgets": asked}, base)["guards"]["max_tool_turns"] == found


def test_other_guards_of_an_agent_stay() -> None:
    base = SpecBase("m", {"model": "m", "guards": {"supervisor": True}})

    assert config({}, base)["guards"]["supervisor"] is True


@pytest.mark.parametrize(
    "more", [{"supervisor": True}, {"plan": "required"}, {"plan": {"planOnly": False}}]
)
def test_what_is_not_done_yet_without_harm_stays_in_the_spec(more: dict[str, Any]) -> None:
    assert config(more) == config({})
    assert read_run({"prompt": "Hi", **more}).spec == more


def test_a_plan_without_its_run_is_not_made_yet() -> None:
    with pytest.raises(NotYetSupported) as refused:
        config({"plan": {"planOnly": True}})

    assert refused.value.message == "/plan/planOnly: a plan without its run is not made yet"


def test_a_registered_tool_that_the_agent_has_is_there_once() -> None:
    assert config({"tools": [PLUGIN]}, WITH_AGENT)["tools"] == HELPER["tools"]


@pytest.mark.parametrize("name", ["search_repos", "scout", "ask_user", "peer"])
def test_a_tool_of_the_runs_may_not_be_called_as_one_of_the_agents(name: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        config({"tools": [LOCAL, {"kind": "local", "name": name}]}, WITH_AGENT)

    assert refused.value.message == f"/tools/1/name: the agent has a tool {name} of its own"


@pytest.mark.parametrize("count", [254, 255])
def test_as_many_tools_as_an_agent_may_have_are_taken(count: int) -> None:
    base = SpecBase("m", {"model": "m", "sub_agents": [{"id": "scout"}]})
    tools = [{"name": f"t{at}"} for at in range(count)]

    made = config({"tools": [{"kind": "mcp_local", "name": "s", "tools": tools}]}, base)

    assert len(made["tools"]) == count


@pytest.mark.parametrize("own", [{"sub_agents": [{"id": "a"}]}, {"tools": [{"name": "a"}]}])
def test_one_tool_more_is_refused(own: dict[str, Any]) -> None:
    tools = [{"kind": "local", "name": f"t{at}"} for at in range(256)]

    with pytest.raises(InvalidRequest) as refused:
        config({"tools": tools}, SpecBase("m", {"model": "m", **own}))

    assert refused.value.message.startswith("/tools: more than 256 tools")


def test_a_run_that_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        config({"systemPrompt": "x" * (2 * 1024 * 1024 - 50)})

    assert refused.value.message.startswith("/: instructions, tools and schemas have ")


def test_an_output_schema_that_does_not_compile_is_named() -> None:
    with pytest.raises(InvalidRequest) as refused:
        config({"outputSchema": {"schema": {"type": "object", "properties": {"a": 3}}}})

    assert refused.value.message.startswith("/outputSchema/schema/properties/a: ")


def test_a_message_says_otherwise_for_its_own_run() -> None:
    session: dict[str, Any] = {
        "agentId": "helper",
        "modelId": "a",
        "tools": [LOCAL],
        "plan": True,
        "more": 1,
    }
    message: dict[str, Any] = {
        "agentId": "other",
        "modelId": "b",
        "tools": [],
        "plan": None,
        "less": 1,
    }

    spec = inherited(session, message)

    assert spec == {
        "agentId": "helper",
        "modelId": "b",
        "tools": [],
        "plan": True,
        "more": 1,
        "less": 1,
    }


@pytest.mark.parametrize(
    "field",
    [
        "modelId",
        "fallbackModelId",
        "systemPrompt",
        "tools",
        "reasoningLevel",
        "outputSchema",
        "loopDetection",
        "toolBudgets",
        "supervisor",
        "plan",
        "budgets",
    ],
)
def test_each_field_of_a_message_replaces_the_sessions(field: str) -> None:
    assert inherited({field: "session", "x": 1}, {field: "message"}) == {field: "message", "x": 1}
    assert inherited({field: "session"}, {}) == {field: "session"}
    assert inherited({}, {field: False}) == {field: False}
