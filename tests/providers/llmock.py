"""llmock, a server that speaks some providers' APIs and does what a test queued.

What is not queued it makes up: some text, or a call of a tool that was offered.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import httpx

from providers.process import serving

PROGRAM: Final = Path(sys.executable).with_name("llmock")
ADMIN: Final = "/_llmock"

Behavior = Mapping[str, Any]
Fault = Literal["disconnect", "truncate", "stall", "malformed"]


def reply(text: str = "", *calls: tuple[str, Mapping[str, Any]], finish: str = "") -> Behavior:
    """Say a text, then call tools by name and arguments; `finish` is a reason in its own words."""
    named = [{"name": name, "arguments": arguments} for name, arguments in calls]
    told: dict[str, Any] = {"type": "reply", "text": text or None, "tool_calls": named}
    return {**told, "finish_reason": finish} if finish else told


def fail(status: int, retry_after_s: float | None = None, times: int = 1) -> Behavior:
    """Refuse with the provider's own body for a status."""
    return {"type": "fail", "status": status, "retry_after": retry_after_s, "times": times}


def stream_fault(kind: Fault, after_chunks: int = 1, stall_s: float = 30.0) -> Behavior:
    """Break a stream after some chunks; goes along with a reply."""
    told = {"type": "stream_fault", "kind": kind, "after_chunks": after_chunks}
    return {**told, "stall_seconds": stall_s}


def broken_call(kind: Literal["malformed_arguments", "unknown_tool"]) -> Behavior:
    """Call a tool badly, for the next request that offers tools."""
    return {"type": "tool_fault", "kind": kind}


@dataclass(frozen=True, slots=True)
class Llmock:
    """A running server; its URLs are what clients of each provider are configured with."""

    url: str

    @property
    def openai_url(self) -> str:
        """For Chat Completions and Responses."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """For Messages, without the version."""
        return f"{self.url}/anthropic"

    @property
    def gemini_url(self) -> str:
        """For `streamGenerateContent`."""
        return f"{self.url}/gemini/v1beta"

    def scenario(self, *behaviors: Behavior) -> None:
        """Queue what happens to the next requests: of each kind one goes to a request."""
        self._admin("POST", "scenario", {"behaviors": behaviors})

    def pending(self) -> list[dict[str, Any]]:
        """Return what is queued still."""
        return list(self._admin("GET", "scenario")["pending"])

    def requests(self) -> list[dict[str, Any]]:
        """Return what is known of each request: path, status, model, fault, whether it ended."""
        return list(self._admin("GET", "requests")["requests"])

    def reset(self) -> None:
        """Forget requests and what is queued."""
        self._admin("POST", "reset")

    def _admin(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        url = f"{self.url}{ADMIN}/{path}"
        response = httpx.request(method, url, json=body, timeout=10, trust_env=False)
        response.raise_for_status()
        told: dict[str, Any] = response.json()
        return told


@contextmanager
def llmock_server() -> Iterator[Llmock]:
    """Run llmock."""
    with serving(
        lambda port: [str(PROGRAM), "serve", "--host", "127.0.0.1", "--port", str(port)], "/health"
    ) as url:
        yield Llmock(url)
