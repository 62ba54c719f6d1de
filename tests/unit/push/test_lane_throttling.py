"""Architecture 7: on 429 deltas are merged and come less often; none is sent a second time."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise

import pytest

from everturn.push.coalesce import MAX_CHARS
from everturn.push.frames import DeltaPush
from everturn.push.lanes import Lanes
from everturn.push.outcome import Throttled
from unit.push.gateway import QUICK, Gateway, delta, event, eventually


def test_a_throttled_delta_is_merged_with_what_came_since(gateway: Gateway, lanes: Lanes) -> None:
    gateway.held["c1"] = threading.Event()
    gateway.script["c1"] = [Throttled(), Throttled()]

    lanes.push("c1", delta("a"))
    assert eventually(lambda: bool(gateway.posted_s["c1"]))
    lanes.push("c1", delta("b"))
    lanes.push("c1", delta("x", subscription="other"))
    lanes.push("c1", delta("c"))
    gateway.held["c1"].set()

    assert lanes.flush(5)
    assert sorted("".join(gateway.taken["c1"])) == ["x"]
    assert gateway.refused["c1"] == ["a", "abc"]
    lanes.push("c1", delta("d"))
    assert lanes.flush(5)
    assert gateway.taken["c1"] == ["x", "abcd"]
    assert lanes.lost_deltas == 0


def test_a_throttled_delta_is_never_sent_again_as_it_was(gateway: Gateway, lanes: Lanes) -> None:
    gateway.script["c1"] = [Throttled()] * 3

    for text in "abcd":
        lanes.push("c1", delta(text))
        assert lanes.flush(5)

    assert gateway.refused["c1"] == ["a", "ab", "abc"]
    assert gateway.taken["c1"] == ["abcd"]


def test_each_refusal_doubles_the_wait_for_the_next_delta_and_each_success_halves_it(
    gateway: Gateway,
) -> None:
    lanes = Lanes(gateway.post, on_end=gateway.on_end, limits=replace(QUICK, interval_s=0.02))
    gateway.script["c1"] = [Throttled(), Throttled()]

    for text in "abcde":
        lanes.push("c1", delta(text))
        assert lanes.flush(5)

    waited_s = [then - before for before, then in pairwise(gateway.posted_s["c1"])]
    assert gateway.taken["c1"] == ["abc", "d", "e"]
    least_s = [0.04, 0.08, 0.08, 0.04]
    assert [waited >= least for waited, least in zip(waited_s, least_s, strict=True)] == [True] * 4


@pytest.mark.parametrize(
    "later",
    [delta("b", call_id="next"), delta("b" * MAX_CHARS), replace(delta("b"), repeated=True)],
    ids=["of the next call", "too long for one frame", "repeated"],
)
def test_what_does_not_continue_a_throttled_delta_is_sent_without_it(
    gateway: Gateway, lanes: Lanes, later: DeltaPush
) -> None:
    gateway.script["c1"] = [Throttled()]
    lanes.push("c1", delta("a"))
    assert lanes.flush(5)

    lanes.push("c1", later)

    assert lanes.flush(5)
    assert gateway.taken["c1"] == [later.delta.text]
    assert lanes.lost_deltas == 1


def test_a_throttled_delta_does_not_hold_up_the_event_behind_it(gateway: Gateway) -> None:
    lanes = Lanes(gateway.post, on_end=gateway.on_end, limits=replace(QUICK, interval_s=60.0))
    gateway.held["c1"] = threading.Event()
    gateway.script["c1"] = [Throttled()]

    lanes.push("c1", delta("a"))
    lanes.push("c1", event(1))
    gateway.held["c1"].set()

    assert lanes.flush(5)
    assert (gateway.taken["c1"], gateway.refused["c1"]) == (["#1"], ["a"])


def test_a_throttled_delta_is_not_lost_to_an_event_in_the_middle_of_the_answer(
    gateway: Gateway, lanes: Lanes
) -> None:
    gateway.script["c1"] = [Throttled()]
    lanes.push("c1", delta("a"))
    assert lanes.flush(5)

    lanes.push("c1", event(1))
    assert lanes.flush(5)
    lanes.push("c1", delta("b"))

    assert lanes.flush(5)
    assert gateway.taken["c1"] == ["#1", "ab"]
