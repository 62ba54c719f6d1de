"""The neutral model request."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.errors import DefectError
from everturn.session.events.model_calls import ModelCallRequested, RequestContext, RequestHeader
from everturn.session.facts import PathMessage, Route
from everturn.session.request import NO_RESULT, build_request, digest, header_for, rebuild
from unit.session.building import CONFIG, ROUTE, Story, made, only, pinned, types
from unit.session.logs import path_of
from unit.session.transcript import assert_well_formed, problems

USER = {"id": "u1", "role": "user", "content": "Hello."}


def path(*messages: dict[str, Any]) -> list[PathMessage]:
    """Return messages as a path."""
    return [PathMessage(seq, message, 1) for seq, message in enumerate(messages, start=1)]


def calls(*ids: str) -> dict[str, Any]:
    """Return an assistant message that calls tools."""
    return {"id": "a1", "role": "assistant", "tool_calls": [made(one) for one in ids]}


def result(call_id: str, content: str = "ok") -> dict[str, Any]:
    """Return a tool message."""
    return {"id": f"r-{call_id}", "role": "tool", "tool_call_id": call_id, "content": content}


def test_a_header_holds_all_that_is_not_history() -> None:
    """RH-1, L-1, L-5: empty parts are absent; tools keep their order and lose our own fields."""
    config = {
        **CONFIG,
        "temperature": 0,
        "max_completion_tokens": 100,
        "reasoning": {"effort": "low"},
        "stop": ["END"],
        "output_schema": {},
    }

    header = header_for(pinned(config), ROUTE)

    assert header == {
        "config": {
            "provider": "demo",
            "model": "echo",
            "temperature": 0,
            "max_completion_tokens": 100,
            "reasoning": {"effort": "low"},
            "stop": ["END"],
            "output_schema": {},
        },
        "system": "You answer briefly.",
        "tools": [
            {
                "name": "get_weather",
                "description": "Tells the weather.",
                "input": {"type": "object", "properties": {"city": {"type": "string"}}},
            },
            {"name": "set_alarm", "description": ""},
            {"name": "send_email", "description": ""},
            {"name": "look_around", "description": ""},
        ],
    }
    assert header_for(pinned({"model": "demo:echo"}), ROUTE) == {
        "config": {"provider": "demo", "model": "echo"}
    }


def test_a_request_is_the_header_and_the_path() -> None:
    """RH-2, L-2: the config's system comes first, one on the path is kept."""
    note = {"id": "s1", "role": "system", "content": "Be kind."}
    header = {
        "config": {"provider": "demo", "model": "echo", "temperature": 1, "stop": ["END"]},
        "system": "You answer briefly.",
        "tools": [{"name": "get_weather", "description": ""}],
    }

    built = build_request(header, path(note, USER))

    assert built.body == {
        "model": "echo",
        "messages": [{"role": "system", "content": "You answer briefly."}, note, USER],
        "tools": [{"name": "get_weather", "description": ""}],
        "temperature": 1,
        "stop": ["END"],
    }
    assert built.sha256 == digest(built.body)
    assert (built.repairs, built.failed) == ((), frozenset())


def test_every_setting_of_the_header_reaches_the_request() -> None:
    """RH-1: everything in a request that is not history, and nothing beside it."""
    config = {
        "model": "demo:echo",
        "temperature": 0.5,
        "max_completion_tokens": 9,
        "reasoning": {"effort": "high"},
        "stop": ["END"],
    }

    body = build_request(header_for(pinned(config), ROUTE), path(USER)).body

    assert {name: body[name] for name in config} == {**config, "model": "echo"}


HEADER = {"config": {"provider": "demo", "model": "echo"}}


@pytest.mark.parametrize(
    ("messages", "roles", "repairs"),
    [
        ([USER, calls("c1")], "user assistant tool", ("c1",)),
        ([USER, calls("c1", "c2"), result("c2")], "user assistant tool tool", ("c1",)),
        ([USER, result("c9")], "user", ()),
        ([USER, calls("c1"), USER, result("c1")], "user assistant tool user", ()),
        ([USER, calls("c1"), result("c1"), result("c1", "twice")], "user assistant tool", ()),
    ],
    ids=["no result", "one of two", "no call", "late", "twice"],
)
def test_a_request_is_well_formed_whatever_the_path(
    messages: list[dict[str, Any]], roles: str, repairs: tuple[str, ...]
) -> None:
    """L-4, U-14, F2, F10: in the request only."""
    built = build_request(HEADER, path(*messages, USER))

    assert [m["role"] for m in built.body["messages"]] == [*roles.split(), "user"]
    assert built.repairs == repairs
    assert_well_formed(built.body)


def test_a_synthetic_result_says_that_there_is_none() -> None:
    """L-4."""
    built = build_request(HEADER, path(USER, calls("c1")))

    assert built.body["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "c1",
        "name": "get_weather",
        "content": NO_RESULT,
    }


def test_the_first_result_of_a_call_counts() -> None:
    built = build_request(HEADER, path(USER, calls("c1"), result("c1", "1"), result("c1", "2")))

    assert built.body["messages"][-1]["content"] == "1"


def test_results_of_failed_calls_are_known() -> None:
    """W-6: adapters mark them."""
    nodes = [*path(USER, calls("c1", "c2"), result("c1")), PathMessage(4, result("c2"), 1, True)]

    assert build_request(HEADER, nodes).failed == {"c2"}


def test_a_header_is_written_when_it_changes() -> None:
    """RH-1, RH-6: a capacity is no part of it."""
    story = Story(config={**CONFIG, "temperature": 0})
    story.submit()
    story.answer("Hi.")
    story.route = Route("demo", "echo", context_window=8_000)
    capacity = story.submit()
    story.answer("Hi.")
    story.route = Route("demo", "other")
    route = story.submit()
    story.answer("Hi.")
    same = story.submit()

    assert [one.reason for one in story.headers()] == ["initial", "change"]
    assert only(RequestHeader, capacity) == []
    assert only(RequestContext, capacity)[0].context_window == 8_000
    assert only(RequestContext, route)[0].context_window is None
    assert "request.header" in types(route)
    assert not {"request.header", "request.context"} & set(types(same))


def test_a_committed_request_is_rebuilt_from_the_whole_path() -> None:
    """RH-5: what lies outside its boundary is left out."""
    story = Story()
    story.submit()
    story.answer("Hi.")
    story.submit("Again.")
    story.answer("Hi again.")
    first, second = only(ModelCallRequested, story.log)
    header, whole = story.headers()[0].header, path_of(story.values)

    built = [rebuild(asked, header, whole) for asked in (first, second)]

    assert [one.sha256 for one in built] == [
        first.private.request_sha256,
        second.private.request_sha256,
    ]
    assert [len(one.body["messages"]) for one in built] == [2, 4]


def test_a_request_that_is_not_the_committed_one_is_a_defect() -> None:
    """RH-5: never sent, never shown."""
    story = Story()
    story.submit()
    asked = only(ModelCallRequested, story.log)[0]

    with pytest.raises(DefectError, match=asked.id):
        rebuild(asked, {**story.headers()[0].header, "system": "other"}, path_of(story.values))


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], "there is no message"),
        ([calls("c1"), result("c1"), USER], "begins with assistant"),
        ([USER, {"role": "assistant", "content": "Hi."}], "ends with assistant"),
        ([USER, calls("c1"), USER, result("c1")], "c1 has no result before user"),
        ([USER, calls("c1")], "c1 has no result"),
        ([USER, calls("c1", "c2"), result("c2"), result("c1")], "result of c2 is not expected"),
        ([USER, calls("c1"), result("c1"), result("c1")], "result of c1 is not expected"),
        ([USER, calls("c1"), result("c1"), calls("c1"), result("c1")], "'c1' stands 2 times"),
        ([USER, {"role": "assistant"}, USER], "assistant has no content"),
        ([{"role": "user", "content": ""}], "user has no content"),
        ([USER, calls("c1"), {"role": "tool", "tool_call_id": "c1"}], "tool has no content"),
        ([USER, calls(""), result("")], "a call of assistant lacks its id or its name"),
    ],
)
def test_the_reader_of_requests_is_strict(messages: list[dict[str, Any]], told: str) -> None:
    assert any(told in problem for problem in problems(messages))
