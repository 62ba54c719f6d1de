"""The body of an order to run a call."""

from __future__ import annotations

from dataclasses import replace

from everturn.protocol.decision import DecisionRequest
from everturn.session.ask import Ask, execution_request
from everturn.session.events.decisions import AsOf
from everturn.session.facts import PathMessage
from unit.session.building import NOON_MS

USER = {"id": "u1", "role": "user", "content": "Weather?"}
CALL = {
    "id": "a1",
    "role": "assistant",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    ],
}
OPEN = {"id": "c1", "kind": "tool_call", "status": "pending", "attempt": 1, "handler": "worker"}

ASK = Ask(
    session_id="s1",
    decision_id="d1",
    agent_id="helper",
    identity={"id": "ada"},
    turn_id="t1",
    trigger={
        "type": "tool.execute",
        "id": "c1",
        "name": "get_weather",
        "arguments": "{}",
        "input": {"status": "valid", "value": {}},
        "attempt": 1,
    },
    proposed={},
    as_of=AsOf(seq=20),
    open_calls=(OPEN,),
    path=(PathMessage(9, USER, 1), PathMessage(16, CALL, 1), PathMessage(30, USER, 1)),
    agent={"model": "demo:echo"},
    state=None,
    attempt=1,
    deadline_ms=NOON_MS,
)


def test_a_delivery_says_what_was_known_when_it_became_live() -> None:
    """Q-1 (within the window), Q-2, Q-4, Q-6, Q-8, Q-9, D-3: what came later is not in it."""
    body = execution_request(ASK)

    assert body == {
        "session_id": "s1",
        "decision_id": "d1",
        "agent_id": "helper",
        "identity": {"id": "ada"},
        "trigger": {
            "type": "tool.execute",
            "id": "c1",
            "name": "get_weather",
            "arguments": "{}",
            "input": {"status": "valid", "value": {}},
            "attempt": 1,
        },
        "proposed": {},
        "state": None,
        "agent": {"model": "demo:echo"},
        "calls": [OPEN],
        "pending_calls": 1,
        "messages": [USER, CALL],
        "message_tree": {
            "nodes": [{"message": USER}, {"message": CALL, "parent_id": "u1"}],
            "head_id": "a1",
        },
        "ancestry": [],
        "attempts": 1,
        "deadline": "2026-01-01T12:00:00.000Z",
        "turn_id": "t1",
    }
    DecisionRequest.model_validate(body)


def test_redeliveries_differ_in_attempt_and_deadline_alone() -> None:
    """D-3, D-5."""
    first = execution_request(ASK)

    again = execution_request(replace(ASK, attempt=2, deadline_ms=NOON_MS + 1))

    differing = {name for name, value in again.items() if first[name] != value}
    assert differing == {"attempts", "deadline"}


def test_model_calls_are_not_pending_calls() -> None:
    """Q-4."""
    model = {**OPEN, "id": "m1", "kind": "llm_call", "handler": "server"}

    assert execution_request(replace(ASK, open_calls=(model, OPEN)))["pending_calls"] == 1


def test_an_empty_tree_has_no_head() -> None:
    """Q-1."""
    assert execution_request(replace(ASK, path=()))["message_tree"] == {"nodes": []}
