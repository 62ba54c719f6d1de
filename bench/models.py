"""Our adapters and the providers' own clients read the same streams, turn about; judges nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from typing import Any, Final

from bench.stage import ROOT
from bench.streams import MODEL, PACED, PACED_TOKENS, TOKENS, words
from everturn.llm.chunks import TextDelta
from everturn.llm.providers.anthropic import AnthropicWire
from everturn.llm.providers.exchange import Exchange
from everturn.llm.providers.http_model import HttpModel, Wire
from everturn.llm.providers.openai_chat import OpenAiChatWire
from everturn.llm.providers.openai_responses import OpenAiResponsesWire
from everturn.ports.model import Account, Beside
from everturn.protocol.llm import LlmRequest

WIRES: Final = ("chat completions", "messages", "responses")
ROUNDS: Final = 9
PACED_ROUNDS: Final = 5
KEY: Final = "bench"
ASKED: Final = "Go on, word by word."
MESSAGES: Final = ({"role": "user", "content": ASKED},)
LIMIT: Final = 4096

Pieces = Callable[[], Iterator[str]]
"""Sends one request and yields the pieces of text in its answer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer, read to its end."""

    cpu_us: float
    """A token's share of the process's own time, in all of its threads."""

    wall_us: float
    first_ms: float
    """From the call to the first token."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Rounds in which one wire was read by our adapter and by the provider's client."""

    wire: str
    client: str
    paced: bool
    pairs: tuple[tuple[Reading, Reading], ...]
    """Ours and theirs, one right after the other."""

    def ours(self, part: Callable[[Reading], float]) -> float:
        """Return the median of ours."""
        return median(part(ours) for ours, _ in self.pairs)

    def theirs(self, part: Callable[[Reading], float]) -> float:
        """Return the median of theirs."""
        return median(part(theirs) for _, theirs in self.pairs)

    def share(self, part: Callable[[Reading], float]) -> float:
        """Return how much of theirs ours is: the median of the rounds' own ratios."""
        return median(part(ours) / part(theirs) for ours, theirs in self.pairs)


def are_clients_there() -> bool:
    """Return whether the providers' clients are installed."""
    return all(find_spec(name) for name in ("anthropic", "openai"))


def compared() -> Iterator[Compared]:
    """Yield each wire, its tokens sent as fast as they are taken and then one by one."""
    with _served() as url, closing(Exchange("any")) as exchange:
        for paced in (False, True):
            base_url = url + PACED if paced else url
            tokens, rounds = (PACED_TOKENS, PACED_ROUNDS) if paced else (TOKENS, ROUNDS)
            for wire in WIRES:
                client, theirs = _theirs(wire, base_url)
                ours = _ours(wire, base_url, exchange)
                pairs = _rounds(ours, theirs, tokens, rounds)
                yield Compared(wire, client, paced, tuple(pairs))


def _rounds(
    ours: Pieces, theirs: Pieces, tokens: int, rounds: int
) -> Iterator[tuple[Reading, Reading]]:
    """Read with both, after a round that warms them; who begins alternates."""
    _read(ours, tokens)
    _read(theirs, tokens)
    for number in range(rounds):
        if number % 2:
            second = _read(theirs, tokens)
            yield _read(ours, tokens), second
        else:
            first = _read(ours, tokens)
            yield first, _read(theirs, tokens)


def _read(pieces: Pieces, tokens: int) -> Reading:
    """Read one answer. Raises `AssertionError` where it is not the one that was sent."""
    said: list[str] = []
    first_s = 0.0
    cpu_s, began_s = time.process_time(), time.perf_counter()
    for piece in pieces():
        if not said:
            first_s = time.perf_counter()
        said.append(piece)
    ended_s, cpu_s = time.perf_counter(), time.process_time() - cpu_s
    assert said == words(tokens)  # noqa: S101  whoever reads less is no yardstick
    return Reading(
        cpu_s * 1e6 / tokens, (ended_s - began_s) * 1e6 / tokens, (first_s - began_s) * 1e3
    )


def _ours(wire: str, base_url: str, exchange: Exchange) -> Pieces:
    spoken: dict[str, Callable[[], Wire]] = {
        "chat completions": OpenAiChatWire,
        "messages": AnthropicWire,
        "responses": OpenAiResponsesWire,
    }
    model = HttpModel(exchange, spoken[wire]())
    root = base_url if wire == "messages" else f"{base_url}/v1"
    beside = Beside(Account(api_key=KEY, base_url=root), default_max_tokens=LIMIT)
    request = LlmRequest.model_validate({"model": MODEL, "messages": MESSAGES})

    def pieces() -> Iterator[str]:
        for chunk in model.stream(request, attempt=1, cancelled=lambda: False, beside=beside):
            if isinstance(chunk, TextDelta):
                yield chunk.text

    return pieces


def _theirs(wire: str, base_url: str) -> tuple[str, Pieces]:
    """Return the name of the provider's client and what reads with it.

    The plain iteration over events is taken, the cheapest that each client has.
    """
    name = "anthropic" if wire == "messages" else "openai"
    vendor: Any = import_module(name)
    version = f"{name} {vendor.__version__}"
    match wire:
        case "messages":
            claude = vendor.Anthropic(base_url=base_url, api_key=KEY, max_retries=0)
            return version, partial(_messages, claude)
        case "responses":
            reading = _responses
        case _:
            reading = _completions
    client = vendor.OpenAI(base_url=f"{base_url}/v1", api_key=KEY, max_retries=0)
    return version, partial(reading, client)


def _messages(client: Any) -> Iterator[str]:
    asked = {"model": MODEL, "max_tokens": LIMIT, "messages": MESSAGES}
    for event in client.messages.create(**asked, stream=True):
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            yield event.delta.text


def _responses(client: Any) -> Iterator[str]:
    for event in client.responses.create(model=MODEL, input=ASKED, store=False, stream=True):
        if event.type == "response.output_text.delta":
            yield event.delta


def _completions(client: Any) -> Iterator[str]:
    asked = {"model": MODEL, "messages": MESSAGES, "stream_options": {"include_usage": True}}
    for chunk in client.chat.completions.create(**asked, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


@contextmanager
def _served() -> Iterator[str]:
    """Run the server; yields its URL."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.streams"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout  # noqa: S101, PT018  they are pipes
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()
