"""Names and ids on the wire: fit for every provider, the same each time, and never two alike."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.providers.names import MAX_CALL_ID_CHARS, ToolNames, to_call_id

EVERYBODYS = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What OpenAI, Anthropic, Bedrock and Gemini all take."""

NAMES = st.one_of(
    st.text(min_size=1, max_size=300),
    st.sampled_from(["a.b", "a_b", "a-b", "a b", "9a", "-a", "größe", "x" * 64, "x" * 65]),
)


@given(st.lists(NAMES, max_size=20))
def test_every_name_fits_and_comes_back(given_names: list[str]) -> None:
    names = ToolNames(given_names)

    on_the_wire = {name: names.to_wire(name) for name in given_names}

    assert all(EVERYBODYS.fullmatch(wire) for wire in on_the_wire.values())
    assert len(set(on_the_wire.values())) == len(set(given_names))
    assert all(names.from_wire(wire) == name for name, wire in on_the_wire.items())


def test_a_name_that_fits_goes_as_it_is() -> None:
    names = ToolNames(["get_weather", "A-1"])

    assert [names.to_wire(name) for name in ("get_weather", "A-1")] == ["get_weather", "A-1"]


@given(NAMES, st.lists(NAMES, max_size=5))
def test_a_name_is_the_same_in_each_request(name: str, others: list[str]) -> None:
    """The prefix of a request stays as it is when tools come and go."""
    alone = ToolNames([name]).to_wire(name)

    if alone not in others:
        assert ToolNames([*others, name]).to_wire(name) == alone


def test_a_tool_named_like_a_made_up_name_keeps_it() -> None:
    made_up = ToolNames(["a.b"]).to_wire("a.b")

    names = ToolNames(["a.b", made_up])

    assert names.to_wire(made_up) == made_up
    assert names.to_wire("a.b") not in {made_up, "a.b"}
    assert names.from_wire(names.to_wire("a.b")) == "a.b"


def test_a_name_that_the_model_made_up_stays_as_it_is() -> None:
    assert ToolNames(["get_weather"]).from_wire("get_wether") == "get_wether"


@given(st.lists(st.text(min_size=1, max_size=60), unique=True, max_size=20))
def test_call_ids_fit_and_differ(ids: list[str]) -> None:
    """X-7, F23."""
    wire = [to_call_id(one) for one in ids]

    assert all(re.fullmatch(rf"[A-Za-z0-9_-]{{1,{MAX_CALL_ID_CHARS}}}", one) for one in wire)
    assert len(set(wire)) == len(ids)
    assert [to_call_id(one) for one in wire] == wire


def test_ids_of_40_characters_go_as_they_are_and_longer_ones_do_not() -> None:
    """An id of ours, `call_<uuid>`, has 41."""
    for chars in (39, 40):
        assert to_call_id("c" * chars) == "c" * chars
    assert len(to_call_id("c" * 41)) == 37
    assert to_call_id("call_01984a3c-7000-7000-8000-000000000001").startswith("call_")
