"""Whole sessions whose worker decides, at random: what must hold whatever is said in what order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everturn.errors import RejectedError
from everturn.protocol.decision import DECISION_RESPONSE
from everturn.rejections import SessionInterrupted, TurnAlreadyActive
from everturn.session.commands import (
    FailTurn,
    RaiseInterrupt,
    ResolveWait,
    ResumeInterrupt,
    TakeOver,
)
from everturn.session.events.sessions import TurnStarted
from everturn.session.events.shape import Usage
from everturn.session.mail_commands import (
    ChildDone,
    ChildFailed,
    ChildPaused,
    HearChild,
    NoteStart,
    Report,
    StartFailed,
    TakeMessage,
)
from everturn.session.propose import (
    CallModel,
    DeliverToWorker,
    Effect,
    HandToMachine,
    NoteLastWords,
    SendOut,
    StartSubAgent,
    propose,
)
from everturn.session.state import Call, Decision, Session
from examples import per_cent
from unit.session.building import made, said
from unit.session.deciding import Deciding, echo
from unit.session.logs import path_of
from unit.session.waiting import check_waits

NAMES = ("get_weather", "send_email", "look_around", "undeclared")


def _reply(n: int) -> Any:
    calls = [made("call_0" if n % 2 else "", NAMES[(n + i) % 4]) for i in range(n % 4)]
    finish = "length" if n % 7 == 0 else ""
    return said(f"answer {n}", *calls, finish=finish)


def _answer(request: dict[str, Any], n: int) -> dict[str, Any] | None:
    """Return one of the things that a worker might say."""
    trigger, proposed = request["trigger"], echo(request)
    settle: list[dict[str, Any] | None] = [{}, None]
    if trigger["type"] == "tool.execute":
        settle = [
            {"actions": [{"type": "tool.result", "result": n}]},
            {"actions": [{"type": "tool.error", "error": "no", "retryable": n % 2 == 0}]},
            {"actions": [{"type": "interrupt", "reason": "asks"}]},
            {"actions": [{"type": "tool.ask", "question": "Sure?"}]},
            {"actions": [{"type": "tool.task", "task_id": "x", "poll_interval_seconds": 1}]},
            None,
        ]
    if trigger["type"] == "tool.poll":
        settle = [
            {"actions": [{"type": "tool.pending"}]},
            {"actions": [{"type": "tool.ask", "question": "Sure?"}]},
            {"actions": [{"type": "tool.result", "result": n}]},
            {"actions": [{"type": "tool.error", "error": "no", "retryable": n % 2 == 0}]},
            {},
            None,
        ]
    options: list[dict[str, Any] | None] = [
        proposed,
        proposed,
        proposed,
        {**proposed, "state": {"n": n % 3}},
        {"actions": [{"type": "tool.call", "name": "send_email", "arguments": {}}]},
        {"actions": [{"type": "done", "data": n}]},
        {"actions": [{"type": "tool.result", "result": 1}]},
        {"actions": [{"type": "tool.error", "id": "never", "error": "x"}]},
        {**proposed, "actions": [_spawn(n), _send(f"child-{n}", n)]},
        {"actions": [_send("s1" if n % 2 else "s2", n)]},
        *settle,
    ]
    return options[n % len(options)]


def _spawn(n: int) -> dict[str, Any]:
    child = {"session_id": f"child-{n}", "agent_id": "poet", "tool_call_id": f"spawned-{n}"}
    return {"type": "sub_agent.spawn", **child}


def _send(target: str, n: int) -> dict[str, Any]:
    message = {"id": f"note-{n % 5}", "role": "user", "content": f"note {n}"}
    return {"type": "message.send", "session_id": target, "message": message}


def _moves(story: Deciding) -> list[Callable[[int], object]]:
    session = story.session
    moves: list[Callable[[int], object]] = [
        lambda n: story.proceed(n % 5),
        lambda _: story.do(lambda at, facts: TakeOver(at, facts, story.policy)),
    ]
    if session.turn is None:
        moves.append(lambda n: story.do(story.submitting(f"question {n}", decides="worker")))
    elif session.turn is not None and len(story.log) % 11 == 0:
        moves.append(lambda _: story.do(lambda at, facts: FailTurn(at, facts, "no", "x")))
    elif len(story.log) % 7 == 0:
        moves.append(lambda _: story.cancel())
    moves.append(partial(_view, story))
    moves += [partial(_act, story, effect) for effect in propose(session).effects]
    moves += [partial(_settle, story, one.id) for one in session.calls if one.kind == "tool_call"]
    moves += [partial(_hear, story, one) for one in session.calls if one.kind == "sub_agent"]
    if story.log and len(story.log) % 5 == 0 and not session.is_cancelled:
        moves.append(partial(_take, story))
    moves += [partial(_resume, story, one.id) for one in session.interrupts]
    moves += [partial(_resolve, story, one.id) for one in session.waits]
    if session.turn is not None:
        moves.append(
            lambda n: story.do(
                lambda at, facts: RaiseInterrupt(at, facts, f"i{n % 3}", "machine", "stop")
            )
        )
    return moves


def _view(story: Deciding, n: int) -> None:
    """Send a view that ends somewhere in the tree, with news behind it or none."""
    nodes = [value["id"] for value in story.values if value["type"] == "message.new"]
    path = path_of(story.values, head_id=nodes[n % len(nodes)]) if nodes else ()
    news = [{"role": "user", "content": f"edit {n}"}] if n % 3 or not path else []
    view = (*(dict(node.message) for node in path), *news)
    try:
        story.do(story.submitting(view=view, decides="worker"))
    except (TurnAlreadyActive, SessionInterrupted):
        assert story.session.turn is not None or story.session.interrupts


def _hear(story: Deciding, call: Call, n: int) -> None:
    """Have a child say something, of the right session or of another."""
    reports: list[Report] = [
        ChildDone(f"done {n}", "0.1", Usage(input_tokens=n)),
        ChildFailed("no"),
        ChildPaused(f"i{n % 2}", "asks"),
    ]
    child = call.session_id if n % 8 else "another"
    report = reports[n % len(reports)]
    story.do(lambda at, facts: HearChild(at, facts, call.id, child, report))


def _take(story: Deciding, n: int) -> None:
    """Have a message come that has not been the input of a turn yet; it may wait already."""
    turn_id = f"mail-turn-{n % 5}"
    if any(isinstance(one, TurnStarted) and one.turn_id == turn_id for one in story.log):
        return
    message = {"id": f"mail-{n % 5}", "role": "user", "content": f"mail {n}"}
    story.do(lambda at, facts: TakeMessage(at, facts, message, turn_id))


def _act(story: Deciding, effect: Effect, n: int) -> None:
    match effect:
        case NoteLastWords():
            story.act(effect)
        case CallModel():
            story.replies = [_reply(n)]
            story.act(effect)
        case DeliverToWorker() | HandToMachine():
            decision_id = effect.decision_id
            if n % 9 == 0:
                story.lose_question(decision_id)
                return
            story.worker_ = lambda request: _answer(request, n)
            story.act(effect)
        case StartSubAgent(call_id=call_id, attempt=attempt) if n % 4 == 0:
            failed = StartFailed("busy", "provider_error", retryable=n % 8 == 0)
            story.do(lambda at, facts: NoteStart(at, facts, call_id, attempt, failed))
        case StartSubAgent() | SendOut():
            story.act(effect)


def _settle(story: Deciding, call_id: str, n: int) -> None:
    try:
        story.settle({"type": "tool.result", "id": call_id, "result": n})
    except RejectedError:
        assert story.session.call(call_id) is not None


def _resolve(story: Deciding, wait_id: str, n: int) -> None:
    outcome: Literal["answered", "declined"] = "answered" if n % 2 else "declined"
    story.do(lambda at, facts: ResolveWait(at, facts, wait_id, outcome, str(n)))


def _resume(story: Deciding, interrupt_id: str, _n: int = 0) -> None:
    try:
        story.do(lambda at, facts: ResumeInterrupt(at, facts, interrupt_id, "system"))
    except TurnAlreadyActive:
        assert story.session.turn is not None
        assert story.session.parked


def _is_beside(decision: Decision, calls: dict[str, Call]) -> bool:
    """Return whether a question is beside the slot (O-5), or left from a call that was settled."""
    call = calls.get(decision.call_id)
    runs_it = decision.trigger in {"tool.execute", "tool.poll"}
    return runs_it and (call is None or call.overlap)


def check(session: Session) -> None:
    """Assert what always holds between two commands."""
    check_waits(session)
    placed = [one for one in session.decisions if one.status != "queued"]
    calls = {call.id: call for call in session.calls}
    in_slot = [one for one in placed if not _is_beside(one, calls)]
    assert len(in_slot) <= 1, "one live decision a session: invariant 6"
    running = [
        call
        for call in session.calls
        if call.kind == "llm_call" and call.handler == "server" and call.status != "queued"
    ]
    assert len(running) <= 1, "L-8"


@pytest.mark.slow
@settings(max_examples=per_cent(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(moves=st.lists(st.integers(min_value=0, max_value=99), max_size=60))
def test_whatever_is_said_the_session_holds_together(moves: list[int]) -> None:
    """Invariants 2, 6 and 7; T-14; every question passes the wire's models."""
    story = Deciding()
    for move in moves:
        options = _moves(story)
        options[move % len(options)](move)
        check(story.session)

    _to_rest(story)

    kinds = Counter(event.type for event in story.log)
    assert kinds["turn.started"] - kinds["turn.completed"] in {0, 1}
    ids = [value["message"]["id"] for value in story.values if value["type"] == "message.new"]
    assert len(ids) == len(set(ids))
    for value in story.values:
        if value["type"] == "decision.queued" and value.get("news"):
            DECISION_RESPONSE.validate_python({"messages": value["news"]})


def _to_rest(story: Deciding) -> None:
    """Have everybody behave from here on; a session that may go on comes to an end of its turn."""
    story.worker_ = _good
    for _ in range(60):
        for interrupt in story.session.interrupts:
            _resume(story, interrupt.id)
        story.run()
        for call in story.session.calls:
            if call.kind == "tool_call" and call.status == "pending":
                _settle(story, call.id, 0)
            elif call.kind == "sub_agent":
                _hear(story, call, 9)
        session = story.session
        is_busy = session.calls or session.decisions or session.interrupts or session.outbox
        if not is_busy and not session.inbox:
            return
        story.proceed(61)
    raise AssertionError(f"{story.session.calls} {story.session.decisions}")


def _good(request: dict[str, Any]) -> dict[str, Any]:
    if request["trigger"]["type"] == "tool.execute" and not request["proposed"]:
        return {"actions": [{"type": "tool.result", "result": "ok"}]}
    return echo(request)
