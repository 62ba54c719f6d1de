"""Architecture 7: lanes keep order, lose no event silently and never wait for one another."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import replace
from time import monotonic, sleep

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.push.frames import DeltaPush, EventPush
from everturn.push.lane import LaneEnd, LaneLimits
from everturn.push.lanes import Lanes
from everturn.push.outcome import Failed, Gone, PushOutcome, Sent, Throttled, TooLarge
from examples import per_cent
from unit.push.gateway import QUICK, Gateway, delta, event, eventually


def test_a_lane_keeps_the_order_of_events_and_deltas(gateway: Gateway, lanes: Lanes) -> None:
    taken = [lanes.push("c1", push) for push in (event(1), delta("a"), event(2), delta("b"))]

    assert taken == [True] * 4
    assert lanes.flush(5)
    assert gateway.taken["c1"] == ["#1", "a", "#2", "b"]


def test_a_throttled_or_failing_event_is_tried_again_before_the_next(
    gateway: Gateway, lanes: Lanes
) -> None:
    gateway.script["c1"] = [*[Throttled()] * 8, *[Failed("InternalError")] * 4]

    lanes.push("c1", event(1))
    lanes.push("c1", event(2))

    assert lanes.flush(5)
    assert (gateway.taken["c1"], gateway.ends) == (["#1", "#2"], [])


def test_deltas_that_wait_for_a_slow_connection_become_one(gateway: Gateway, lanes: Lanes) -> None:
    gateway.held["c1"] = threading.Event()

    lanes.push("c1", event(1))
    for text in "abcdef":
        lanes.push("c1", delta(text))
    lanes.push("c1", event(2))
    lanes.push("c1", delta("g"))
    gateway.held["c1"].set()

    assert lanes.flush(5)
    assert gateway.taken["c1"] == ["#1", "abcdef", "#2", "g"]


@pytest.mark.parametrize("push", [event(1), delta("a")])
def test_a_gone_connection_closes_its_lane_and_is_reported_once(
    gateway: Gateway, lanes: Lanes, push: EventPush | DeltaPush
) -> None:
    gateway.script["c1"] = [Gone()]

    lanes.push("c1", push)

    assert eventually(lambda: gateway.ends == [("c1", LaneEnd.GONE)])
    assert lanes.flush(5)
    assert not lanes.push("c1", event(2))
    assert gateway.taken["c1"] == []


def test_a_forgotten_connection_may_begin_anew(gateway: Gateway, lanes: Lanes) -> None:
    gateway.script["c1"] = [Gone()]
    lanes.push("c1", event(1))
    assert eventually(lambda: bool(gateway.ends))

    lanes.forget("c1")
    lanes.forget("never seen")

    assert lanes.push("c1", event(2))
    assert lanes.flush(5)
    assert gateway.taken["c1"] == ["#2"]


@pytest.mark.parametrize("outcomes", [[TooLarge()], [Failed("500")] * 5])
def test_an_event_that_cannot_be_delivered_ends_the_lane_loudly(
    gateway: Gateway, lanes: Lanes, outcomes: list[PushOutcome]
) -> None:
    gateway.script["c1"] = list(outcomes)

    lanes.push("c1", event(1))

    assert eventually(lambda: gateway.ends == [("c1", LaneEnd.FAILED)])
    assert not lanes.push("c1", event(2))


@pytest.mark.parametrize("outcome", [TooLarge(), Failed("500")])
def test_a_delta_that_cannot_be_delivered_is_counted_and_forgotten(
    gateway: Gateway, lanes: Lanes, outcome: PushOutcome
) -> None:
    gateway.script["c1"] = [outcome]

    lanes.push("c1", delta("a"))
    lanes.push("c1", event(1))

    assert lanes.flush(5)
    assert (gateway.taken["c1"], lanes.lost_deltas, gateway.ends) == (["#1"], 1, [])


@pytest.mark.parametrize(
    "limits", [replace(QUICK, waiting=10), replace(QUICK, waiting_bytes=10_000)]
)
def test_a_reader_that_falls_too_far_behind_loses_its_lane_not_an_event(
    gateway: Gateway, limits: LaneLimits
) -> None:
    lanes = Lanes(gateway.post, on_end=gateway.on_end, limits=limits)
    gateway.held["c1"] = threading.Event()

    taken = [lanes.push("c1", event(seq, size=1000)) for seq in range(1, 20)]
    gateway.held["c1"].set()

    assert taken[-1] is False
    assert eventually(lambda: gateway.ends == [("c1", LaneEnd.FULL)])
    assert gateway.taken["c1"] in ([], ["#1"])


def test_deltas_over_the_limit_give_way_to_events(gateway: Gateway) -> None:
    limits = replace(QUICK, waiting=3)
    lanes = Lanes(gateway.post, on_end=gateway.on_end, limits=limits)
    gateway.held["c1"] = threading.Event()
    lanes.push("c1", event(1))
    assert eventually(lambda: lanes.push("c1", delta("a", call_id="first")))

    taken = [lanes.push("c1", delta("b", call_id=f"c{n}")) for n in range(6)]
    gateway.held["c1"].set()

    assert taken == [True] * 6
    assert lanes.flush(5)
    assert lanes.lost_deltas >= 3
    assert gateway.ends == []


def test_one_slow_connection_delays_nobody_else(gateway: Gateway, lanes: Lanes) -> None:
    gateway.held["slow"] = threading.Event()

    begun = monotonic()
    for seq in range(1, 6):
        lanes.push("slow", event(seq))
        lanes.push("quick", event(seq))

    assert eventually(lambda: gateway.taken["quick"] == ["#1", "#2", "#3", "#4", "#5"])
    assert monotonic() - begun < 10
    assert not lanes.flush(0.01)
    gateway.held["slow"].set()
    assert lanes.flush(5)
    assert gateway.taken["slow"] == gateway.taken["quick"]


def test_a_reader_who_is_owed_events_when_the_lanes_close_is_reported(
    gateway: Gateway, lanes: Lanes
) -> None:
    gateway.script["c1"] = [Throttled()] * 1000
    lanes.push("c1", event(1))
    lanes.push("c1", event(2))
    lanes.push("c2", event(1))
    assert not lanes.flush(0.05)

    lanes.close()

    assert lanes.flush(5)
    assert gateway.ends == [("c1", LaneEnd.LATE)]
    assert not lanes.push("c1", event(3))
    assert (gateway.taken["c1"], gateway.taken["c2"]) == ([], ["#1"])


def test_a_reader_who_is_owed_deltas_only_is_left_in_peace(gateway: Gateway) -> None:
    lanes = Lanes(gateway.post, on_end=gateway.on_end, limits=replace(QUICK, interval_s=60.0))
    gateway.script["c1"] = [Throttled()]
    lanes.push("c1", delta("a"))
    assert lanes.flush(5)
    lanes.push("c1", delta("b"))

    lanes.close()

    assert lanes.flush(5)
    assert gateway.ends == []
    assert not lanes.push("c1", delta("c"))


def test_a_flush_after_the_close_waits_for_the_reports(gateway: Gateway) -> None:
    told: list[str] = []

    def on_end(connection_id: str, _why: LaneEnd) -> None:
        sleep(0.05)  # the way to the gateway
        told.append(connection_id)

    lanes = Lanes(gateway.post, on_end=on_end, limits=QUICK)
    gateway.script["c1"] = [Throttled()] * 1000
    lanes.push("c1", event(1))

    lanes.close()

    assert lanes.flush(5)
    assert told == ["c1"]


def test_an_idle_lane_has_no_thread(gateway: Gateway, lanes: Lanes) -> None:
    lanes.push("c1", event(1))
    assert lanes.flush(5)

    alive = [thread.name for thread in threading.enumerate() if thread.is_alive()]

    assert eventually(lambda: "push-lane" not in [t.name for t in threading.enumerate()]), alive
    assert gateway.taken["c1"] == ["#1"]


@settings(deadline=None, max_examples=per_cent(40))
@given(
    pushes=st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=20),
    outcomes=st.lists(st.sampled_from([Sent(), Throttled(), Failed("x")]), max_size=12),
)
def test_every_event_arrives_in_order_whatever_the_gateway_says(
    pushes: list[tuple[str, bool]], outcomes: list[PushOutcome]
) -> None:
    gateway = Gateway()
    limits = LaneLimits(interval_s=0.0005, backoff_s=0.0001, max_backoff_s=0.0002, failures=50)
    lanes = Lanes(gateway.post, on_end=gateway.on_end, limits=limits)
    gateway.script = defaultdict(list, {name: list(outcomes) for name in "ab"})

    for seq, (connection_id, is_event) in enumerate(pushes, start=1):
        lanes.push(connection_id, event(seq) if is_event else delta("d"))

    assert lanes.flush(10)
    for name in "ab":
        arrived = [frame for frame in gateway.taken[name] if frame.startswith("#")]
        assert arrived == [
            f"#{seq}"
            for seq, (to, is_event) in enumerate(pushes, start=1)
            if is_event and to == name
        ]
