"""A decision request -> the decision response: which function runs, and what its end means.

Sync and async at once: whoever asks brings the way to call a function. It knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import TypeAdapter

from everturn.protocol.json_text import compact
from everturn.workers.context import KEPT, Context, to_context
from everturn.workers.logs import logger
from everturn.workers.registry import Registry
from everturn.workers.replies import (
    AskUser,
    Pending,
    TaskStarted,
    ToolError,
    cut,
    to_action,
    to_error_action,
)
from everturn.workers.results import Fits, NotJson, is_shallow, to_plain, to_result, to_state
from everturn.workers.tools import Options

Response = dict[str, Any]

Call = Callable[[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], Awaitable[Any]]
"""Calls a function with arguments and keyword arguments, and waits for what it returns."""


class NotADecision(ValueError):
    """What arrived is no decision request."""


class UnusableAnswer(Exception):
    """A handler answered with what is no decision response, or with more than can be sent."""


async def answer(
    registry: Registry, request: Any, call: Call, fits: Fits, *, shows_errors: bool
) -> tuple[Response, bytes]:
    """Return the response to `request`, and the same as compact JSON.

    A tool's failure is an answer. What a handler of another trigger raises passes through.
    Raises `NotADecision`, `UnusableAnswer`.
    """
    match request:
        case {"trigger": {"type": "tool.execute" | "tool.poll", "name": str() as name}}:
            try:
                response = await _settle(registry, request, name, call, shows_errors=shows_errors)
            except ToolError as error:
                response = _refused(error)
        case {"trigger": {"type": "tool.execute" | "tool.poll"}}:
            raise NotADecision("a trigger of a tool has the tool's name")
        case {"trigger": {"type": str() as kind}}:
            response, name = await _handle(registry, kind, request, call), ""
        case _:
            raise NotADecision("a decision request is an object with a trigger")
    body = compact(response).encode()
    if is_shallow(body) and fits(response, body):
        return response, body
    if not name:
        raise UnusableAnswer(f"an answer of {len(body)} bytes, too large or too deep to be sent")
    told = f"The answer of {name} is too large or nested too deeply to be sent."
    response = _refused(ToolError(told, code="too_large", detail={"size_bytes": len(body)}))
    return response, compact(response).encode()


async def _settle(
    registry: Registry, request: Mapping[str, Any], name: str, call: Call, *, shows_errors: bool
) -> Response:
    """Run what the call asks for. Raises `ToolError`, whatever went wrong."""
    trigger = request["trigger"]
    if trigger["type"] == "tool.execute" and (proposed := _objection(request, name)):
        return proposed
    tool = registry.tools.get(name)
    if tool is None:
        known = ", ".join(registry.tools) or "none"
        raise ToolError(f"There is no tool named {name} here. Available: {known}")
    polled = trigger["type"] == "tool.poll"
    runs = registry.polls.get(name) if polled else tool
    if runs is None:
        raise ToolError(f"Nobody here knows how far a task of {name} is.")
    context = to_context(request, may_set_state=not tool.options.overlaps)
    try:
        returned = await call(runs.function, (), runs.keywords(context))
        return _outcome(name, returned, runs.adapter, context, polled=polled)
    except ToolError:
        raise
    except Exception as error:
        logger.exception("tool %s failed in call %s", name, context.call_id)
        raise _to_tool_error(name, error, tool.options, shows_errors=shows_errors) from error


def _objection(request: Mapping[str, Any], name: str) -> Response | None:
    """Return the engine's answer to a call that it finds wrong: arguments, or the tool's name.

    Source: decision protocol 8.4, U-5. Raises `ToolError` where it only says what is wrong.
    """
    proposed = request.get("proposed")
    if isinstance(proposed, dict) and proposed.get("actions"):
        return proposed
    match request["trigger"].get("input"):
        case {"status": "invalid" | "malformed", "error": why}:
            raise ToolError(f"Arguments for {name} do not fit: {why}", code="invalid_arguments")
        case _:
            return None


def _outcome(
    name: str, returned: Any, adapter: TypeAdapter[Any] | None, context: Context, *, polled: bool
) -> Response:
    """Return what `returned` does: it settles the call, or says how the call goes on."""
    match returned:
        case TaskStarted() if polled:
            raise TypeError("a poll starts no task")
        case AskUser() | TaskStarted() | Pending():
            action = to_plain(to_action(returned))
        case _:
            action = {"type": "tool.result", "result": to_result(name, returned, adapter)}
    if context.new_state is KEPT:
        return {"actions": [action]}
    return {"actions": [action], "state": to_state(name, context.new_state)}


async def _handle(
    registry: Registry, kind: str, request: Mapping[str, Any], call: Call
) -> Response:
    """Return a handler's answer, or what the engine proposes."""
    handler = registry.handlers.get(kind)
    made = None if handler is None else await call(handler, (dict(request),), {})
    if made is None:
        made = request.get("proposed") or {}
    try:
        plain = to_plain(made)
    except NotJson as error:
        raise UnusableAnswer(f"the answer to {kind} is no JSON: {error}") from error
    if not isinstance(plain, dict):
        raise UnusableAnswer(f"the answer to {kind} is no object")
    return plain


def _to_tool_error(
    name: str, error: Exception, options: Options, *, shows_errors: bool
) -> ToolError:
    """Return what the model is told of a failure that the tool did not word itself."""
    told = f"{type(error).__name__}: {error}" if shows_errors else "the reason is in its log"
    return ToolError(f"{name} failed: {told}", retryable=options.repeatable)


def _refused(error: ToolError) -> Response:
    """Return the answer that says `error`; details that are no JSON are told as text."""
    action = to_error_action(error)
    try:
        return {"actions": [to_plain(action)]}
    except NotJson:
        return {"actions": [{**action, "detail": {"value": cut(repr(action["detail"]))}}]}
