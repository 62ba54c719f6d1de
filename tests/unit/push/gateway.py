"""A gateway that answers as scripted, and what is pushed to it. No test lives here."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from time import monotonic, sleep
from typing import Any

from everturn.protocol.llm import StreamDelta
from everturn.push.frames import DeltaPush, EventPush
from everturn.push.lane import LaneEnd, LaneLimits
from everturn.push.outcome import PushOutcome, Sent

QUICK = LaneLimits(interval_s=0.01, backoff_s=0.001, max_backoff_s=0.004)
DELTA = DeltaPush(
    subscription="sub",
    session_id="s1",
    cursor="1.1-1",
    agent_id="a",
    turn_id="t",
    call_id="c",
    attempt=1,
    seq=1,
    delta=StreamDelta(text=""),
)


class Gateway:
    """Answers as scripted, then `Sent`; keeps what it took. A connection may be held up."""

    def __init__(self) -> None:
        self.script: dict[str, list[PushOutcome]] = defaultdict(list)
        self.taken: dict[str, list[str]] = defaultdict(list)
        self.refused: dict[str, list[str]] = defaultdict(list)
        self.held: dict[str, threading.Event] = {}
        self.posted_s: dict[str, list[float]] = defaultdict(list)
        self.ends: list[tuple[str, LaneEnd]] = []

    def post(self, connection_id: str, frame: bytes) -> PushOutcome:
        self.posted_s[connection_id].append(monotonic())
        if connection_id in self.held:
            self.held[connection_id].wait(5)
        outcome = self.script[connection_id].pop(0) if self.script[connection_id] else Sent()
        kept = self.taken if outcome == Sent() else self.refused
        kept[connection_id].append(said(json.loads(frame)))
        return outcome

    def on_end(self, connection_id: str, why: LaneEnd) -> None:
        self.ends.append((connection_id, why))


def said(frame: dict[str, Any]) -> str:
    return f"#{frame['seq']}" if frame["type"] == "event" else str(frame["delta"]["text"])


def event(seq: int, size: int = 0) -> EventPush:
    envelope = {"payload": {"type": "message.new", "pad": "x" * size}}
    return EventPush("sub", "s1", seq, seq - 1, f"{seq}.0-0", envelope)


def delta(text: str, call_id: str = "c", subscription: str = "sub") -> DeltaPush:
    said = StreamDelta(text=text)
    return replace(DELTA, call_id=call_id, subscription=subscription, delta=said)


def eventually(holds: Callable[[], bool]) -> bool:
    deadline_s = monotonic() + 5
    while not holds() and monotonic() < deadline_s:
        sleep(0.002)
    return holds()
