"""Tool call ids that come from outside become ids that are unique in the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.protocol.ids import is_id
from everturn.session.journal import Journal


def with_own_call_ids(
    journal: Journal, message: Mapping[str, Any], renamed: dict[str, str]
) -> dict[str, Any]:
    """Return `message` with no tool call id that is no id, stands twice or was used before.

    `renamed` grows by every id that was seen, so that results which follow get the same one.
    Source: decision-protocol X-7, O-9; invariant 7.
    """
    if message["role"] == "tool":
        call_id = message["tool_call_id"]
        return {**message, "tool_call_id": renamed.get(call_id, call_id)}
    if not message.get("tool_calls"):
        return {name: value for name, value in message.items() if name != "tool_calls"}
    calls = []
    for made in message["tool_calls"]:
        known = made["id"] in renamed or journal.has_call(made["id"])
        own = made["id"] if is_id(made["id"]) and not known else f"call_{journal.mint()}"
        renamed[made["id"]] = own
        calls.append({**made, "id": own})
    return {**message, "tool_calls": calls}
