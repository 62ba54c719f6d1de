"""A Lambda function that acts as a test tells it, and notes what it was sent."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Act = Callable[[dict[str, Any]], Any]
"""From a DecisionRequest to what the function returns; what it raises, the function raises."""

NAME = "everturn-worker-scripted"


@dataclass(slots=True)
class ScriptedFunction:
    """Plays for each tool one act after another, the last one for ever."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    """Set at the end of a test: whoever hangs stops hanging."""

    _acts: dict[str, deque[Act]] = field(default_factory=lambda: defaultdict(deque))
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def plays(self, tool: str, *acts: Act) -> None:
        """Say what happens to invocations for a tool."""
        self._acts[tool].extend(acts)

    def sent(self, tool: str) -> list[dict[str, Any]]:
        """Return the requests for a tool, in the order they came."""
        return [one for one in self.requests if one["trigger"]["name"] == tool]

    def take(self, request: dict[str, Any]) -> Any:
        """Handle one invocation."""
        with self._guard:
            self.requests.append(request)
            acts = self._acts[request["trigger"]["name"]]
            act = acts.popleft() if len(acts) > 1 else acts[0] if acts else gives("fine")
        return act(request)


@dataclass(slots=True)
class Registered:
    """The function that a runtime knows; what it does is the test's at hand."""

    at_hand: ScriptedFunction = field(default_factory=ScriptedFunction)

    def __call__(self, event: dict[str, Any], _context: object) -> Any:
        """Be invoked."""
        return self.at_hand.take(event)


REGISTERED = Registered()


def gives(value: Any, **more: Any) -> Act:
    """Return a result; `state` may be among `more`."""
    return lambda _request: {"actions": [{"type": "tool.result", "result": value}], **more}


def raises(error: Exception) -> Act:
    """Fail."""

    def act(_request: dict[str, Any]) -> Any:
        raise error

    return act


def hangs(function: ScriptedFunction, act: Act | None = None) -> Act:
    """Do nothing until the test is over, then `act`."""

    def wait(request: dict[str, Any]) -> Any:
        function.over.wait(60)
        return (act or gives("late"))(request)

    return wait
