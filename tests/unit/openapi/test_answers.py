"""Real answers, frames, events and deliveries against the published descriptions.

Every answer that the tests of the surfaces get is judged where it is got (`unit.surfaces.asking`);
here is that each way to succeed is among them.
"""

from __future__ import annotations

import json
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
PARTS = {"session_id", "turn_id", "agent_id", "upload_id", "owner_id", "interrupt_id"}
"""Of paths."""


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
        parts = {
            name: how.pop(name)
            for name in {
                "session_id",
                "agent_id",
                "upload_id",
                "owner_id",
                "interrupt_id",
                "turn_id",
            }
            & how.keys()
        }
        status, told, _ = self.surfaces.http(method, path.format(**parts), given, **how)
        self.answered.add((operation, status))
        return told

    def events(self, **how: Any) -> None:
        status = self.surfaces.events("s1", **how)["statusCode"]
        self.answered.add(("read_events", status))


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
