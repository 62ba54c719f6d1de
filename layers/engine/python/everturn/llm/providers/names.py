"""Names and ids that every provider takes, there and back; knows no provider.

One rule fits all of them: OpenAI takes ids of 40 characters, Anthropic and Bedrock no dots,
Gemini no digit at the start of a name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

MAX_NAME_CHARS: Final = 64
MAX_CALL_ID_CHARS: Final = 40

_NAME: Final = re.compile(rf"[A-Za-z_][A-Za-z0-9_-]{{0,{MAX_NAME_CHARS - 1}}}")
_CALL_ID: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_CALL_ID_CHARS}}}")
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]+")
_SHORTEST_HASH: Final = 8
_ID_HASH_CHARS: Final = 32


class ToolNames:
    """Tool names of one request: each has one on the wire, and no two have the same one.

    A name that fits goes as it is. Another one is the same on the wire in each request, whatever
    else there is to name, but where somebody named a tool just like it.
    """

    def __init__(self, names: Iterable[str], *, reserved: str = "") -> None:
        """`reserved` is nobody's name on the wire."""
        wanted = list(dict.fromkeys(names))
        self._wire = {name: name for name in wanted if _NAME.fullmatch(name) and name != reserved}
        taken = {*self._wire, reserved}
        for name in wanted:
            if name not in self._wire:
                self._wire[name] = _made_up(name, taken)
                taken.add(self._wire[name])
        self._ours = {wire: name for name, wire in self._wire.items()}

    def to_wire(self, name: str) -> str:
        """Return what the provider calls the tool. Raises `KeyError` for an unknown name."""
        return self._wire[name]

    def from_wire(self, name: str) -> str:
        """Return the tool's name; one that nobody offered stays as the model made it up."""
        return self._ours.get(name, name)


def _made_up(name: str, taken: set[str]) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()
    stem = _ODD.sub("_", name).lstrip("0123456789-") or "tool"
    for chars in range(_SHORTEST_HASH, len(digest) + 1):
        made = f"{stem[: MAX_NAME_CHARS - chars - 1]}_{digest[:chars]}"
        if made not in taken:
            return made
    return made


def to_call_id(call_id: str) -> str:
    """Return a tool call's id as every provider takes it: the same for the same one."""
    if _CALL_ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:_ID_HASH_CHARS]}"
