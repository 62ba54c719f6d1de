"""Somebody who answers what tools ask, once they have heard of it, and again until that is taken.

It must not look into the store: what it knows, it was told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from faults.clients import PATIENCE_MS, Site, Subscriber

ANSWER = "go on"


@dataclass
class Answerer:
    """Reads along with a subscriber; never answers before being asked."""

    site: Site
    ear: Subscriber
    twice: bool = False
    """Sends each answer once more although it was taken."""

    next_ms: int | None = None
    tries: Counter[str] = field(default_factory=Counter)
    """By wait."""

    _taken: set[str] = field(default_factory=set)

    def act(self, *, meanwhile: bool) -> bool:
        """Answer the oldest question that is open."""
        del meanwhile
        waits = self.next_ms is not None and self.site.clock.now < self.next_ms
        asked = [wait for wait in self._asked() if wait not in self._taken]
        if waits or not asked:
            return False
        wait = asked[0]
        self.tries[wait] += 1
        self.next_ms = self.site.clock.now + PATIENCE_MS * 2 ** self.tries[wait]
        if self._send(wait):
            self._taken.add(wait)
            self.next_ms = None
            if self.twice and self._send(wait) == {"ok": True}:
                self.site.wrong.append(f"the answer to {wait} was taken twice")
        return True

    def _asked(self) -> list[str]:
        """Return the questions of which the subscriber has heard, in order."""
        payloads = [event["payload"] for event in self.ear.follower.events]
        return [
            one["id"]
            for one in payloads
            if one["type"] == "call.wait.opened" and one["kind"] == "question"
        ]

    def _send(self, wait: str) -> dict[str, Any]:
        site = self.site
        found = site.invoke("http_api", lambda p: site.functions.answer(p, wait, ANSWER))
        status, said = found or (0, {})
        if status not in {0, 200, 503}:
            site.wrong.append(f"the answer to {wait} was answered {status} {said.get('code')}")
        return said if status == 200 else {}
