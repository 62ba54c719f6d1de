"""Drivers in processes whose clocks disagree. Source: field case F14."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain, cycle
from typing import Any

import pytest

from e2e.client import PATIENT, Client, Ended, new_id
from e2e.scripted_worker import ScriptedWorker, tool
from e2e.socket_client import Follower
from e2e.sse_reader import Reader
from e2e.stage import Setup
from e2e.waiting import until
from everturn_local.runtime import LocalRuntime

AHEAD_S, BEHIND_S = 2.5, -12.5
"""Further apart than a new process or a take-over takes, or nothing would be seen of it."""

LEASE_S = 2
SLOWLY = "".join(f"[[say:word{n:02} ]][[sleep:50]]" for n in range(20))
WHOLE = "".join(f"word{n:02} " for n in range(20))


@pytest.fixture(scope="module")
def setup() -> Setup:
    """Drivers that can be killed, and are missed soon; the same as in `test_kill`."""
    lease = ("EVERTURN_LEASE_SECONDS", str(LEASE_S))
    base = Setup()
    return Setup((*base.environment, lease), frozenset({"driver"}))


def set_clocks(runtime: LocalRuntime, clocks: Iterator[float]) -> None:
    """Have the next drivers begin in new processes with these clocks."""
    runtime.faults.clock = lambda _function: next(clocks)
    until(lambda: runtime.functions.running().count("driver") == 0)
    runtime.kill("driver")


def at_s(event: dict[str, Any]) -> float:
    """Return when an event says that it happened, in epoch seconds."""
    return datetime.fromisoformat(event["occurred_at"]).timestamp()


def drivers_time(ended: Ended) -> float:
    """Return when the driver of a turn says that it recorded the answer."""
    types = [event["payload"]["type"] for event in ended.events]
    return at_s(ended.events[types.index("llm.call.completed")])


def test_f14_drivers_whose_clocks_disagree_write_consecutive_turns_in_the_order_of_their_numbers(
    client: Client, runtime: LocalRuntime
) -> None:
    clocks = chain([AHEAD_S, BEHIND_S], cycle([AHEAD_S]))
    set_clocks(runtime, clocks)
    session_id = new_id("session")
    follower = Follower()
    turns = [client.run("[[say:one]]", session_id)]
    with client.connect() as socket:
        socket.subscribe(session_id)
        for name in ("two", "three"):
            set_clocks(runtime, clocks)
            turns.append(client.run(f"[[say:{name}]]", session_id))
        follower.until_end(socket, turns=3)

    said = [m["content"] for m in client.messages(session_id) if m["role"] == "assistant"]
    assert said == ["one", "two", "three"]
    recorded = [drivers_time(turn) for turn in turns]
    assert recorded[1] < recorded[0] < recorded[2]  # as the clocks have it
    whole = client.events(session_id)
    assert [event["seq"] for event in whole] == [*range(1, len(whole) + 1)]
    assert follower.types() == [e["payload"]["type"] for e in whole][: len(follower.events)]
    assert follower.early == {}
    numbers = [e["payload"]["turn"] for e in whole if e["payload"]["type"] == "turn.admitted"]
    assert numbers == [1, 2, 3]


def test_f14_a_driver_whose_clock_is_behind_takes_over_and_readers_see_one_order(
    client: Client, worker: ScriptedWorker, runtime: LocalRuntime
) -> None:
    client.put_agent("user", worker=worker.url, tools=[tool("go")], retry=PATIENT)
    set_clocks(runtime, chain([AHEAD_S], cycle([BEHIND_S])))
    turn = client.start(f"[[say:first]][[call:go]]{SLOWLY}", agent_id="user")
    follower = Follower()
    places: list[tuple[int, int]] = []
    with client.connect() as socket:
        socket.subscribe(turn.session_id)
        follower.read(socket, lambda one: note(one, places) and "word" in one.text())
        until(lambda: runtime.kill("driver"))
        follower.read(socket, lambda one: note(one, places) and one.turns_ended() == 1)
    ended = client.end_of(turn)
    reader = Reader(client, turn.session_id)
    reader.come_back()

    assert ended.answer == WHOLE
    whole = client.events(turn.session_id)
    second = [event for event in whole if event["payload"]["type"] == "llm.call.dispatched"][-2:]
    assert [one["payload"]["attempt"] for one in second] == [1, 2]
    assert at_s(second[1]) < at_s(second[0])
    assert places == sorted(set(places))
    assert follower.early == {}
    assert follower.text(attempt=2) == WHOLE
    assert follower.types() == [e["payload"]["type"] for e in whole][: len(follower.events)]
    assert reader.events() == whole


def note(follower: Follower, places: list[tuple[int, int]]) -> bool:
    """Note where a follower's deltas have got to, each place once."""
    if follower.place != (0, 0) and (not places or places[-1] != follower.place):
        places.append(follower.place)
    return True
