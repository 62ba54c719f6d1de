"""Opens the calls that an answer asks for, and starts those that may start; ends none.

Source: decision-protocol, sections 10 and 11, L-8, U-13.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.protocol.json_text import compact
from everturn.protocol.limits import MAX_ARGUMENTS_BYTES, MAX_LLM_CALLS_PER_TURN, MAX_OPEN_CALLS
from everturn.rejections import ModelRequired, TooManyCalls
from everturn.session.commands import ModelFailure, ToolRefused
from everturn.session.decide.model_call import dispatch_model_call, record_header
from everturn.session.decide.model_failure import fail_attempt
from everturn.session.decide.questions import queue
from everturn.session.decide.tool_result import dispatch_tool_call, fail_tool
from everturn.session.events.model_calls import (
    Boundary,
    ModelCallCompleted,
    ModelCallRequested,
    RequestPrivate,
)
from everturn.session.events.shape import Retry
from everturn.session.events.tool_calls import ToolCallRequested, ToolPrivate
from everturn.session.facts import WORKERS_ROUTE, Route
from everturn.session.journal import Journal
from everturn.session.refs import Ref, same_as
from everturn.session.request import DERIVATION, build_request, explicit_request, header_for
from everturn.session.retries import model_retry, tool_retry
from everturn.session.state import Call, CallStatus

CONTINUED: Final = (
    "model",
    "tools",
    "temperature",
    "max_completion_tokens",
    "reasoning",
    "stream",
    "handler",
    "retry",
)
"""What of an `llm.call` the next proposal goes on with. Source: G-3."""


def request_model_call(journal: Journal, action: Mapping[str, Any]) -> None:
    """Open a model call; what `action` leaves out comes from the config. Source: L-1 to L-3, X-6.

    Raises `ModelRequired`, `TooManyCalls`.
    """
    if action.get("id") and journal.was_asked(action["id"]):
        return
    agent, head = journal.facts.agent, journal.session.head
    config = agent.config
    model = action.get("model") or config.get("model")
    if not model:
        raise ModelRequired("An llm.call names no model, and there is no config to take one from.")
    handler = action.get("handler") or config.get("handler") or "server"
    is_workers = handler == "worker"
    route = Route(WORKERS_ROUTE, model) if is_workers else _route(journal, model)
    header = header_for(agent, route, action, depth=len(journal.session.ancestry))
    record_header(journal, header, route)
    explicit = action.get("messages")
    request = (
        build_request(header, journal.path)
        if explicit is None
        else explicit_request(header, explicit)
    )
    turn, stream = journal.session.turn, action.get("stream")
    if stream is None:
        stream = bool(turn and turn.stream) or bool(config.get("stream"))
    retry = action.get("retry")
    asked = {name: action[name] for name in CONTINUED if action.get(name) is not None}
    journal.add(
        ModelCallRequested(
            turn_id=journal.turn_id,
            id=action.get("id") or journal.mint(),
            model=model,
            handler="worker" if is_workers else "server",
            format=config.get("format") if is_workers else None,
            stream=stream,
            retry=Retry(**retry) if retry else model_retry(config),
            anchor=journal.anchor,
            messages=list(explicit) if explicit is not None else None,
            private=RequestPrivate(
                header_seq=journal.session.header_seq,
                boundary=Boundary(head_id=head.id, head_seq=head.seq, from_seq=1) if head else None,
                derivation=DERIVATION,
                request_sha256=request.sha256,
                repairs=request.repairs,
                asked=asked or None,
            ),
        )
    )
    check_room(journal)
    if turn is not None and turn.model_calls >= MAX_LLM_CALLS_PER_TURN:
        limit = f"a turn may make {MAX_LLM_CALLS_PER_TURN} model calls"
        failure = ModelFailure(limit, "budget_exceeded", retryable=False)
        fail_attempt(journal, journal.session.calls[-1], failure)


def _route(journal: Journal, model: str) -> Route:
    return journal.facts.routes.get(model, journal.facts.route)


def open_tool_call(journal: Journal, action: Mapping[str, Any], problem: str | None) -> None:
    """Open a tool call; `problem` is what is wrong with its arguments.

    A client is never sent arguments that do not fit: there is no question in which the worker
    could object. Source: U-1, U-2, U-5, X-6. Raises `TooManyCalls`.
    """
    if action.get("id") and journal.was_asked(action["id"]):
        return
    name, given = action["name"], action.get("arguments")
    text = given if isinstance(given, str) else compact(given)
    tool = journal.facts.agent.tool(name)
    declared = tool or {}
    retry = action.get("retry")
    effect = declared.get("effect")
    overlap = declared.get("overlap")
    call_id = action.get("id") or journal.mint()
    llm_call_id, refs = made_by(journal, call_id, text)
    journal.add(
        ToolCallRequested(
            turn_id=journal.turn_id,
            id=call_id,
            name=name,
            arguments=None if refs else text,
            handler=action.get("handler") or declared.get("handler") or "worker",
            retry=Retry(**retry) if retry else tool_retry(tool),
            anchor=journal.anchor,
            llm_call_id=llm_call_id,
            private=ToolPrivate(
                effect=effect, overlap=effect == "read" if overlap is None else overlap
            ),
            refs=refs,
        )
    )
    check_room(journal)
    call = journal.session.calls[-1]
    if len(text.encode()) > MAX_ARGUMENTS_BYTES:
        error = f"Arguments for {name} are over {MAX_ARGUMENTS_BYTES} bytes."
        fail_tool(journal, call, ToolRefused(error, detail={"reason": "too_large"}), attempt=1)
    elif problem is not None and call.handler == "client":
        fail_tool(journal, call, ToolRefused(problem), attempt=1)


def check_room(journal: Journal) -> None:
    """Refuse one call too many. Raises `TooManyCalls`. Source: section 23."""
    if len(journal.session.calls) > MAX_OPEN_CALLS:
        raise TooManyCalls(f"/actions: a session has at most {MAX_OPEN_CALLS} open calls")


def made_by(journal: Journal, call_id: str, text: str = "") -> tuple[str | None, dict[str, Ref]]:
    """Return the model call whose reply made a tool call, and where its arguments stand: `text`."""
    for seq, event in journal.all_events():
        if not isinstance(event, ModelCallCompleted) or not event.message:
            continue
        for position, made in enumerate(event.message.get("tool_calls") or ()):
            if made["id"] == call_id:
                same = made["function"]["arguments"] == text
                place = f"message.tool_calls.{position}.function.arguments"
                return event.id, {"arguments": same_as(seq, place)} if same else {}
    return None, {}


def start_calls(journal: Journal) -> None:
    """Dispatch what may start: tools and the worker's model calls at once, ours one at a time.

    Source: U-13, W-1, L-8.
    """
    for call in journal.session.calls:
        if journal.session.is_paused:
            return  # P-6; a budget may have paused it just now
        if call.status is not CallStatus.QUEUED or journal.session.call(call.id) != call:
            continue
        if call.kind == "tool_call":
            start_tool_call(journal, call)
        elif call.kind == "llm_call" and (call.handler == "worker" or not _is_calling(journal)):
            dispatch_model_call(journal, call)


def start_tool_call(journal: Journal, call: Call) -> None:
    """Start the next attempt of a tool call, and ask the worker for it where it runs it."""
    dispatch_tool_call(journal, call)
    if call.handler == "worker":
        queue(journal, "tool.execute", turn_id=call.turn_id or None, call_id=call.id)


def _is_calling(journal: Journal) -> bool:
    return any(
        call.kind == "llm_call" and call.handler == "server" and call.status != CallStatus.QUEUED
        for call in journal.session.calls
    )
