"""`{{name}}` in what the demo model says -> what it really received. Reads, changes nothing.

Source: docs/demo-model.md, "Placeholders".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from everturn.llm.demo.reading import SUMMARY, Heard, is_injected, text_of
from everturn.protocol.message import AudioPart, DraftMessage, FilePart, ImagePart, VideoPart

JOINT: Final = " | "
"""What stands between the results of a batch, and between notes."""

_PLACEHOLDER: Final = re.compile(r"\{\{([a-z]+)\}\}")


def fill(text: str, heard: Heard) -> str:
    """Return `text` with its placeholders replaced, once; unknown ones stay as they are."""

    def value(match: re.Match[str]) -> str:
        read = _VALUES.get(match[1])
        return match[0] if read is None else read(heard)

    return _PLACEHOLDER.sub(value, text)


def result(heard: Heard) -> str:
    """Return the last tool result."""
    results = [message for message in heard.request.messages if message.role == "tool"]
    return shown(results[-1], heard) if results else ""


def results(heard: Heard) -> str:
    """Return the results of the last batch, in the order of its calls."""
    messages = heard.request.messages
    batches = [message.tool_calls for message in messages if message.tool_calls]
    by_call = {message.tool_call_id: message for message in messages if message.role == "tool"}
    calls = batches[-1] if batches else ()
    return JOINT.join(shown(by_call[call.id], heard) for call in calls if call.id in by_call)


def shown(message: DraftMessage, heard: Heard) -> str:
    """Return a tool result as the placeholders show it."""
    failed = message.tool_call_id in heard.failed_tool_calls
    return f"ERROR: {text_of(message)}" if failed else text_of(message)


def previous(heard: Heard) -> str:
    """Return the user message before the script."""
    before = heard.request.messages[: heard.script_at or 0]
    users = [message for message in before if message.role == "user" and not is_injected(message)]
    return text_of(users[-1]) if users else ""


def system(heard: Heard) -> str:
    """Return the system prompt."""
    messages = heard.request.messages
    return "\n\n".join(text_of(message) for message in messages if message.role == "system")


def tools(heard: Heard) -> str:
    """Return the names of the tools on offer, sorted."""
    return ", ".join(sorted(tool.name for tool in heard.request.tools or ()))


def files(heard: Heard) -> str:
    """Return what came along with the messages, in order."""
    return ", ".join(name for message in heard.request.messages for name in files_of(message))


def files_of(message: DraftMessage) -> Iterator[str]:
    """Yield a name for each part of a message that is no text."""
    for part in message.content or ():
        match part:
            case FilePart(file=file):
                yield file.filename
            case ImagePart(image_url=image):
                yield named(image.url)
            case AudioPart(input_audio=audio):
                yield f"audio/{audio.format}"
            case VideoPart(video_url=video):
                yield named(video.url)
            case _:
                continue


def named(url: str) -> str:
    """Return a URL, but of a data URL its media type only."""
    return url.removeprefix("data:").partition(";")[0] if url.startswith("data:") else url


def summary(heard: Heard) -> str:
    """Return the newest compaction summary, without the words that announce it."""
    found = [text for text in injected(heard) if text.startswith(SUMMARY)]
    if not found:
        return ""
    _, colon, words = found[-1].partition(":")
    return words.strip() if colon else found[-1].removeprefix(SUMMARY).strip()


def notes(heard: Heard) -> str:
    """Return what the engine put in beside summaries, oldest first."""
    return JOINT.join(text for text in injected(heard) if not text.startswith(SUMMARY))


def injected(heard: Heard) -> Iterator[str]:
    """Yield the texts of the engine's own messages."""
    for message in heard.request.messages:
        if message.role == "user" and is_injected(message):
            yield text_of(message)


_VALUES: Final[Mapping[str, Callable[[Heard], str]]] = MappingProxyType(
    {
        "result": result,
        "results": results,
        "prev": previous,
        "system": system,
        "model": lambda heard: heard.request.model,
        "reasoning": lambda heard: str(heard.level),
        "tools": tools,
        "files": files,
        "messages": lambda heard: str(len(heard.request.messages)),
        "summary": summary,
        "notes": notes,
    }
)
