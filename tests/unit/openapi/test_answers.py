"""Real answers, frames, events and deliveries against the published descriptions.

Every answer that the tests of the surfaces get is judged where it is got (`unit.surfaces.asking`);
here is that each way to succeed is among them.
"""

from __future__ import annotations

import json
import re
from typing import Any, get_args
from urllib.parse import urlencode

import pytest

from everturn.observability import metrics
from everturn.ports.decider import Deferred
from everturn.ports.sessions import Logged
from everturn.protocol.llm import StreamDelta
from everturn.protocol.oauth import FORM
from everturn.push.envelopes import envelopes
from everturn.push.frames import DeltaPush, EventPush, delta_frame, event_frame
from everturn.session.events.stored import Event
from everturn.surfaces.routes import ROUTES
from everturn_local.openapi.operations import OPERATIONS
from published import (
    HTTP,
    Undescribed,
    check_answer,
    check_frame,
    check_stream,
    complaints,
)
from sample_events import NOON_MS, plain_turn, what_a_plain_turn_lacks
from unit.drive.doubles import FrozenClock, SteppingClock, answered, result
from unit.drive.world import AGENT, TENANT, World, body
from unit.surfaces.asking import API_KEY, Surfaces

PATHS = {route.operation: (route.method, route.path) for route in ROUTES}
STREAM = {"Accept": "text/event-stream"}


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


class Asked:
    """Asks for operations by name, and notes how they answered."""

    def __init__(self, surfaces: Surfaces) -> None:
        self.surfaces = surfaces
        self.answered: set[tuple[str, int]] = set()

    def __call__(self, operation: str, given: Any = None, **how: Any) -> dict[str, Any]:
        method, path = PATHS[operation]
        named = {"slug": TENANT, **how}
        parts = {name: named[name] for name in re.findall(r"{(\w+)}", path)}
        more = {name: value for name, value in how.items() if name not in parts}
        status, told, _ = self.surfaces.http(method, path.format(**parts), given, **more)
        self.answered.add((operation, status))
        return told

    def events(self, **how: Any) -> None:
        status = self.surfaces.events("s1", **how)["statusCode"]
        self.answered.add(("read_events", status))

    def stream(self, run_id: str) -> None:
        status = self.surfaces.run_stream(run_id)["statusCode"]
        self.answered.add(("stream_run", status))


def everything(asked: Asked) -> None:
    """Ask for each operation, in all ways to succeed but the slow one."""
    surfaces = asked.surfaces
    asked("health", key=None)
    asked("create_client_token", {"identity": {"id": "u1"}})
    for _ in range(2):
        asked("put_agent", AGENT, agent_id="a1")
    oauth(asked)
    asked("list_agents", query={"limit": "1"})
    asked("list_models")
    asked("get_agent", agent_id="a1")
    asked("delete_agent", agent_id="a1")
    asked("submit_input", body('[[call:look {"at": 1}]][[turn]][[say:{{result}}]]'))
    asked("get_session", session_id="s1", query={"tree": "1"})
    asked.events(headers=STREAM)
    surfaces.world.advance()
    asked("submit_input", body("again"))
    asked("get_session", session_id="s1", query={"tree": "1"})
    asked("list_sessions")
    asked.events(query={"requests": "true", "limit": "500"})
    asked.events(headers=STREAM)
    last = str(surfaces.world.head().session.seq)
    asked.events(headers=STREAM, query={"turn_id": "t1", "after_seq": last})
    upload = asked("create_upload", {"filename": "a", "content_type": "a/b", "size_bytes": 1})
    surfaces.uploads.receive(upload["url"])
    asked("get_upload", upload_id=upload["upload_id"])
    asked("put_session_budgets", {"turn": {"tokens": 9}, "mode": "fail"}, session_id="s1")
    asked("get_session_budgets", session_id="s1")
    asked("delete_session_budgets", session_id="s1")
    for one, named in (("tenant", {}), ("owner", {"owner_id": "ada"})):
        asked(f"put_{one}_budget", {"cost": "1", "mode": "fail", "period": "day"}, **named)
        asked(f"get_{one}_budget", **named)
        asked(f"delete_{one}_budget", **named)
    asked("delete_session", session_id="s1")
    waits(asked)
    outside(asked)
    runs(asked)
    agent_sessions(asked)
    inbox(asked)


LOCAL = {"kind": "local", "name": "find", "parameters": {"type": "object"}}
"""A tool of the caller's."""


def runs(asked: Asked) -> None:
    """Ask for a run with a tool of the caller's, stop another one, and rate both."""
    world = asked.surfaces.world
    asked("list_run_models")
    text = "[[think:hm]][[call:find {}]][[say:{{result}}]]"
    run = asked("create_run", {"prompt": text, "tools": [LOCAL], "name": "n"})["runId"]
    asked("get_run", run_id=run)
    world.advance()
    asked.stream(run)
    (call,) = world.head(asked("get_run", run_id=run)["sessionId"]).session.calls
    asked("answer_tool", {"toolUseId": call.id, "result": "it"}, run_id=run)
    world.advance()
    asked.stream(run)
    asked("get_run", run_id=run)
    stopped = asked("create_run", {"prompt": "Hello"})["runId"]
    asked("cancel_run", run_id=stopped)
    asked.stream(stopped)
    for verdict in ("UP", "DOWN"):
        asked("rate_run", {"verdict": verdict}, run_id=run)


def agent_sessions(asked: Asked) -> None:
    """Ask for a session, for a run in it, for all that is told of it, and for its end."""
    made = asked("create_agent_session", {"name": "n", "metadata": {"a": "b"}})
    named = {"session_id": made["sessionId"]}
    file = {"type": "input_file", "filename": "a.txt", "mimeType": "text/plain", "data": "aGk="}
    message = {"role": "user", "content": "[[call:find {}]]", "attachments": [file]}
    asked("send_message", {"messages": [message], "tools": [LOCAL]}, **named)
    asked.surfaces.world.advance()
    asked("get_agent_session", **named)
    asked("replay_agent_session", **named)
    asked("end_agent_session", **named)
    asked("list_agent_sessions")
    asked("get_agent_session", **named)


def inbox(asked: Asked) -> None:
    """Ask for what waits behind an open turn, twice, and change it."""
    asked("submit_input", body("Hello", "t1", "s4"))
    item = {"message": {"role": "user", "content": "next"}, "turn_id": "t2"}
    told = asked("enqueue_item", item, session_id="s4")
    asked("enqueue_item", item, session_id="s4")
    named = {"session_id": "s4", "item_id": told["item_id"]}
    asked("edit_item", {"content": "other"}, **named)
    asked("drop_item", **named)


def oauth(asked: Asked) -> None:
    """Ask for tokens, for whose they are, and for their end."""
    client = {"client_id": TENANT, "client_secret": API_KEY}
    form = {"headers": {"content-type": FORM}, "key": None}
    wanted = {"grant_type": "client_credentials", **client}
    made = asked("oauth_token", urlencode(wanted), **form)
    asked("get_userinfo")
    asked("get_userinfo", key=made["access_token"])
    asked("oauth_revoke", urlencode({"token": made["access_token"], **client}), **form)


def waits(asked: Asked) -> None:
    """Ask for what a tool of an engine-decided agent waits for, and answer it twice."""
    world = asked.surfaces.world
    world.decider.answer = lambda _request: answered(
        {"type": "tool.ask", "question": "Sure?", "choices": ["yes", "no"]}
    )
    asked("submit_input", body("[[call:look {}]]", "t1", "s3"))
    world.advance()
    (wait,) = asked("get_session", session_id="s3")["waits"]
    for _ in range(2):
        asked("resolve_wait", {"answer": "yes"}, session_id="s3", interrupt_id=wait["id"])


def outside(asked: Asked) -> None:
    """Ask for what outsiders say about a session that its worker decides."""
    world = asked.surfaces.world
    world.agent("boss", **{**AGENT, "decides": "worker"})
    world.decider.answer = lambda _request: Deferred()
    asked("submit_input", body("Hello", "t1", "s2", "boss"))
    world.advance()
    waiting = world.head("s2").session.decisions[0]
    call = {"type": "tool.call", "id": "c1", "name": "look", "arguments": {}}
    late = {"session_id": "s2", "decision_id": waiting.id, "actions": [call]}
    asked("submit_answer", late)
    asked("submit_answer", late)
    asked("settle_call", {"type": "tool.result", "id": "c1", "result": 1}, session_id="s2")
    raised = asked("interrupt_session", {"reason": "stop"}, session_id="s2")
    asked("get_session", session_id="s2")
    asked("resume_session", {"interrupt_id": raised["interrupt_id"]}, session_id="s2")
    resume = {"type": "interrupt.resume", "interrupt_id": "never"}
    asked("submit_input", {"session_id": "s2", "input": resume})
    asked("cancel_turn", session_id="s2", turn_id="t1")
    asked("cancel_session", {"cause": "user"}, session_id="s2")


def test_each_way_to_succeed_is_as_it_is_described() -> None:
    asked = Asked(Surfaces(World(clock=FrozenClock())))
    asked.surfaces.world.decider.answer = lambda _request: result({"found": True})
    slow = Asked(Surfaces(World(clock=SteppingClock(20_000))))

    everything(asked)
    slow("submit_input", body("Hello"))
    slow("delete_session", session_id="s1")

    successes = {
        (operation, answer.status)
        for operation, spoken in OPERATIONS.items()
        for answer in spoken.answers
    }
    assert {one for one in asked.answered | slow.answered if one[1] < 300} == successes


def test_what_a_worker_is_sent_is_as_it_is_described() -> None:
    world = World()
    world.decider.answer = lambda _request: result("42")
    world.submit('[[call:look {"at": 1}]][[turn]][[call:send [] ]][[turn]][[say:ok]]')

    world.advance()

    found = [
        complaints(HTTP, "/components/schemas/DecisionRequest", one)
        for one in world.decider.requests
    ]
    assert found
    assert not any(found)


def test_each_kind_of_event_is_shown_as_it_is_described() -> None:
    asked, answered = plain_turn("s1")
    events = (*asked, *answered, *what_a_plain_turn_lacks())
    commit = Logged(1, len(events), "id", NOON_MS, "http_api", 1, "created", events)

    shown = envelopes("s1", commit)

    found = [complaints(HTTP, "/components/schemas/EventEnvelope", one) for one in shown]
    assert not any(found)
    assert {type(event) for event in events} == set(get_args(Event))


def test_what_a_lane_sends_is_as_it_is_described() -> None:
    place: Any = {"subscription": "s", "session_id": "s1", "cursor": "8.3-2"}
    envelope: Any = {
        "session_id": "s1",
        "seq": 8,
        "occurred_at": "2026-01-01T12:00:00.000Z",
        "turn_id": "t1",
        "payload": {"type": "turn.stalled", "turn_id": "t1"},
    }
    large = {**envelope, "payload": {**envelope["payload"], "x": "x" * 200_000}}
    delta = StreamDelta(text="Hi")
    pushes = [
        event_frame(EventPush(**place, seq=8, prev_seq=7, envelope=envelope)),
        event_frame(EventPush(**place, seq=8, prev_seq=7, envelope=large)),
        delta_frame(
            DeltaPush(
                **place, agent_id="a", turn_id="t1", call_id="l1", attempt=1, seq=2, delta=delta
            )
        ),
    ]

    for frame in pushes:
        check_frame(json.loads(frame))

    assert [json.loads(frame)["type"] for frame in pushes] == ["event", "event_ref", "delta"]


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/v1/health", 200, {"ok": True, "more": 1}),
        ("GET", "/v1/health", 418, {"ok": True}),
        ("GET", "/v1/sessions/s1", 404, {"error": "x", "code": "x", "message": "x"}),
        ("GET", "/v1/nothing", 200, {"ok": True}),
        (
            "GET",
            "/v1/sessions/s1/events",
            200,
            {"events": [{}], "next_after_seq": 1, "more": False},
        ),
    ],
    ids=["a field", "a status", "a code", "a path", "an event"],
)
def test_what_is_not_described_is_noticed(
    method: str, path: str, status: int, body: dict[str, Any]
) -> None:
    with pytest.raises(Undescribed):
        check_answer(method, path, status, "application/json", json.dumps(body))


@pytest.mark.parametrize("text", ["data: {}\n\n", "event: turn.stalled\ndata: {}\n\n"])
def test_what_is_no_frame_of_a_stream_is_noticed(text: str) -> None:
    with pytest.raises(Undescribed):
        check_stream(text)


@pytest.mark.parametrize("frame", [{"type": "dance"}, {"type": "pong", "more": 1}, {}])
def test_what_is_no_frame_of_a_socket_is_noticed(frame: dict[str, Any]) -> None:
    with pytest.raises(Undescribed):
        check_frame(frame)
