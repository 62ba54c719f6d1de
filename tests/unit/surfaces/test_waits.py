"""The route that answers questions of tools: who may, what is refused, what comes twice."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.read_session import ReadSession
from everturn.observability import metrics
from everturn.protocol.limits import MAX_ANSWER_BYTES, MAX_REASON_BYTES
from unit.drive.doubles import NOON_MS, FrozenClock, answered
from unit.drive.world import MACHINE, World, body
from unit.surfaces.asking import Surfaces

CLOSED = {"type": "tool.ask", "question": "Which day?", "choices": ["today", "tomorrow"]}
OPEN = {**CLOSED, "allows_free_text": True}
FREE = {"type": "tool.ask", "question": "Which day?"}
TASK = {"type": "tool.task", "task_id": "job-7", "poll_interval_seconds": 60}


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


def waiting(action: dict[str, Any], owner: str = "u1", **agent: Any) -> tuple[Surfaces, str]:
    """Return a session of `owner` whose only call waits, and where the wait is resolved."""
    world = World(clock=FrozenClock())
    world.agent("helper", **agent)
    world.decider.answer = lambda _request: answered(action)
    surfaces = Surfaces(world)
    sent = surfaces.http(
        "POST",
        "/v1/sessions/input",
        body("[[call:send {}]]"),
        key=None,
        headers={"authorization": f"Bearer {surfaces.token(owner)}"},
    )
    assert sent[0] == 202
    world.advance()
    (wait,) = world.head().session.waits
    return surfaces, f"/v1/sessions/s1/approvals/{wait.id}"


def test_a_session_shows_what_its_calls_wait_for() -> None:
    surfaces, path = waiting(CLOSED, question_deadline_secs=3600)

    shown = surfaces.http("GET", "/v1/sessions/s1")[1]

    (call,) = shown["calls"]
    assert shown["status"] == "idle"
    assert shown["waits"] == [
        {
            "id": path.rpartition("/")[2],
            "kind": "question",
            "call_id": call["id"],
            "name": "send",
            "question": "Which day?",
            "choices": ["today", "tomorrow"],
            "allows_free_text": False,
            "deadline": "2026-01-01T13:00:00.000Z",
        }
    ]


def test_a_session_shows_a_task_and_its_next_poll() -> None:
    surfaces, _ = waiting({**TASK, "continuation": "for the worker alone"})

    shown = surfaces.http("GET", "/v1/sessions/s1")[1]

    (call,) = shown["calls"]
    assert shown["status"] == "active"
    assert shown["waits"] == [
        {
            "id": f"{call['id']}-task-1",
            "kind": "task",
            "call_id": call["id"],
            "name": "send",
            "task_id": "job-7",
            "next_poll_at": "2026-01-01T12:01:00.000Z",
        }
    ]
    assert surfaces.world.clock.now_ms() == NOON_MS


@pytest.mark.parametrize("credential", ["owner", "key"])
def test_owner_and_api_key_may_answer(credential: str) -> None:
    surfaces, path = waiting(CLOSED)
    how = {"key": surfaces.token("u1")} if credential == "owner" else {}

    status, told, _ = surfaces.http("POST", path, {"answer": "today"}, **how)

    assert (status, told) == (200, {"ok": True})
    assert [one.trigger for one in surfaces.world.head().session.decisions] == ["tool.execute"]
    assert len(surfaces.world.wake.sent) == 2


def test_nobody_else_is_told_that_there_is_a_question() -> None:
    """F-3, invariant 9."""
    surfaces, path = waiting(CLOSED)

    others = surfaces.http("POST", path, {"answer": "today"}, key=surfaces.token("u2"))
    missing = surfaces.http("POST", "/v1/sessions/none/approvals/x", {"answer": "today"})

    assert others[0] == missing[0] == 404
    assert others[1] == missing[1]


def test_a_token_without_the_scope_answers_nothing() -> None:
    surfaces, path = waiting(CLOSED)
    reader = surfaces.token("u1", scopes=["sessions:read"])

    status, told, _ = surfaces.http("POST", path, {"answer": "today"}, key=reader)

    assert (status, told["code"]) == (403, "insufficient_scope")


def test_the_first_answer_counts() -> None:
    """Invariant 5."""
    surfaces, path = waiting(CLOSED)
    surfaces.http("POST", path, {"answer": "today"})
    before = surfaces.world.head()

    for given in ({"answer": "today"}, {"answer": "never"}, {"outcome": "rejected"}):
        status, told, _ = surfaces.http("POST", path, given)
        assert (status, told) == (200, {"ok": True, "duplicate": True})

    assert surfaces.world.head() == before


def test_an_answer_after_the_deadline_is_one_too_many() -> None:
    surfaces, path = waiting(CLOSED, question_deadline_secs=60)
    surfaces.world.clock.move(60_000)

    status, told, _ = surfaces.http("POST", path, {"answer": "today"})

    assert (status, told) == (200, {"ok": True, "duplicate": True})
    assert "tool.call.errored" in surfaces.world.kinds()


@pytest.mark.parametrize(
    ("action", "given", "code", "hint"),
    [
        (CLOSED, {"answer": "next year"}, "invalid_answer", "Answer one of: today, tomorrow"),
        (CLOSED, {"answer": "Today"}, "invalid_answer", "Answer one of: today, tomorrow"),
        (CLOSED, {"answer": " "}, "schema_violation", None),
        (FREE, {"answer": "a" * (MAX_ANSWER_BYTES + 1)}, "schema_violation", None),
        (FREE, {"answer": "x", "outcome": "rejected"}, "schema_violation", None),
        (FREE, {"answer": "x", "message": "y"}, "schema_violation", None),
        (FREE, {"outcome": "allowed-once"}, "schema_violation", None),
        (FREE, {}, "schema_violation", None),
        (
            FREE,
            {"outcome": "rejected", "message": "m" * (MAX_REASON_BYTES + 1)},
            "schema_violation",
            None,
        ),
        (
            TASK,
            {"answer": "x"},
            "invalid_answer",
            "Read the session: waits of the kind question can be answered.",
        ),
    ],
)
def test_what_a_question_does_not_allow_is_refused(
    action: dict[str, Any], given: dict[str, Any], code: str, hint: str | None
) -> None:
    surfaces, path = waiting(action)

    status, told, _ = surfaces.http("POST", path, given)

    assert (status, told["code"], told.get("hint")) == (400, code, hint)
    assert len(surfaces.world.head().session.waits) == 1


@pytest.mark.parametrize(
    ("action", "given"),
    [
        (CLOSED, {"answer": "tomorrow"}),
        (CLOSED, {"outcome": "rejected"}),
        (OPEN, {"answer": "in a week"}),
        (FREE, {"answer": "a" * MAX_ANSWER_BYTES}),
        (FREE, {"outcome": "rejected", "message": "m" * MAX_REASON_BYTES}),
    ],
)
def test_what_a_question_allows_is_taken(action: dict[str, Any], given: dict[str, Any]) -> None:
    surfaces, path = waiting(action)

    assert surfaces.http("POST", path, given)[0] == 200
    assert surfaces.world.head().session.waits == ()


def test_a_wait_that_never_was_is_unknown() -> None:
    surfaces, path = waiting(CLOSED)

    status, told, _ = surfaces.http("POST", path.replace("input-1", "input-2"), {"answer": "x"})

    assert (status, told["code"]) == (404, "unknown_wait")


def test_a_session_without_waits_is_read_as_ever() -> None:
    world = World()
    world.submit("[[say:Hello]]")
    world.advance()

    assert ReadSession(world.store, world.reader)(MACHINE, "s1")["waits"] == []
