"""aimock, a server that speaks each provider's API: where it listens for which.

What it answers is in `aimock_answers.json`, chosen by a word of the last user message: hello,
weather (a call, then an answer to its result), compare (two calls), reason, structured, length,
disconnect, limited (429), overloaded (529), unavailable (503). Anything else it answers with 503.
Names of models that do not reason, as gpt-4o, get no reasoning; any other name gets it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from providers.process import serving

HERE: Final = Path(__file__).parent
PROGRAM: Final = HERE / "node_modules/@copilotkit/aimock/dist/cli.js"
ANSWERS: Final = HERE / "aimock_answers.json"


@dataclass(frozen=True, slots=True)
class Aimock:
    """A running server; its URLs are what clients of each provider are configured with."""

    url: str

    @property
    def openai_url(self) -> str:
        """For Chat Completions and Responses."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """For Messages, without the version."""
        return self.url

    @property
    def gemini_url(self) -> str:
        """For `streamGenerateContent`."""
        return f"{self.url}/v1beta"

    @property
    def bedrock_url(self) -> str:
        """For `converse_stream`, as `endpoint_url`."""
        return self.url


@contextmanager
def aimock_server() -> Iterator[Aimock]:
    """Run aimock; an installation without it is told how to get it."""
    node = shutil.which("node")
    assert node, "node is not there: the tests want Node 20 or newer"
    assert PROGRAM.exists(), "aimock is not there: `make venv` or `npm ci --prefix tests/providers`"
    options = ("--fixtures", str(ANSWERS), "--strict", "--validate-on-load", "--log-level", "warn")
    with serving(
        lambda port: [node, str(PROGRAM), "--host", "127.0.0.1", "--port", str(port), *options],
        "/ready",
    ) as url:
        yield Aimock(url)
