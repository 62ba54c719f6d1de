"""A strict reader of conversations that the engine built: more than any provider asks for.

It repairs nothing. What providers refuse stands in `transcripts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from everturn.protocol.llm import LlmRequest
from transcripts.ledger import LEDGER


def assert_well_formed(body: Mapping[str, Any]) -> None:
    """Accept a neutral request that any provider would take."""
    LlmRequest.model_validate(body)
    LEDGER.check(body)
    found = problems(body["messages"])
    assert not found, found


def problems(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is wrong with the conversation, nothing for a good one."""
    spoken = [message for message in messages if message["role"] != "system"]
    if not spoken:
        return ["there is no message"]
    found = [] if spoken[0]["role"] == "user" else [f"begins with {spoken[0]['role']}"]
    if spoken[-1]["role"] == "assistant":
        found.append("ends with assistant")
    return [*found, *_repeated(messages), *_unpaired(messages), *_empty(messages)]


def _repeated(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    ids = Counter(call["id"] for message in messages for call in message.get("tool_calls") or ())
    return [f"call id {one!r} stands {count} times" for one, count in ids.items() if count > 1]


def _unpaired(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return where a call has not exactly one result, in call order, directly after it."""
    found: list[str] = []
    owed: list[str] = []
    for message in messages:
        if message["role"] != "tool":
            found += [f"{call_id} has no result before {message['role']}" for call_id in owed]
            owed = [call["id"] for call in message.get("tool_calls") or ()]
        elif owed and message["tool_call_id"] == owed[0]:
            owed.pop(0)
        else:
            found.append(f"result of {message['tool_call_id']} is not expected")
    return [*found, *(f"{call_id} has no result" for call_id in owed)]


def _empty(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    for message in messages:
        match message["role"]:
            case "tool":
                filled = isinstance(message.get("content"), str) or bool(message.get("content"))
            case "assistant":
                filled = bool(message.get("content") or message.get("tool_calls"))
            case _:
                filled = bool(message.get("content"))
        if not filled:
            found.append(f"{message['role']} has no content")
        found += [
            f"a call of {message['role']} lacks its id or its name"
            for call in message.get("tool_calls") or ()
            if message["role"] != "assistant" or not call["id"] or not call["function"]["name"]
        ]
    return found
