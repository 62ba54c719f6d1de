"""What Anthropic's models take, told by their ids; wherever they run, it builds no request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from everturn.llm.formats import anthropic as messages_format
from everturn.llm.formats.anthropic import budget_of
from everturn.ports.model import Replay

_VERSIONED: Final = re.compile(r"claude-[a-z]+-(\d)(?:-(\d{1,2}))?(?![0-9])")
_NAMED: Final = re.compile(r"claude-([a-z]+)")
_ADAPTIVE_FROM: Final = (4, 6)
"""From here on a model decides itself how long it thinks, and is told an effort."""

_NO_TEMPERATURE_FROM: Final = (4, 7)
_MOST_EFFORT_FROM: Final = (4, 7)
"""From here on a model knows the effort `xhigh`. Source: "Effort"."""

_THINKS_UNASKED_FROM: Final = (5, 0)
_ALWAYS_THINKS_FROM: Final = (5, 1)
_NO_FORCE_FROM: Final = (5, 1)
"""From here on a model is left to choose whether it calls a tool. Source: "Define tools"."""

_BINDS_FROM: Final = (5, 1)
"""From here on thinking is bound to all that was said before it. Source: "Preserved thinking"."""

_ALWAYS_THINKING: Final = frozenset({"fable", "mythos"})
_FORCEABLE: Final = "haiku"
"""Of the later models, the one that can be made to call. Source: "What's new in Haiku 5.5"."""

LONG_MAX_TOKENS: Final = 32_000
"""Limit for a model whose thinking counts towards it, where nobody names one."""

_EFFORTS: Final = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}


def version_of(model: str) -> tuple[int, int]:
    """Return the version in a model's id, (0, 0) where it has none in today's form."""
    found = _VERSIONED.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def takes_temperature(model: str) -> bool:
    """Return whether a model's temperature can be set."""
    return version_of(model) < _NO_TEMPERATURE_FROM


def can_be_forced(model: str) -> bool:
    """Return whether a model can be made to call a tool, as long as it has no budget to think."""
    name = _name_of(model)
    return name == _FORCEABLE or (version_of(model) < _NO_FORCE_FROM and name != "mythos")


def has_budget(thinking: Mapping[str, Any]) -> bool:
    """Return whether `thinking` is of the kind that has a budget, which no choice may be beside."""
    return thinking.get("type") == "enabled"


def thinks_unasked(model: str) -> bool:
    """Return whether a model thinks where nobody says so."""
    return version_of(model) >= _THINKS_UNASKED_FROM


def bound_replays(
    messages: Sequence[Mapping[str, Any]], replays: Mapping[str, Replay], model: str
) -> Mapping[str, Replay]:
    """Return what may go back as the model said it.

    Where thinking is bound to what was said before, it goes back in the loop of tool calls that is
    under way alone: what is behind that may have been cut, summed up or put otherwise since, for
    which the whole request is refused. Source: "Preserved thinking".
    """
    if version_of(model) < _BINDS_FROM:
        return replays
    ids = _loop_of([one for one in messages if one["role"] != "system"])
    return {name: replay for name, replay in replays.items() if name in ids}


def _loop_of(spoken: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the messages of the loop that a user began, none where something else stands first."""
    ids: set[str] = set()
    for message in reversed(spoken):
        if message["role"] == "user":
            return frozenset(ids)
        if message["role"] == "assistant":
            if not message.get("tool_calls"):
                break
            ids.add(message.get("id") or "")
    return frozenset()


def own_thinking(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a model that decides itself is told to think; nothing for an older one.

    `thinking` and `output_config`, as the Messages API has them. Source: "Adaptive thinking".
    """
    reasoning = request.get("reasoning") or {}
    model = request["model"]
    if version_of(model) < _ADAPTIVE_FROM:
        return {}
    if reasoning.get("enabled") is False or reasoning.get("effort") == "none":
        return _no_thinking(model)
    budget = budget_of(reasoning)
    if not budget:
        return {}
    display = "omitted" if reasoning.get("exclude") else "summarized"
    effort = reasoning.get("effort")
    if effort is None and reasoning.get("max_tokens"):
        effort = effort_of(budget)
    if effort == "xhigh" and version_of(model) < _MOST_EFFORT_FROM:
        effort = "high"
    told: dict[str, Any] = {"thinking": {"type": "adaptive", "display": display}}
    if effort:
        told["output_config"] = {"effort": _EFFORTS.get(effort, effort)}
    return told


def effort_of(budget: int) -> str:
    """Return the least effort that stands for so many tokens of thinking. Source: W-6."""
    budgets = messages_format.BUDGETS.items()
    return next((name for name, tokens in budgets if budget <= tokens), "xhigh")


def _no_thinking(model: str) -> dict[str, Any]:
    """Return what makes a model think least: some think unasked, and some cannot be stopped."""
    version = version_of(model)
    if version >= _ALWAYS_THINKS_FROM or _name_of(model) in _ALWAYS_THINKING:
        return {"output_config": {"effort": "low"}}
    return {"thinking": {"type": "disabled"}} if version >= _THINKS_UNASKED_FROM else {}


def _name_of(model: str) -> str:
    found = _NAMED.search(model)
    return found[1] if found else ""
