"""Requests to Gemini: where they go, settings, tools, thinking, structured answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.gemini import FINAL_SYSTEM, FINAL_TOLD, GeminiWire, version_of
from everturn.ports.model import Account
from neutral_requests import asked, requests
from providers.gemini_calls import CITY, FLASH_2, FLASH_3, HELLO, WEATHER, body_of, encoded
from providers.official_models import refusals_gemini

STOPS = {"name": "stop", "description": ""}
REPORT = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}


def test_a_request_goes_to_the_models_own_path_with_its_key_in_a_header() -> None:
    sent = encoded({})

    assert sent.url == (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview"
        ":streamGenerateContent?alt=sse"
    )
    assert sent.headers == {"x-goog-api-key": "k-1"}
    assert sent.body == {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("../../x?key=1#", "..%2F..%2Fx%3Fkey%3D1%23"),
        ("a b/ü", "a%20b%2F%C3%BC"),
    ],
)
def test_a_models_id_cannot_leave_its_place_in_the_path(model: str, path: str) -> None:
    account = Account(base_url="https://proxy.example/g", api_key="k")

    sent = encoded({"model": model}, account=account)

    assert sent.url == f"https://proxy.example/g/models/{path}:streamGenerateContent?alt=sse"


def test_without_a_key_nothing_is_sent() -> None:
    with pytest.raises(ModelFailed) as failed:
        encoded({}, account=Account())

    assert failed.value.code is FailureCode.AUTH


def test_a_whole_request() -> None:
    """Golden: settings, system, tools, their choice."""
    body = body_of(
        {
            "model": FLASH_2,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "system", "content": [{"type": "text", "text": "Be kind."}]},
                HELLO,
            ],
            "tools": [WEATHER, STOPS],
            "tool_choice": "auto",
            "parallel_tool_calls": False,
            "temperature": 0.5,
            "max_completion_tokens": 500,
            "stop": ["END"],
            "reasoning": {"effort": "low"},
        }
    )

    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief.\n\nBe kind."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "get_weather",
                        "description": "Tells it.",
                        "parametersJsonSchema": CITY,
                    },
                    {"name": "stop", "description": ""},
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "generationConfig": {
            "temperature": 0.5,
            "maxOutputTokens": 500,
            "stopSequences": ["END"],
            "thinkingConfig": {"thinkingBudget": 2048, "includeThoughts": True},
        },
    }


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ({"name": "get_weather"}, {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}),
        ({"name": "no such tool"}, {"mode": "AUTO"}),
        (None, None),
    ],
)
def test_how_tools_may_be_used(choice: Any, config: Any) -> None:
    body = body_of({"tools": [WEATHER], "tool_choice": choice})

    assert body.get("toolConfig", {}).get("functionCallingConfig") == config


def test_names_that_gemini_refuses_have_others_on_the_wire() -> None:
    body = body_of(
        {"tools": [{**WEATHER, "name": "9.weather"}], "tool_choice": {"name": "9.weather"}}
    )

    (declared,) = body["tools"][0]["functionDeclarations"]
    assert declared["name"].startswith("_weather_")
    assert body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == [declared["name"]]


def test_a_choice_without_tools_is_no_choice() -> None:
    assert body_of({"tool_choice": "required"}).keys() == {"contents"}


def test_a_routes_limit_of_output_stands_where_the_request_has_none() -> None:
    assert body_of({}, default_max_tokens=900)["generationConfig"] == {"maxOutputTokens": 900}
    assert body_of({"max_completion_tokens": 5}, default_max_tokens=900)["generationConfig"] == {
        "maxOutputTokens": 5
    }


def test_more_stop_sequences_than_there_is_place_for_are_no_request() -> None:
    assert body_of({"stop": list("abcde")})["generationConfig"] == {"stopSequences": list("abcde")}

    with pytest.raises(ModelFailed) as failed:
        encoded({"stop": list("abcdef")})

    assert failed.value.code is FailureCode.INVALID_REQUEST


def test_models_that_have_no_temperature_are_told_none() -> None:
    assert "generationConfig" in body_of({"temperature": 0})
    assert "generationConfig" not in body_of({"temperature": 0, "model": "gemini-4-argon"})


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("gemini-2.5-flash-preview-09-2025", (2, 5)),
        ("gemini-3-pro-preview", (3, 0)),
        ("gemini-3.1-flash-lite", (3, 1)),
        ("models/gemini-4-argon", (4, 0)),
        ("gemini-flash-latest", (999, 0)),
        ("gemini-1.5-pro-latest", (1, 5)),
        ("gemini-exp-1206", (0, 0)),
        ("gemma-4-31b-it", (0, 0)),
    ],
)
def test_versions_in_ids(model: str, version: tuple[int, int]) -> None:
    assert version_of(model) == version


SHOWN = {"includeThoughts": True}


@pytest.mark.parametrize(
    ("model", "reasoning", "told"),
    [
        # levels, from 3 on
        (FLASH_3, {"effort": "xhigh"}, {"thinkingLevel": "HIGH", **SHOWN}),
        (FLASH_3, {"effort": "high"}, {"thinkingLevel": "HIGH", **SHOWN}),
        (FLASH_3, {"effort": "medium", "exclude": True}, {"thinkingLevel": "MEDIUM"}),
        (FLASH_3, {"effort": "low"}, {"thinkingLevel": "LOW", **SHOWN}),
        (FLASH_3, {"effort": "minimal"}, {"thinkingLevel": "MINIMAL", **SHOWN}),
        (FLASH_3, {"effort": "none"}, {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.5-flash-lite", {"enabled": False}, {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.1-pro-preview", {"effort": "none"}, {"thinkingLevel": "LOW"}),
        ("gemini-3-pro-preview", {"effort": "medium"}, {"thinkingLevel": "HIGH", **SHOWN}),
        ("gemini-3.8-flash", {"effort": "minimal"}, {"thinkingLevel": "LOW", **SHOWN}),
        ("gemini-4-argon", {"effort": "none"}, {"thinkingLevel": "LOW"}),
        ("gemini-flash-latest", {"effort": "none"}, {"thinkingLevel": "LOW"}),
        (FLASH_3, {"enabled": True}, {"thinkingLevel": "MEDIUM", **SHOWN}),
        (FLASH_3, {"max_tokens": 2048}, {"thinkingLevel": "LOW", **SHOWN}),
        (FLASH_3, {"max_tokens": 900000}, {"thinkingLevel": "HIGH", **SHOWN}),
        (FLASH_3, {"exclude": True}, None),
        (FLASH_3, {}, None),
        (FLASH_3, None, None),
        # budgets, 2.5
        (FLASH_2, {"effort": "xhigh"}, {"thinkingBudget": 24576, **SHOWN}),
        (FLASH_2, {"effort": "high"}, {"thinkingBudget": 16384, **SHOWN}),
        (FLASH_2, {"effort": "minimal"}, {"thinkingBudget": 1024, **SHOWN}),
        (FLASH_2, {"max_tokens": 7}, {"thinkingBudget": 7, **SHOWN}),
        (FLASH_2, {"enabled": True}, {"thinkingBudget": 8192, **SHOWN}),
        (FLASH_2, {"effort": "none", "max_tokens": 7}, {"thinkingBudget": 0}),
        ("gemini-2.5-flash-lite", {"max_tokens": 7}, {"thinkingBudget": 512, **SHOWN}),
        ("gemini-2.5-flash-lite", {"effort": "none"}, {"thinkingBudget": 0}),
        ("gemini-2.5-pro", {"effort": "none"}, {"thinkingBudget": 128}),
        ("gemini-2.5-pro", {"effort": "xhigh"}, {"thinkingBudget": 32768, **SHOWN}),
        # nothing
        ("gemini-2.0-flash", {"effort": "high"}, None),
        ("gemma-4-31b-it", {"effort": "high"}, None),
    ],
)
def test_how_much_a_model_thinks(model: str, reasoning: Any, told: Any) -> None:
    body = body_of({"model": model, "reasoning": reasoning})

    assert body.get("generationConfig", {}).get("thinkingConfig") == told


@pytest.mark.parametrize(
    ("model", "tools"), [(FLASH_3, [WEATHER]), (FLASH_3, []), (FLASH_2, []), (FLASH_2, None)]
)
def test_a_structured_answer_where_there_is_a_place_for_it(model: str, tools: Any) -> None:
    """Runs document, section 7."""
    body = body_of({"model": model, "tools": tools, "output_schema": {**REPORT, "$id": "r"}})

    assert body["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": REPORT,
    }
    assert len(body.get("tools", ())) == len(tools or ())
    assert "systemInstruction" not in body


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (None, {"mode": "ANY"}),
        ("auto", {"mode": "ANY"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "ANY", "allowedFunctionNames": ["set_model_response"]}),
        ({"name": "get_weather"}, {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}),
    ],
)
def test_beside_tools_an_older_model_reports_by_a_call(choice: Any, config: Any) -> None:
    """Runs document, section 7."""
    body = body_of(
        {
            "model": FLASH_2,
            "messages": [{"role": "system", "content": "Be brief."}, HELLO],
            "tools": [WEATHER],
            "tool_choice": choice,
            "output_schema": REPORT,
        }
    )

    assert "generationConfig" not in body
    assert body["toolConfig"] == {"functionCallingConfig": config}
    assert body["systemInstruction"]["parts"] == [{"text": f"Be brief.\n\n{FINAL_SYSTEM}"}]
    assert body["tools"][0]["functionDeclarations"][1] == {
        "name": "set_model_response",
        "description": FINAL_TOLD,
        "parametersJsonSchema": REPORT,
    }


def test_a_tool_of_the_reports_name_gives_way() -> None:
    tool = {**WEATHER, "name": "set_model_response"}

    kept = body_of({"model": FLASH_2, "tools": [tool]})
    moved = body_of({"model": FLASH_2, "tools": [tool], "output_schema": REPORT})

    names = [
        [one["name"] for one in body["tools"][0]["functionDeclarations"]] for body in (kept, moved)
    ]
    assert names[0] == ["set_model_response"]
    assert names[1][1] == "set_model_response" != names[1][0]


MODELS = st.sampled_from(
    ["gemini-2.0-flash", "gemini-2.5-pro", FLASH_2, FLASH_3, "gemini-3.8-flash", "gemini-4-argon"]
)


@given(MODELS.flatmap(requests))
def test_every_request_is_one_that_gemini_takes(request: dict[str, Any]) -> None:
    body = GeminiWire().encode(asked(request)).body

    assert refusals_gemini(body) == []
    assert body == GeminiWire().encode(asked(request)).body
    declared = [
        one["name"] for tool in body.get("tools", ()) for one in tool["functionDeclarations"]
    ]
    choice = body.get("toolConfig", {}).get("functionCallingConfig", {})
    assert len(set(declared)) == len(declared)
    assert set(choice.get("allowedFunctionNames", ())) <= set(declared)
    config = body.get("generationConfig", {})
    assert not (
        declared and "responseJsonSchema" in config and version_of(request["model"]) < (3, 0)
    )
    assert [turn["role"] for turn in body["contents"]][::2] == ["user"] * (
        len(body["contents"]) // 2 + 1
    )


@pytest.mark.parametrize(
    ("schema", "report"),
    [
        (True, None),
        ({"anyOf": [REPORT, REPORT]}, REPORT),
        ({"$ref": "#/$defs/r", "$defs": {"r": REPORT}}, REPORT),
    ],
)
def test_any_schema_of_an_answer_is_asked_for_beside_tools(schema: Any, report: Any) -> None:
    body = body_of({"model": FLASH_2, "tools": [WEATHER], "output_schema": schema})

    declared = body["tools"][0]["functionDeclarations"][1]
    assert declared["name"] == "set_model_response"
    assert declared.get("parametersJsonSchema") == report


def test_an_answer_of_any_json_has_no_schema() -> None:
    body = body_of({"model": FLASH_3, "output_schema": True})

    assert body["generationConfig"] == {"responseMimeType": "application/json"}


def test_a_picture_in_a_system_message_does_not_vanish() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    told = {"role": "system", "content": [{"type": "text", "text": "Look."}, picture]}

    with pytest.raises(ModelFailed, match="image_url of a system message") as failed:
        body_of({"messages": [told, HELLO]})

    assert failed.value.reason == "unsupported_content"
