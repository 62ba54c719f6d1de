"""A conversation as the input items of OpenAI's Responses; reads no events.

Source: OpenAI API reference, "Responses", "Create a model response"; "Reasoning models".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from everturn.llm.providers.chat_messages import (
    from_elsewhere,
    with_arguments,
    words_and_rest,
)
from everturn.llm.providers.media import (
    Linked,
    image_of,
    is_image,
    openai_file,
    openai_image,
    unsupported,
)
from everturn.llm.providers.replays import Said
from everturn.llm.providers.shape import BLANK

WHERE: Final = "OpenAI's Responses"
_ENCRYPTED: Final = "encrypted_content"

Item = dict[str, Any]


def instructions_and_input(
    messages: Sequence[Mapping[str, Any]], said: Mapping[str, Said]
) -> tuple[str, list[Item]]:
    """Return what the system says first, as one text, and all the rest in its order.

    `said` are messages to be said again, by their ids. Raises `ModelFailed` for parts that have
    no place.
    """
    leading = 0
    while leading < len(messages) and messages[leading]["role"] == "system":
        leading += 1
    told = "\n\n".join(_system_text(message) for message in messages[:leading])
    return told, [*_items(messages[leading:], said)]


def _items(messages: Sequence[Mapping[str, Any]], said: Mapping[str, Said]) -> Iterator[Item]:
    for message in messages:
        match message["role"]:
            case "system":
                yield {"role": "system", "content": _system_text(message)}
            case "tool":
                yield _result(message)
            case "assistant":
                yield from _answer(message, said.get(message.get("id") or ""))
            case _:
                yield {"role": "user", "content": _content(message["content"])}


def _system_text(message: Mapping[str, Any]) -> str:
    words, rest = words_and_rest(message["content"])
    if rest:
        raise unsupported(f"{rest[0]['type']} of a system message", WHERE)
    return words


def _content(content: Any) -> str | list[Item]:
    return content if isinstance(content, str) else [to_part(part) for part in content]


def to_part(part: Mapping[str, Any]) -> Item:
    """Return a part of a user's message, or of a tool's result."""
    match part["type"]:
        case "text":
            return {"type": "input_text", "text": part["text"]}
        case "image_url":
            return _image(openai_image(image_of(part), WHERE))
        case "file":
            return _file(part)
        case other:
            raise unsupported(str(other), WHERE)


def _image(url: str) -> Item:
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _file(part: Mapping[str, Any]) -> Item:
    """Return a file; one that is an image goes as such."""
    file = openai_file(part, WHERE)
    if is_image(file):
        return _image(openai_image(file, WHERE))
    if isinstance(file, Linked):
        return {"type": "input_file", "file_url": file.url}
    return {"type": "input_file", "filename": part["file"]["filename"], "file_data": file.url}


def _result(message: Mapping[str, Any]) -> Item:
    output = _content(message.get("content") or "")
    told = {"type": "function_call_output", "call_id": message["tool_call_id"]}
    return {**told, "output": output}


def _answer(message: Mapping[str, Any], said: Said | None) -> Iterator[Item]:
    """Yield an answer; images in it, which a model's message cannot hold, as a user's behind it."""
    words, rest = words_and_rest(message.get("content"))
    moved = [to_part(part) for part in rest]
    calls = message.get("tool_calls") or ()
    phases = _phases(said)
    if said is not None and said.blocks:
        yield from _as_said(said.blocks, phases)
    else:
        if words or not calls:
            yield _spoken(words or BLANK, phases[0] if phases else None)
        yield from map(_call, calls)
    if moved:
        yield {"role": "user", "content": [to_part(from_elsewhere(message)), *moved]}


def _as_said(blocks: Sequence[Mapping[str, Any]], phases: Sequence[str | None]) -> Iterator[Item]:
    """Yield an answer's items in their order; reasoning only where something came of it.

    Source: OpenAI's 400: an item of reasoning needs the item that followed it.
    """
    waiting: list[Item] = []
    texts = 0
    for block in blocks:
        match block["type"]:
            case "reasoning":
                waiting += _reasoning(block)
                continue
            case "text" if block["text"]:
                item = _spoken(block["text"], phases[texts] if texts < len(phases) else None)
                texts += 1
            case "tool-call":
                item = _call(block["call"])
            case _:
                continue
        yield from waiting
        waiting.clear()
        yield item


def _spoken(text: str, phase: str | None) -> Item:
    item: Item = {"role": "assistant", "content": text}
    return {**item, "phase": phase} if phase else item


def _call(call: Mapping[str, Any]) -> Item:
    function = with_arguments(call, takes_malformed=True)["function"]
    named = {"call_id": call["id"], "name": function["name"]}
    return {"type": "function_call", **named, "arguments": function["arguments"]}


def reasoning_signature(item: Mapping[str, Any]) -> str | None:
    """Return what an item of reasoning is known by later on; nothing for one that is not sealed."""
    sealed, item_id = item.get(_ENCRYPTED), item.get("id")
    if not isinstance(sealed, str) or not sealed or not isinstance(item_id, str):
        return None
    told = {"v": 1, "id": item_id, _ENCRYPTED: sealed}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def _reasoning(block: Mapping[str, Any]) -> Iterator[Item]:
    """Yield a block of reasoning as the item it was; without its seal, OpenAI does not know it."""
    told = _read(block.get("signature"))
    sealed, item_id = told.get(_ENCRYPTED), told.get("id")
    if isinstance(sealed, str) and isinstance(item_id, str):
        summary = [{"type": "summary_text", "text": block["thinking"]}] if block["thinking"] else []
        item: Item = {"type": "reasoning", "id": item_id, "summary": summary}
        yield {**item, _ENCRYPTED: sealed}


def replay_state(phases: Sequence[str | None]) -> str | None:
    """Return what is kept of an answer beside its blocks: the phase of each of its texts.

    Source: OpenAI API, `phase`: what a model said goes back with its phase.
    """
    if not any(phases):
        return None
    return json.dumps({"v": 1, "phases": [*phases]}, separators=(",", ":"))


def _phases(said: Said | None) -> list[str | None]:
    given = _read(said.state if said else None).get("phases")
    if not isinstance(given, list):
        return []
    return [one if isinstance(one, str) else None for one in given]


def _read(text: Any) -> Mapping[str, Any]:
    """Return an object that was written here, an empty one for anything else."""
    try:
        told = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return told if isinstance(told, dict) and told.get("v") == 1 else {}
