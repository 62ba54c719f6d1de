"""A neutral request made fit for any provider: names, ids, schemas, who speaks when.

It knows no provider's field names; what it changes is on the wire only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from everturn.llm.providers.names import ToolNames, to_call_id
from everturn.llm.providers.schemas import object_schema

BEGIN: Final = "[Everturn] The conversation begins here."
"""Stands where a request has no message of a user to begin with."""

GO_ON: Final = "[Everturn] Go on."
"""Stands where a request ends with what the model said."""

BLANK: Final = "[Everturn] (blank)"
"""Stands for content without a visible character."""

WITHDRAWN: Final = "A tool that is no longer offered."


@dataclass(frozen=True, slots=True)
class Shaped:
    """A request as it may go out, and its tools' names."""

    request: Mapping[str, Any]
    """As `LlmRequest`, in JSON; messages still have their ids."""

    names: ToolNames

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """Its messages, system messages included."""
        return tuple(self.request["messages"])

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Its tools, none where it offers none."""
        return tuple(self.request.get("tools") or ())


def shaped(request: Mapping[str, Any], *, takes_turns: bool, reserved: str = "") -> Shaped:
    """Return `request` with names, call ids and schemas that every provider takes.

    With `takes_turns`, nobody says nothing, a user speaks first and last, as Anthropic, Bedrock and
    Gemini demand. `reserved` is a tool name that is the adapter's own.
    """
    tools = request.get("tools") or ()
    asked = [call["function"]["name"] for call in _calls(request["messages"])]
    names = ToolNames([*(tool["name"] for tool in tools), *asked], reserved=reserved)
    messages = [_message(message, names) for message in request["messages"]]
    fit = {**request, "messages": _in_turns(messages) if takes_turns else _spoken(messages)}
    if tools:
        fit["tools"] = [
            {**tool, "name": names.to_wire(tool["name"]), "input": object_schema(tool.get("input"))}
            for tool in tools
        ]
    choice = request.get("tool_choice")
    if isinstance(choice, Mapping):
        is_there = any(tool["name"] == choice["name"] for tool in tools)
        fit["tool_choice"] = {"name": names.to_wire(choice["name"])} if is_there else "auto"
    return Shaped(fit, names)


def withdrawn_tools(shape: Shaped) -> list[dict[str, Any]]:
    """Return stand-ins for the tools that a conversation has called, where none is offered.

    Anthropic and Bedrock want tools to be declared as soon as the history has calls.
    """
    if shape.tools:
        return []
    called = dict.fromkeys(call["function"]["name"] for call in _calls(shape.messages))
    return [
        {"name": name, "description": WITHDRAWN, "input": object_schema(None)} for name in called
    ]


def _calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        yield from message.get("tool_calls") or ()


def _message(message: Mapping[str, Any], names: ToolNames) -> dict[str, Any]:
    fit = dict(message)
    if message.get("tool_calls"):
        fit["tool_calls"] = [
            {
                **call,
                "id": to_call_id(call["id"]),
                "function": {
                    **call["function"],
                    "name": names.to_wire(call["function"]["name"]),
                },
            }
            for call in message["tool_calls"]
        ]
    if message.get("tool_call_id"):
        fit["tool_call_id"] = to_call_id(message["tool_call_id"])
    return fit


def _spoken(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return at least one message beside those of the system."""
    if any(message["role"] != "system" for message in messages):
        return messages
    return [*messages, {"role": "user", "content": BEGIN}]


def _in_turns(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    system = [message for message in messages if message["role"] == "system"]
    said = [_visible(message) for message in messages if message["role"] != "system"]
    if not said or said[0]["role"] != "user":
        said.insert(0, {"role": "user", "content": BEGIN})
    if said[-1]["role"] == "assistant":
        said.append({"role": "user", "content": GO_ON})
    return [*system, *said]


def _visible(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose text can be seen; parts of blanks alone are left out."""
    content = message.get("content")
    if isinstance(content, str):
        shown: Any = content if content.strip() else None
    else:
        shown = [
            part for part in content or () if part["type"] != "text" or part["text"].strip()
        ] or None
    if shown is None and not message.get("tool_calls"):
        shown = BLANK
    return {**message, "content": shown}
