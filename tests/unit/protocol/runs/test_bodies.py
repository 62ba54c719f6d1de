"""Bodies of runs, sessions and messages are read as clients send them, and refused by the field."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.runs.bodies import read_message, read_run, read_session
from everturn.protocol.runs.run_spec import BESIDE
from unit.protocol.runs.shapes import ALL_TOOLS, LOCAL, SPEC, refusal

ASKED: dict[str, Any] = {"prompt": "Hi"}


def test_a_run_as_the_clients_send_it_is_kept_word_for_word() -> None:
    body = read_run({**SPEC, "prompt": "Hi"})

    assert body.spec == {key: value for key, value in SPEC.items() if key not in BESIDE}
    assert (body.name, body.metadata, body.prompt) == ("nightly", {"customer": "acme"}, "Hi")
    assert body.spec["tools"] == ALL_TOOLS


def test_the_least_run_is_a_prompt() -> None:
    body = read_run({"tools": [], "prompt": "Hi"})

    assert body.spec == {"tools": []}


def test_a_session_is_a_spec_alone() -> None:
    body = read_session(SPEC)

    assert body.spec == {key: value for key, value in SPEC.items() if key not in BESIDE}


def test_an_empty_session_is_one_too() -> None:
    assert read_session({}).spec == {}


def test_a_message_brings_its_tools_and_its_metadata() -> None:
    body = read_message({"prompt": "Hi", "tools": [LOCAL], "metadata": {"a": "b"}})

    assert (body.spec, body.metadata) == ({"tools": [LOCAL]}, {"a": "b"})


@pytest.mark.parametrize("reader", [read_run, read_session, read_message])
def test_what_no_document_knows_is_kept_at_any_level(reader: Any) -> None:
    said = {
        "next": {"a": [None]},
        "model_id": "no field of ours",
        "spec": 1,
        "turn": [],
        "__class__": "x",
        "budgets": {"maxToolTurns": 3, "maxToolTurnsExceeded": "finalize"},
        "supervisor": {"interval": 1, "style": {"x": None}},
        "toolBudgets": {"a": {"maxCalls": 1, "per": "day"}},
        "outputSchema": {"schema": {"type": "object", "x-y": None}, "how": 1},
    }

    body = reader({**ASKED, **said})

    assert body.spec == said


@pytest.mark.parametrize("field", sorted(SPEC))
def test_null_is_as_good_as_absence(field: str) -> None:
    body = read_run({**SPEC, **ASKED, field: None})

    assert field not in body.spec
    assert read_session({field: None}).spec == {}


@pytest.mark.parametrize("said", [None, [], "x", 1, True])
def test_a_body_is_an_object(said: Any) -> None:
    assert refusal(read_run, said) == "/: should be an object"


@pytest.mark.parametrize(
    "more",
    [
        {"loopDetection": True},
        {"loopDetection": False},
        {"loopDetection": {}},
        {"loopDetection": {"consecutiveThreshold": 5}},
        {"loopDetection": {"hardCutoffThreshold": 4}},
        {"supervisor": True},
        {"supervisor": False},
        {"supervisor": {}},
        {"supervisor": {"modelId": "platform:demo", "reasoningTrigger": False}},
        {"supervisor": {"reasoningTrigger": {}}},
        {"plan": True},
        {"plan": False},
        {"plan": "off"},
        {"plan": "auto"},
        {"plan": "required"},
        {"plan": {}},
        {"plan": {"planOnly": True}},
        {"plan": {"steps": [], "brief": ""}},
        {"toolBudgets": {}},
        {"reasoningLevel": "off"},
        {"reasoningLevel": "low"},
        {"reasoningLevel": "medium"},
        {"reasoningLevel": "high"},
        {"reasoningLevel": 0},
        {"budgets": {}},
        {"metadata": {}},
        {"systemPrompt": ""},
        {"outputSchema": {"schema": {}}},
    ],
)
def test_each_form_of_a_policy_is_taken_as_it_is(more: dict[str, Any]) -> None:
    body = read_run({**ASKED, **more})

    assert {**body.spec, **({"metadata": body.metadata} if "metadata" in more else {})} == more


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"loopDetection": "no"}, "/loopDetection: should be a boolean or an object"),
        ({"loopDetection": 3}, "/loopDetection: should be a boolean or an object"),
        (
            {"loopDetection": {"consecutiveThreshold": 6}},
            "/loopDetection/hardCutoffThreshold: is 6; it should be more than "
            "consecutiveThreshold, which is 6",
        ),
        (
            {"loopDetection": {"hardCutoffThreshold": 3}},
            "/loopDetection/hardCutoffThreshold: is 3; it should be more than "
            "consecutiveThreshold, which is 3",
        ),
        (
            {"loopDetection": {"consecutiveThreshold": 9, "hardCutoffThreshold": 9}},
            "/loopDetection/hardCutoffThreshold: is 9; it should be more than "
            "consecutiveThreshold, which is 9",
        ),
        ({"supervisor": "on"}, "/supervisor: should be a boolean or an object"),
        (
            {"supervisor": {"reasoningTrigger": True}},
            "/supervisor/reasoningTrigger: should be false or an object",
        ),
        ({"supervisor": {"modelId": ""}}, "/supervisor/modelId: "),
        ({"plan": "now"}, "/plan: should be 'off', 'auto' or 'required'"),
        ({"plan": 1}, "/plan: should be a boolean, off, auto, required or an object"),
        ({"plan": {"mode": "now"}}, "/plan/mode: should be 'off', 'auto' or 'required'"),
        ({"plan": {"planOnly": "yes"}}, "/plan/planOnly: should be a valid boolean"),
        ({"plan": {"steps": "a"}}, "/plan/steps: should be a list"),
        ({"plan": {"steps": [1]}}, "/plan/steps/0: should be a valid string"),
        ({"plan": {"brief": 1}}, "/plan/brief: should be a valid string"),
        ({"toolBudgets": []}, "/toolBudgets: should be an object"),
        ({"toolBudgets": {"a": {}}}, "/toolBudgets/a/maxCalls: is required"),
        ({"toolBudgets": {"a": 3}}, "/toolBudgets/a: should be an object"),
        ({"toolBudgets": {"a": {"maxCalls": True}}}, "/toolBudgets/a/maxCalls: "),
        ({"toolBudgets": {"a": {"maxCalls": 1.5}}}, "/toolBudgets/a/maxCalls: "),
        ({"budgets": 3}, "/budgets: should be an object"),
        ({"budgets": {"maxToolTurns": "3"}}, "/budgets/maxToolTurns: "),
        ({"metadata": {"a": 1}}, "/metadata/a: should be a valid string"),
        ({"metadata": {"a": {"b": "c"}}}, "/metadata/a: should be a valid string"),
        ({"metadata": []}, "/metadata: should be an object"),
        ({"outputSchema": {"type": "object"}}, "/outputSchema/schema: is required"),
        ({"outputSchema": {"schema": []}}, "/outputSchema/schema: should be an object"),
        ({"outputSchema": {"schema": True}}, "/outputSchema/schema: should be an object"),
        ({"outputSchema": {"schema": None}}, "/outputSchema/schema: should be an object"),
        ({"outputSchema": {"schema": {}, "name": "a b"}}, "/outputSchema/name: "),
        ({"outputSchema": "x"}, "/outputSchema: should be an object"),
        ({"tools": {}}, "/tools: should be a list"),
        ({"modelId": ""}, "/modelId: "),
        ({"modelId": 3}, "/modelId: should be a valid string"),
        ({"fallbackModelId": ""}, "/fallbackModelId: "),
        ({"agentId": ""}, "/agentId: "),
        ({"systemPrompt": []}, "/systemPrompt: should be a valid string"),
        ({"name": 1}, "/name: should be a valid string"),
    ],
)
@pytest.mark.parametrize("reader", [read_run, read_session, read_message])
def test_a_misfit_is_told_by_the_field(reader: Any, more: dict[str, Any], told: str) -> None:
    assert refusal(reader, {**ASKED, **more}).startswith(told)


@pytest.mark.parametrize("level", [-1, 101, 50.0, "50", "none", "", True, [], {}])
def test_a_reasoning_level_is_a_known_word_or_a_number(level: Any) -> None:
    told = refusal(read_run, {**ASKED, "reasoningLevel": level})

    assert told == "/reasoningLevel: should be off, low, medium, high or an integer from 0 to 100"


def test_several_misfits_are_counted() -> None:
    told = refusal(read_run, {"prompt": 1, "modelId": 2})

    assert told.endswith("(and 1 more)")


def test_half_a_character_is_no_json_that_can_be_kept() -> None:
    schema = {"type": "object", "title": "\ud800"}

    told = refusal(read_run, {**ASKED, "outputSchema": {"schema": schema}})

    assert told == "/outputSchema: should be lossless JSON"
