"""A session's conversation as its users read it again: messages, or frames as a stream had them.

It must not read a session itself. Source: agent-runs.md, "Routes" and "Small print".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from everturn.protocol.json_text import read_json
from everturn.rejections import InvalidJson
from everturn.runs.messages import replayed
from everturn.session.facts import PathMessage

Read = Callable[[int | None, int], tuple[tuple[PathMessage, ...], bool]]
"""Before which event, and how many messages -> they, and whether there are older ones."""


def conversation(nodes: Iterable[PathMessage]) -> list[dict[str, Any]]:
    """Return what user and model said to each other, as `{role, content, attachments?}`."""
    said = []
    for node in nodes:
        role, told = node.message["role"], replayed(node.message)
        if role == "tool" or not any(told.values()):
            continue
        files = {"attachments": told["attachments"]} if "attachments" in told else {}
        said.append({"role": role, "content": told["text"], **files})
    return said


def frames_of(read: Read, before_seq: int | None, count: int) -> dict[str, Any]:
    """Return a page of replay: the newest `count` frames before an event, oldest first.

    `{total, nextBeforeSeq, truncated, events}`; `total` counts the frames of the session, as far as
    one read goes, `truncated` says that there are older ones.
    """
    nodes, has_older = read(None, 10**9)
    frames = [frame for node in nodes if (frame := _frame(node)) is not None]
    total = len(frames)
    if before_seq is not None:
        if has_older and nodes and nodes[0].seq >= before_seq:
            nodes, has_older = read(before_seq, 10**9)
            frames = [frame for node in nodes if (frame := _frame(node)) is not None]
        frames = [frame for frame in frames if frame["seq"] < before_seq]
    shown = frames[-count:]
    is_cut = has_older or len(shown) < len(frames)
    first = shown[0]["seq"] if shown else min((node.seq for node in nodes), default=None)
    return {
        "total": total,
        "nextBeforeSeq": first if is_cut else None,  # a read may hold tool results alone
        "truncated": is_cut,
        "events": shown,
    }


def _frame(node: PathMessage) -> dict[str, Any] | None:
    message = node.message
    match message["role"]:
        case "user":
            return {"seq": node.seq, "type": "user_message", **replayed(message)}
        case "assistant":
            calls = [_call(made) for made in message.get("tool_calls") or ()]
            told = {"seq": node.seq, "type": "assistant_message", "text": replayed(message)["text"]}
            return {**told, "toolCalls": calls} if calls else told
        case _:
            return None


def _call(made: dict[str, Any]) -> dict[str, Any]:
    function = made["function"]
    try:
        given = read_json(function["arguments"].encode("utf-8", "surrogatepass"))
    except InvalidJson:
        given = {}
    return {"id": made["id"], "name": function["name"], "input": given}
