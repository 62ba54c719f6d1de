"""Which model the open turn calls where the engine decides, and with which header; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.session.facts import WORKERS_ROUTE, Facts, Route
from everturn.session.request import header_for
from everturn.session.state import Session, Turn

NO_TOOLS: Final[Mapping[str, Any]] = {"tool_choice": "none"}
"""What the last call of a turn says over the config; its tools stay, for the history has calls."""


def is_run_by_worker(config: Mapping[str, Any]) -> bool:
    """Return whether the model calls of a config go to the worker. Source: W-1."""
    return config.get("handler") == "worker"


def models_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the selectors of a config in the order that a turn tries them."""
    own: str = config.get("model") or ""
    return own, *(() if is_run_by_worker(config) else config.get("fallback_models") or ())


def model_of_calls(facts: Facts, turn: Turn | None) -> str:
    """Return the selector of the turn's model calls."""
    models = models_of(facts.agent.config)
    return models[min(turn.fallbacks if turn else 0, len(models) - 1)]


def fallback_after(facts: Facts, turn: Turn) -> str | None:
    """Return the selector that the turn falls back to next, if one is left that is known."""
    left = models_of(facts.agent.config)[turn.fallbacks + 1 :]
    return left[0] if left and left[0] in facts.routes else None


def route_of_calls(facts: Facts, turn: Turn | None) -> Route:
    """Return where the turn's model calls lead: to its worker, or to a provider."""
    config, model = facts.agent.config, model_of_calls(facts, turn)
    if is_run_by_worker(config):
        return Route(WORKERS_ROUTE, model, facts.route.context_window)
    return facts.routes.get(model, facts.route) if turn and turn.fallbacks else facts.route


def header_of_calls(facts: Facts, session: Session) -> dict[str, Any]:
    """Return the header of the turn's next model call."""
    turn = session.turn
    route = route_of_calls(facts, turn)
    own = NO_TOOLS if turn is not None and turn.is_final else None
    return header_for(facts.agent, route, own, depth=len(session.ancestry))
