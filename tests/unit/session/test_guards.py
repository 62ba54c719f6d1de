"""What is counted of replies that ask for tools. Source: agent-runs 8.1 and 8.2."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.session.guard_counts import Guard
from everturn.session.guards import (
    SIGNATURE_CHARS,
    Rules,
    count,
    output_repairs,
    rules_of,
    signature,
    text_of,
)
from unit.session.building import made

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
arguments = st.dictionaries(st.text(max_size=3), json_values).map(json.dumps) | st.text(max_size=9)
calls = st.lists(st.builds(made, st.text(max_size=3), st.sampled_from("abc"), arguments))


@given(batch=calls, data=st.data())
def test_a_signature_does_not_know_the_order_of_calls_nor_their_ids(
    batch: list[dict[str, Any]], data: st.DataObject
) -> None:
    mixed = [{**one, "id": f"x{at}"} for at, one in enumerate(data.draw(st.permutations(batch)))]

    assert signature(mixed) == signature(batch)
    assert len(signature(batch)) == SIGNATURE_CHARS


@given(value=st.dictionaries(st.text(max_size=3), json_values))
def test_a_signature_does_not_know_how_arguments_are_spelled(value: dict[str, Any]) -> None:
    spaced = json.dumps(dict(reversed([*value.items()])), indent=2)

    assert signature([made("a", "t", spaced)]) == signature([made("b", "t", json.dumps(value))])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([made("a", "t", '{"x":1}')], [made("a", "t", '{"x":2}')]),
        ([made("a", "t", "{}")], [made("a", "u", "{}")]),
        ([made("a")], [made("a"), made("b")]),
        ([made("a", "t", "{bad")], [made("a", "t", '"{bad"')]),
        ([made("a", "t", "{bad")], [made("a", "t", "{worse")]),
        ([made("a", "ab", "{}")], [made("a", "a", "b{}")]),
    ],
)
def test_other_calls_have_another_signature(one: Any, other: Any) -> None:
    assert signature(one) != signature(other)


def test_no_arguments_are_those_without_fields() -> None:
    assert signature([made("a", "t", "")]) == signature([made("a", "t", "{}")])


def test_half_a_surrogate_pair_is_counted_like_any_text() -> None:
    assert signature([made("a", "t", "\ud800")]) == signature([made("b", "t", "\ud800")])


@pytest.mark.parametrize(
    ("guards", "rules"),
    [
        (None, None),
        ({}, None),
        ({"loop_detection": False, "tool_budgets": {}}, None),
        ({"output_repairs": 3}, None),
        ({"loop_detection": {}}, Rules(3, 6)),
        ({"loop_detection": {"consecutive_threshold": 2}}, Rules(2, 6)),
        ({"loop_detection": {"hard_cutoff_threshold": 9}}, Rules(3, 9)),
        ({"max_tool_turns": 4}, Rules(max_tool_turns=4)),
        ({"tool_budgets": {"t": {"max_calls": 0}}}, Rules(budgets={"t": 0})),
        (
            {"loop_detection": {}, "tool_budgets": {"t": {"max_calls": 1}}, "max_tool_turns": 2},
            Rules(3, 6, {"t": 1}, 2),
        ),
    ],
)
def test_a_config_that_says_nothing_has_no_guard(guards: Any, rules: Rules | None) -> None:
    assert rules_of({"model": "m", "guards": guards}) == rules


@pytest.mark.parametrize(
    ("guards", "repairs"),
    [(None, 2), ({}, 2), ({"output_repairs": 0}, 0), ({"output_repairs": 7}, 7)],
)
def test_two_repairs_are_tried_unless_told_otherwise(guards: Any, repairs: int) -> None:
    assert output_repairs({"guards": guards}) == repairs


@pytest.mark.parametrize(
    ("streak", "skips", "is_final", "told"),
    [
        (1, False, False, None),
        (2, False, False, None),
        (3, True, False, False),
        (4, True, False, None),
        (5, True, False, None),
        (6, True, True, True),
        (7, True, True, None),
    ],
)
def test_a_loop_is_skipped_from_the_nudge_on_and_told_of_twice(
    streak: int, skips: bool, is_final: bool, told: bool | None
) -> None:
    batch = [made("a", "t"), made("b", "t"), made("c", "u")]
    before = Guard(signature(batch), streak - 1, streak - 1)

    verdict = count(Rules(3, 6), before, batch, "t1")

    assert verdict.noted is not None
    assert (verdict.noted.streak, verdict.noted.tool_turns) == (streak, streak)
    assert (verdict.noted.skips, verdict.noted.is_final) == (skips, is_final)
    loop = verdict.loop
    assert (loop.hard_cutoff if loop else None) is told
    if loop is not None:
        assert (loop.turn_id, loop.consecutive_count, loop.tools) == ("t1", streak, ("t", "u"))


def test_another_batch_begins_anew() -> None:
    before = Guard("other", 5, 5, (("t", 2),))

    verdict = count(Rules(3, 6, {"t": 9}), before, [made("a", "t")], "t1")

    assert verdict.noted is not None
    assert (verdict.noted.streak, verdict.noted.tool_turns, verdict.noted.calls) == (1, 6, {"t": 3})


def test_only_tools_with_a_budget_are_counted_and_each_for_itself() -> None:
    batch = [made("a", "t"), made("b", "u"), made("c", "t"), made("d", "t"), made("e", "v")]

    verdict = count(Rules(budgets={"t": 2, "v": 0, "w": 1}), Guard(), batch, "t1")

    assert verdict.noted is not None
    assert (verdict.noted.calls, verdict.noted.exceeded) == ({"t": 3, "v": 1}, ("d", "e"))
    told = [(one.tool, one.call_id, one.max_calls, one.call_index) for one in verdict.overruns]
    assert told == [("t", "d", 2, 3), ("v", "e", 0, 1)]


def test_calls_of_a_batch_that_is_skipped_are_counted_and_not_told_of() -> None:
    batch = [made("a", "t")]

    verdict = count(Rules(2, 9, {"t": 1}), Guard(signature(batch), 1, 1, (("t", 1),)), batch, "t1")

    assert verdict.noted is not None
    assert (verdict.noted.calls, verdict.noted.exceeded, verdict.overruns) == ({"t": 2}, (), ())


@pytest.mark.parametrize(("before", "is_final"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_last_reply_with_tools_makes_the_next_one_final(before: int, is_final: bool) -> None:
    verdict = count(Rules(max_tool_turns=3), Guard(tool_turns=before), [made("a")], "t1")

    assert verdict.noted is not None
    assert (verdict.noted.skips, verdict.noted.is_final) == (False, is_final)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("{}", "{}"),
        (
            [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}],
            "ab",
        ),
    ],
)
def test_the_text_of_an_answer_is_that_of_its_parts(content: Any, text: str) -> None:
    assert text_of(content) == text
