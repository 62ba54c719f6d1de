"""What a run's stream tells of tools and sub-agents: that they are called, and what came of it.

It must not know whether a call belongs to the run: it is given those that do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from everturn.protocol.json_text import read_json
from everturn.rejections import InvalidJson
from everturn.runs.frames import Tell, Told
from everturn.session.events.children import (
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentRequested,
    SubAgentTurnCompleted,
)
from everturn.session.events.model_calls import ModelCallCompleted
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import (
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
)

SHOWN_CHARS: Final = 32_768
"""Of a result: clients show it, none reads it. Source: agent-runs 4.2."""

SUMMARY_CHARS: Final = 160

Echo = Callable[[str], Mapping[str, Any] | None]
"""A tool's name to what the client said of it: `{kind, …}`."""


@dataclass(frozen=True, slots=True)
class _Asked:
    name: str
    arguments: str | None
    is_clients: bool = False


class ToolTeller:
    """Tells a run's tool calls; it is to hear of every event, in log order."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self._asked: dict[str, _Asked] = {}
        self._begun: set[str] = set()
        self._made: dict[str, str] = {}
        """Arguments of the calls in the model's replies, by their ids."""

    def told(self, event: Event) -> Iterator[Tell]:
        """Yield the frames of an event."""
        match event:
            case ModelCallCompleted(message=message):
                self._made |= {one["id"]: one["function"]["arguments"] for one in calls_in(message)}
            case ToolCallRequested(id=call_id):
                is_clients = event.handler == "client"
                self._asked[call_id] = _Asked(event.name, event.arguments, is_clients)
            case SubAgentRequested(id=call_id):
                self._asked[call_id] = _Asked(event.agent_id, self._made.get(call_id))
            case ToolCallDispatched() | SubAgentDispatched():
                yield from self._begin(event.id)
            case ToolCallCompleted(result=text) | SubAgentTurnCompleted(result=text):
                yield from self._end(event.id, text or "", is_error=False)
            case ToolCallErrored(retryable=False) | SubAgentErrored(retryable=False):
                yield from self._end(event.id, event.error or "", is_error=True)
            case _:
                pass

    def _begin(self, call_id: str) -> Iterator[Tell]:
        asked = self._asked.get(call_id)
        if asked is None:
            return
        if asked.is_clients:
            yield partial(self._local_call, call_id, asked)
        elif call_id not in self._begun:
            yield partial(_tool_call, call_id, asked)
        self._begun.add(call_id)

    def _end(self, call_id: str, text: str, *, is_error: bool) -> Iterator[Tell]:
        """One that nobody was asked to run is told whole, whoever's it was."""
        asked = self._asked.get(call_id)
        if asked is None:
            return
        if asked.is_clients and call_id in self._begun:
            yield partial(_local_result, call_id, asked, text, is_error=is_error)
            return
        if call_id not in self._begun:
            yield partial(_tool_call, call_id, asked)
        yield partial(_tool_result, call_id, asked, text, is_error=is_error)

    def _local_call(self, call_id: str, asked: _Asked) -> Told:
        echo = self._echo(asked.name) or {"kind": "local"}
        return "local_tool_call", {**echo, **_called(call_id, asked)}


def calls_in(message: Any) -> list[dict[str, Any]]:
    """Return the tool calls of a model's reply."""
    return (message or {}).get("tool_calls") or []


def read_arguments(text: str | None) -> dict[str, Any]:
    """Return a call's arguments, none where the model wrote no object."""
    try:
        read = read_json(text or "{}")
    except InvalidJson:
        return {}
    return read if isinstance(read, dict) else {}


def bounded(text: str, most_chars: int) -> str:
    """Return the beginning of a text, with a sign that it goes on."""
    return text if len(text) <= most_chars else f"{text[:most_chars]}…"


def _called(call_id: str, asked: _Asked) -> dict[str, Any]:
    return {"toolUseId": call_id, "name": asked.name, "args": read_arguments(asked.arguments)}


def _tool_call(call_id: str, asked: _Asked) -> Told:
    return "tool_call", _called(call_id, asked)


def _tool_result(call_id: str, asked: _Asked, text: str, *, is_error: bool) -> Told:
    lines = text.strip().splitlines() or [""]
    return "tool_result", {
        "toolUseId": call_id,
        "name": asked.name,
        "result": bounded(text, SHOWN_CHARS),
        "ok": not is_error,
        "summary": bounded(lines[0], SUMMARY_CHARS),
    }


def _local_result(call_id: str, asked: _Asked, text: str, *, is_error: bool) -> Told:
    shown = bounded(text, SHOWN_CHARS)
    return "local_tool_result_in", {
        "toolUseId": call_id,
        "name": asked.name,
        "output": shown,
        "error" if is_error else "result": shown,
    }
