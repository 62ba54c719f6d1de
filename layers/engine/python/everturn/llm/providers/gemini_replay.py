"""What an answer of Gemini's has beside its words: signatures and ids, kept and sent back.

A signature stands on one part and goes back on that part, which is neither joined with another nor
split. Source: Gemini API, "Thought signatures".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from everturn.errors import RejectedError
from everturn.llm.providers.replays import Said
from everturn.protocol.json_text import compact, read_json

VERSION: Final = 1
UNSIGNED: Final = "skip_thought_signature_validator"
"""Signs a call that the model did not make itself. Source: "Thought signatures", FAQ."""

Part = dict[str, Any]


class Trail:
    """The parts of an answer in the order in which they came, without what they say."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._is_worth_it = False

    def text(self, piece: str, signature: str) -> None:
        """Take visible text; unsigned pieces after each other are one part."""
        last = self._parts[-1] if self._parts else {}
        if "text" in last and "sig" not in last and not signature:
            last["text"] += len(piece)
        elif piece or signature:
            self._add({"text": len(piece)}, signature)

    def call(self, call_id: str, signature: str) -> None:
        """Take a call with the id that the model gave it, if any."""
        self._is_worth_it = self._is_worth_it or bool(call_id)
        self._add({"call": call_id}, signature)

    @property
    def has_calls(self) -> bool:
        """Whether the answer called a tool."""
        return any("call" in part for part in self._parts)

    def thought(self) -> None:
        """Take thinking whose signature its block has."""
        self._is_worth_it = True
        self._parts.append({"thought": 1})

    def state(self) -> str | None:
        """Return all of it for the log; nothing where the public message says as much."""
        return compact({"v": VERSION, "parts": self._parts}) if self._is_worth_it else None

    def _add(self, part: dict[str, Any], signature: str) -> None:
        self._is_worth_it = self._is_worth_it or bool(signature)
        self._parts.append({**part, "sig": signature} if signature else part)


def said_parts(said: Said, content: str, calls: Sequence[Mapping[str, Any]]) -> list[Part] | None:
    """Return a message's parts as the model said them.

    Nothing where no state tells them, or it tells of another message than this one.
    """
    trail = _read(said.state)
    if (
        not trail
        or sum(part.get("text", 0) for part in trail) != len(content)
        or sum("call" in part for part in trail) != len(calls)
    ):
        return None
    return list(_parts(trail, content, iter(calls), _signed_thoughts(said)))


def to_function_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call without id; arguments that are no object become none."""
    given = json_object(call["function"]["arguments"])
    return {"name": call["function"]["name"], "args": given or {}}


def json_object(text: str) -> dict[str, Any] | None:
    """Return the object that a text is, nothing where it is none."""
    try:
        value = read_json(text) if text.lstrip().startswith("{") else None
    except RejectedError:
        return None
    return value if isinstance(value, dict) else None


def _parts(
    trail: Sequence[Mapping[str, Any]],
    content: str,
    calls: Iterator[Mapping[str, Any]],
    thoughts: Iterator[Part],
) -> Iterator[Part]:
    at = 0
    for entry in trail:
        signature = {"thoughtSignature": entry["sig"]} if "sig" in entry else {}
        if "text" in entry:
            yield {"text": content[at : at + entry["text"]], **signature}
            at += entry["text"]
        elif "call" in entry:
            called = to_function_call(next(calls))
            named = {"id": entry["call"], **called} if entry["call"] else called
            yield {"functionCall": named, **signature}
        else:
            yield from [one for one in (next(thoughts, None),) if one]


def _signed_thoughts(said: Said) -> Iterator[Part]:
    for block in said.blocks:
        if block["type"] == "reasoning" and block.get("signature"):
            yield {
                "text": block["thinking"],
                "thought": True,
                "thoughtSignature": block["signature"],
            }


def _read(state: str | None) -> list[dict[str, Any]] | None:
    """Return the parts that a state lists; nothing for one that cannot be read."""
    try:
        value = json.loads(state or "null")
    except (ValueError, RecursionError):
        return None
    parts = value.get("parts") if isinstance(value, dict) and value.get("v") == VERSION else None
    if not isinstance(parts, list) or not all(map(_is_entry, parts)):
        return None
    return parts


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("sig", ""), str):
        return False
    return (
        ("thought" in entry and not {"text", "call"} & entry.keys())
        or (type(entry.get("text")) is int and entry["text"] >= 0 and "call" not in entry)
        or (isinstance(entry.get("call"), str) and "text" not in entry)
    )
