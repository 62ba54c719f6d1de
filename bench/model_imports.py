"""What a cold process pays for a provider: our adapter beside the provider's client; calls none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.cold import TIMED, Cold, best
from bench.stage import ROOT

ALONE: Final = "bare interpreter"
DRIVER: Final = "driver"

_OURS: Final = """\
from everturn.llm.providers.{module} import {wire}
from everturn.llm.providers.http_model import HttpModel
from everturn.llm.providers.exchange import Exchange
"""
_OPENAI: Final = ("import openai", "openai.OpenAI(api_key='bench').{resource}")
_ANTHROPIC: Final = ("import anthropic", "anthropic.Anthropic(api_key='bench').messages")
_CODE: Final = {
    "ours, chat completions": (
        _OURS.format(module="openai_chat", wire="OpenAiChatWire"),
        "HttpModel(Exchange('any'), OpenAiChatWire())",
    ),
    "ours, responses": (
        _OURS.format(module="openai_responses", wire="OpenAiResponsesWire"),
        "HttpModel(Exchange('any'), OpenAiResponsesWire())",
    ),
    "ours, messages": (
        _OURS.format(module="anthropic", wire="AnthropicWire"),
        "HttpModel(Exchange('any'), AnthropicWire())",
    ),
    "openai, chat completions": (_OPENAI[0], _OPENAI[1].format(resource="chat.completions")),
    "openai, responses": (_OPENAI[0], _OPENAI[1].format(resource="responses")),
    "anthropic, messages": _ANTHROPIC,
    "httpx": ("import httpx", "httpx.Client()"),
}
RIVALS: Final = {
    "ours, chat completions": "openai, chat completions",
    "ours, responses": "openai, responses",
    "ours, messages": "anthropic, messages",
}
"""Ours, and the client that speaks the same."""


@dataclass(frozen=True, slots=True)
class Imports:
    """What each import takes where `after` is there already; ready: a call can be made."""

    after: str
    timed: tuple[Cold, ...]

    def shares(self) -> Iterator[tuple[Cold, Cold, float]]:
        """Yield each of ours, its rival, and how much of the rival's import ours takes."""
        found = {one.name: one for one in self.timed}
        for ours, theirs in RIVALS.items():
            one, rival = found[ours], found[theirs]
            yield one, rival, one.import_ms / rival.import_ms


def imports() -> Iterator[Imports]:
    """Yield imports of a bare interpreter, and of one that has the driver's handler already."""
    folder = ROOT / "functions/driver"
    for after, before in ((ALONE, ""), (DRIVER, "import app\n")):
        timed = (
            best(name, before + TIMED.format(imports=code, ready=ready), folder)
            for name, (code, ready) in _CODE.items()
        )
        yield Imports(after, tuple(timed))
