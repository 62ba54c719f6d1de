"""What OpenAI's models take, told by their ids: effort, settings, keys of caches; no bodies."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from everturn.llm.formats.anthropic import BUDGETS
from everturn.llm.providers.http_model import Asked

NONE: Final = "none"
MAX_CACHE_KEY_CHARS: Final = 64
"""Longest `prompt_cache_key`; a longer one is refused. Source: OpenAI API, its 400."""

_REASONS: Final = re.compile(
    r"(?:ft:)?"
    r"(?:o\d"
    r"|codex-"
    r"|gpt-(?:[5-9]|1\d)(?!-chat)"
    r"|gpt-(?!audio|image|realtime|transcribe)[a-z])"
)
_O_SERIES: Final = re.compile(r"(?:ft:)?o\d")
_VERSION: Final = re.compile(r"(?:ft:)?gpt-(\d{1,2})(?:\.(\d{1,2}))?(?!\d)")
_ALWAYS_REASONS: Final = re.compile(r"pro|codex|chat")
_NONE_FROM: Final = (5, 1)
_FAMILIES_FROM: Final = (6, 0)
_TAKES_NONE: Final = re.compile(r"(?:ft:)?gpt-6(?:-sol|-luna|\.1-terra)\b")
"""From 5.1 on a model can be told not to reason; from 6 on it is the family that decides.

GPT-6 Astra and GPT-6.1 Sol always reason, and a family that is not known is not told otherwise.
Source: OpenAI API, "Reasoning models"; its 400, "Supported values are".
"""

_TOOLS_UNREASONED_FROM: Final = (5, 4)
"""From here on chat completions take tools from a model that does not reason only.

Source: their 400, which names the Responses API for the rest.
"""

_MEASURED: Final = ("low", "medium", "high")
"""Efforts that every reasoning model takes."""


def reasons(model: str) -> bool:
    """Return whether a model reasons; such a one takes no temperature and no stop sequences.

    The o-series, GPT-5 and all that came after, but for what only chats, hears or draws. What
    stands before a slash is a gateway's. Source: OpenAI API, "Reasoning models".
    """
    return _REASONS.match(model.rpartition("/")[2]) is not None


def version_of(model: str) -> tuple[int, int]:
    """Return the version of a GPT, (0, 0) for everything else."""
    found = _VERSION.match(model.rpartition("/")[2])
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def takes_none(model: str) -> bool:
    """Return whether a model can be told not to reason at all."""
    if version_of(model) >= _FAMILIES_FROM:
        return _TAKES_NONE.match(model.rpartition("/")[2]) is not None
    return version_of(model) >= _NONE_FROM and _ALWAYS_REASONS.search(model) is None


def takes_parallel_choice(model: str) -> bool:
    """Return whether `parallel_tool_calls` may be said; the o-series refuses the word."""
    return _O_SERIES.match(model.rpartition("/")[2]) is None


def effort_of(reasoning: Mapping[str, Any]) -> str | None:
    """Return the effort that is asked for, nothing where that is the model's own affair.

    A number of tokens is the least effort whose budget has room for it, of those that all models
    have. Source: W-6.
    """
    if reasoning.get("enabled") is False:
        return NONE
    if reasoning.get("effort"):
        return str(reasoning["effort"])
    if given := reasoning.get("max_tokens"):
        return next((name for name in _MEASURED if given <= BUDGETS[name]), _MEASURED[-1])
    return "medium" if reasoning.get("enabled") else None


def effort_for(request: Mapping[str, Any]) -> str | None:
    """Return the effort to be sent: what is asked for, where the model has a place for it."""
    model = request["model"]
    if not reasons(model):
        return None
    effort = effort_of(request.get("reasoning") or {})
    return None if effort == NONE and not takes_none(model) else effort


def chat_effort_for(request: Mapping[str, Any]) -> str | None:
    """Return the effort on chat completions: with tools, newer models must be told not to reason.

    An effort that is asked for goes all the same: the refusal says where it has a place.
    """
    effort = effort_for(request)
    if effort is not None or not request.get("tools"):
        return effort
    model = request["model"]
    must = version_of(model) >= _TOOLS_UNREASONED_FROM and takes_none(model)
    return NONE if must else None


def limit_of(asked: Asked) -> int | None:
    """Return the limit of output: the request's, else the route's, else none."""
    return asked.request.get("max_completion_tokens") or asked.beside.default_max_tokens


def cache_key(given: str) -> str:
    """Return a cache key that is short enough: the same for the same one."""
    if len(given) <= MAX_CACHE_KEY_CHARS:
        return given
    return hashlib.sha256(given.encode()).hexdigest()
