"""What the families of models behind Bedrock take, told by their ids; it builds no request.

An application inference profile hides its model: it gets what every model takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from everturn.llm.providers.claude import can_be_forced, version_of

_NOVA: Final = re.compile(r"amazon\.nova-(\d)?")
_CLAUDE_3_7: Final = re.compile(r"anthropic\.claude-3-7-")
_CALLS_NOTHING: Final = re.compile(
    r"amazon\.titan|meta\.llama|deepseek\.r1|mistral\.(mistral-7b|mixtral)|cohere\.command-(text|light)"
    r"|ai21\.j(2|amba-instruct)|anthropic\.claude-(v2|instant)"
)
"""Without tool calls in a stream. Source: Bedrock, "Supported models and model features"."""

_CLAUDE_4: Final = (4, 0)
_SERIAL_FROM: Final = (4, 5)
_NOVA_2: Final = 2


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model takes."""

    is_claude: bool = False
    is_nova: bool = False
    thinks: bool = False
    """Whether it can be told how hard to think."""

    calls_tools: bool = True
    """Whether it is known to call none."""

    can_be_forced: bool = True
    """Whether it can be made to call a tool, as long as it does not think."""

    can_be_serial: bool = False
    """Whether it can be kept to one call at a time."""

    caches: bool = False
    """Whether it knows cache points behind the system prompt and in messages."""

    caches_tools: bool = False
    """Whether it knows them behind tools."""

    @property
    def reads_result_files(self) -> bool:
        """Whether images may stand in tool results, and whether these may say that they failed.

        Source: "ToolResultContentBlock" and "ToolResultBlock", Bedrock API reference.
        """
        return self.is_claude or self.is_nova


def traits_of(model: str) -> Traits:
    """Return what a model takes, by its id, its profile's id or an ARN that ends with one."""
    calls_tools = _CALLS_NOTHING.search(model) is None
    if "anthropic.claude" in model:
        version = version_of(model)
        is_current = version >= _CLAUDE_4 or _CLAUDE_3_7.search(model) is not None
        return Traits(
            is_claude=True,
            thinks=is_current,
            calls_tools=calls_tools,
            can_be_forced=can_be_forced(model),
            can_be_serial=version >= _SERIAL_FROM,
            caches=is_current,
            caches_tools=is_current,
        )
    if found := _NOVA.search(model):
        return Traits(is_nova=True, thinks=int(found[1] or 1) >= _NOVA_2, caches=True)
    return Traits(calls_tools=calls_tools)
