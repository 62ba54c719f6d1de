"""The role that answers model requests, and what it is told beside one; values, no provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from everturn.protocol.llm import LlmRequest

MAX_ATTEMPT_S: Final = 840.0
"""Longest that one model request may take. Source: architecture, section 4."""


@dataclass(frozen=True, slots=True)
class Replay:
    """How a provider said an earlier message, for the provider alone. Source: MB-4, MB-5."""

    provider: str
    model: str
    blocks: tuple[Mapping[str, Any], ...] = ()
    """As stored, `{type, …}`, in the order in which they were said; empty: nothing but the public
    message."""

    state: str | None = None
    """JSON text that the adapter gave along at the end."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where a tenant's calls to a provider go, and with which key."""

    base_url: str = ""
    """Without a slash at the end; empty: the provider's own."""

    api_key: str = field(default="", repr=False)
    region: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Beside:
    """What an adapter needs beside the request."""

    account: Account = field(default_factory=Account)
    replays: Mapping[str, Replay] = field(default_factory=dict)
    """Of messages in the request, by their ids."""

    cache_key: str = ""
    """The same for all calls of a session, and for no other session."""

    timeout_s: float = MAX_ATTEMPT_S
    default_max_tokens: int | None = None


NOTHING_BESIDE: Final = Beside()


class Model(Protocol):
    """A provider's model."""

    def stream(
        self,
        request: LlmRequest,
        *,
        attempt: int,
        cancelled: Callable[[], bool],
        failed_tool_calls: frozenset[str] = frozenset(),
        beside: Beside = NOTHING_BESIDE,
    ) -> Iterator[Any]:
        """Yield `llm.chunks` as they arrive.

        Raises `ModelFailed`, never a library's error, and `ModelAborted` once `cancelled()`.
        """
        ...
