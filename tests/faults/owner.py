"""The owner of a session: resumes what is paused and runs the client's own tools, having thought.

It must not look into the store: what it knows, a subscriber of its own was shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from faults.clients import PATIENCE_MS, Site
from faults.follower import Follower
from unit.drive.world import KEY

DONE: Final = {202, 409}
"""Accepted, or over already: an earlier request was, whose answer never came."""


@dataclass
class Owner:
    """Answers whatever waits for a person."""

    site: Site
    follower: Follower
    thinks_ms: int
    twice: bool = False
    """Sends each answer once more although it was accepted."""

    next_ms: int | None = None
    said: list[tuple[str, int]] = field(default_factory=list)
    """What was answered, and with which status."""

    _since: dict[str, int] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)

    def act(self, *, meanwhile: bool) -> bool:
        """Answer what was thought about for long enough."""
        if meanwhile or (self.next_ms is not None and self.site.clock.now < self.next_ms):
            return False
        self.next_ms = None
        for name, answer in self._open():
            due_ms = self._since.setdefault(name, self.site.clock.now) + self.thinks_ms
            if due_ms > self.site.clock.now:
                self.next_ms = min(self.next_ms or due_ms, due_ms)
                continue
            self._answer(name, answer)
            return True
        return False

    def _answer(self, name: str, answer: dict[str, Any]) -> None:
        status = self._send(answer)
        if status in DONE:
            self._settled.add(name)
            self.said.append((name, status))
        else:
            self.next_ms = self.site.clock.now + PATIENCE_MS
        if status in DONE and self.twice and self._send(answer) not in {0, *DONE}:
            self.site.wrong.append(f"the answer to {name}, sent twice, was refused")
        if status not in {0, 503, *DONE}:
            self.site.wrong.append(f"the answer to {name} was answered {status}")

    def _send(self, answer: dict[str, Any]) -> int:
        """Return the status, 0 where nobody answered."""
        site, wanted = self.site, {"session_id": KEY.session, "input": answer}
        status, _ = site.invoke("http_api", lambda p: site.functions.http_api(p, wanted)) or (0, {})
        return status

    def _open(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield what waits for an answer, as far as was shown."""
        payloads = [event["payload"] for event in self.follower.events]
        clients = {
            one["id"]
            for one in payloads
            if one["type"] == "tool.call.requested" and one["handler"] == "client"
        }
        for one in payloads:
            name = str(one.get("interrupt_id") or one.get("id") or "")
            if name in self._settled:
                continue
            if one["type"] == "session.interrupted":
                yield name, {"type": "interrupt.resume", "interrupt_id": name}
            elif one["type"] == "tool.call.dispatched" and name in clients:
                yield name, {"type": "tool.result", "id": name, "result": "yes"}
