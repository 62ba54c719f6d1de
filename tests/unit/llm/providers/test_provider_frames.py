"""Frames, error bodies and names, as all wires read and write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.exchange import Exchange
from everturn.llm.providers.http_model import Asked, Encoded, HttpModel, frame_object
from everturn.llm.providers.names import ToolNames
from everturn.llm.providers.refusal import ErrorBody, error_body
from everturn.llm.providers.shape import shaped
from everturn.outbound.sse import SseFrame
from everturn.protocol.llm import LlmRequest


@pytest.mark.parametrize("data", ["", "{", "[" * 100_000, "[]", '"x"', "null"])
def test_a_frame_that_is_no_object_ends_the_attempt(data: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        frame_object(SseFrame("message", data))

    assert failed.value.code is FailureCode.SERVER


def test_half_a_surrogate_pair_in_a_frame_is_lost_and_a_whole_one_is_a_character() -> None:
    data = r'{"half":"\ud83d","whole":"\ud83d\ude00","late":"\uDE00x"}'

    assert frame_object(SseFrame("message", data)) == {
        "half": "\ufffd",
        "whole": "\U0001f600",
        "late": "\ufffdx",
    }


def test_a_frame_may_nest_deeply() -> None:
    deep = "[" * 500 + "]" * 500

    assert frame_object(SseFrame("message", f'{{"deep":{deep}}}')) == {"deep": json.loads(deep)}


@pytest.mark.parametrize("details", [5, "x", {"a": 1}, [5, None, {"reason": 3}]])
def test_details_that_are_no_list_of_objects_are_left_out(details: Any) -> None:
    body = {"error": {"message": "No.", "details": details}}

    assert error_body(json.loads(json.dumps(body))) == ErrorBody("No.", ())


def test_a_reserved_name_is_no_tools_name() -> None:
    names = ToolNames(["report", "other"], reserved="report")

    assert names.to_wire("report") != "report"
    assert names.from_wire(names.to_wire("report")) == "report"
    assert names.to_wire("other") == "other"


def test_a_tool_that_has_an_adapters_own_name_goes_by_another_one() -> None:
    tools = [{"name": "final", "description": ""}]

    shape = shaped({"messages": [], "tools": tools}, takes_turns=True, reserved="final")

    assert [tool["name"] for tool in shape.tools] != ["final"]


@pytest.mark.parametrize("odd", ["\ud83d", float("nan")])
def test_a_request_that_json_cannot_hold_is_refused_and_ends_no_driver(odd: Any) -> None:
    class Odd:
        provider = "Odd"

        def encode(self, asked: Asked) -> Encoded:
            reader: Any = None
            return Encoded(asked.beside.account.base_url, {}, {"odd": odd}, reader)

    model = HttpModel(Exchange("any"), Odd())
    request = LlmRequest(model="m", messages=())

    with pytest.raises(ModelFailed, match="JSON cannot hold") as failed:
        list(model.stream(request, attempt=1, cancelled=bool))

    assert failed.value.code is FailureCode.INVALID_REQUEST
