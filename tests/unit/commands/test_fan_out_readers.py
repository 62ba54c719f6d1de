"""Fan-out: one slow reader holds up nobody's frames, and a batch only for so long."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from time import monotonic

import pytest

from everturn.commands.fan_out import FanOut
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Watcher
from everturn.push.lane import LaneEnd
from everturn.push.lanes import Lanes
from everturn.push.outcome import Gone, PushOutcome, Sent, Throttled
from unit.drive.world import KEY, TENANT, World

OTHER = SessionKey(TENANT, "s2")


class Gateway:
    """Takes every frame but those to `slow` and `gone`."""

    def __init__(self) -> None:
        self.taken: dict[str, list[int]] = defaultdict(list)
        self.ends: list[tuple[str, LaneEnd]] = []
        self.all_of_others = threading.Event()
        self.wanted = 0

    def post(self, connection_id: str, frame: bytes) -> PushOutcome:
        if connection_id == "slow":
            return Throttled()
        if connection_id == "gone":
            return Gone()
        self.taken[connection_id].append(json.loads(frame)["seq"])
        if sum(len(seqs) for seqs in self.taken.values()) == self.wanted:
            self.all_of_others.set()
        return Sent()

    def lanes(self, _key: SessionKey) -> Lanes:
        return Lanes(self.post, on_end=lambda one, why: self.ends.append((one, why)))


def test_a_reader_who_is_slow_or_gone_delays_nobody_and_the_batch_only_for_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("everturn.commands.fan_out.FLUSH_S", 0.5)
    world, gateway = World(), Gateway()
    fan_out = FanOut(world.store, world.wake, gateway.lanes)
    for session, readers in (("s1", ("slow", "gone", "quick1")), ("s2", ("quick2",))):
        world.submit("Hello", session=session)
        for reader in readers:
            world.store.add_watcher(SessionKey(TENANT, session), Watcher(reader, "sub"))
    first, second = world.log("s1")[0], world.log("s2")[0]
    gateway.wanted = first.last_seq + second.last_seq

    begun = monotonic()
    fan_out(KEY, first)
    fan_out(OTHER, second)
    are_out_before_the_flush = gateway.all_of_others.wait(5)
    fan_out.flush()

    assert are_out_before_the_flush
    assert gateway.taken == {
        "quick1": [*range(1, first.last_seq + 1)],
        "quick2": [*range(1, second.last_seq + 1)],
    }
    assert sorted(gateway.ends) == [("gone", LaneEnd.GONE), ("slow", LaneEnd.LATE)]
    assert monotonic() - begun < 5
