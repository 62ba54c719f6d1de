"""HTTP, SSE and WebSocket: each error family, each route, each frame, as the callers see them."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.errors import (
    DefectError,
    LeaseLost,
    ProviderRefused,
    QueueUnavailable,
    StoreUnavailable,
    TerminalError,
    VersionConflict,
)
from everturn.observability import metrics
from everturn.ports.directory import ApiKey
from everturn.protocol.api_keys import hash_of
from everturn.protocol.limits import MAX_INPUT_BODY_BYTES
from everturn.rejections import SchemaViolation, TooLarge, TurnAlreadyActive, UnknownSession
from everturn.store.memory_directory import InMemoryDirectory
from everturn.store.memory_revocations import InMemoryRevocations
from everturn.surfaces.callers import Callers
from unit.drive.doubles import FrozenClock
from unit.drive.world import AGENT, MACHINE, TENANT, body
from unit.surfaces.asking import RIVAL_KEY, Surfaces

SECRET = "the-launch-code-is-8412"


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


# ---- errors

FAMILIES = [
    (SchemaViolation("/x: is wrong", hint="h"), 400, "schema_violation"),
    (UnknownSession("none"), 404, "unknown_session"),
    (TurnAlreadyActive("busy", turn_id="t0"), 409, "turn_already_active"),
    (TooLarge("large", limit_bytes=1), 413, "too_large"),
    (VersionConflict("moved"), 503, "session_busy"),
    (LeaseLost("gone"), 503, "session_busy"),
    (StoreUnavailable("no", retry_after_s=2.5), 503, "store_unavailable"),
    (QueueUnavailable("no"), 503, "queue_unavailable"),
    (TerminalError(SECRET), 500, "internal"),
    (ProviderRefused(SECRET), 500, "internal"),
    (DefectError(SECRET), 500, "internal"),
    (KeyError(SECRET), 500, "internal"),
]


class Failing:
    """A use case of inputs that fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, *_args: Any) -> Any:
        raise self._error


@pytest.mark.parametrize(("error", "status", "code"), FAMILIES, ids=lambda one: str(one)[:20])
def test_every_family_of_errors_has_its_answer_on_http(
    error: Exception, status: int, code: str
) -> None:
    """F-2, O-21."""
    answer = Surfaces(submit=Failing(error)).http("POST", "/v1/sessions/input", body("Hello"))

    assert (answer[0], answer[1]["code"], answer[1]["error"]) == (status, code, code)
    assert (answer[2].get("retry-after") is not None) is (status == 503)
    assert SECRET not in str(answer)


@pytest.mark.parametrize(("error", "status", "code"), FAMILIES, ids=lambda one: str(one)[:20])
def test_every_family_of_errors_has_its_frame(error: Exception, status: int, code: str) -> None:
    del status
    surfaces = Surfaces(submit=Failing(error))
    surfaces.sockets.connect("c1", MACHINE)

    frames = surfaces.say({"action": "input", "id": "f1", **body("Hello")})

    assert [(f["type"], f["id"], f["code"]) for f in frames] == [("error", "f1", code)]
    assert SECRET not in str(frames)


def test_a_busy_answer_says_when_to_come_back_and_a_hint_what_to_do() -> None:
    busy = Surfaces(submit=Failing(StoreUnavailable("no", retry_after_s=2.5)))
    wrong = Surfaces(submit=Failing(SchemaViolation("/x: is wrong", hint="h")))

    _, told, headers = busy.http("POST", "/v1/sessions/input", body("Hello"))
    _, hinted, _ = wrong.http("POST", "/v1/sessions/input", body("Hello"))

    assert (told["retry_after"], headers["retry-after"]) == (3, "3")
    assert hinted["hint"] == "h"


# ---- callers


def _no_tokens() -> Any:
    pytest.fail("a key is no token")


class Counting(InMemoryDirectory):
    """Counts how often a key is looked up."""

    looks = 0

    def api_key(self, sha256: str) -> ApiKey | None:
        self.looks += 1
        return super().api_key(sha256)


def test_a_key_is_looked_up_once_a_minute_and_an_unknown_one_each_time() -> None:
    directory, clock = Counting(), FrozenClock()
    directory.put_api_key(hash_of("k"), ApiKey(TENANT, "main"))
    callers = Callers(directory, clock, _no_tokens, InMemoryRevocations())

    names = [callers.by_credential("k").tenant for _ in range(3)]
    clock.move(59_999)
    callers.by_credential("k")
    before = directory.looks
    clock.move(1)
    callers.by_credential("k")
    after = directory.looks
    surfaces = Surfaces()
    for _ in range(2):
        assert surfaces.http("GET", "/v1/agents/helper", key="unknown")[0] == 401

    assert names == [TENANT] * 3
    assert (before, after) == (1, 2)


@pytest.mark.parametrize(
    "header", [None, "Basic abc", "Bearer ", "Bearer " + "x" * 201, "Bearer nobody", "bearer"]
)
def test_without_a_key_that_is_known_nobody_gets_in(header: str | None) -> None:
    """F-2, A-4."""
    headers = {} if header is None else {"Authorization": header}
    surfaces = Surfaces()

    status, told, _ = surfaces.http("GET", "/v1/agents/helper", key=None, headers=headers)
    read = surfaces.events("s1", key=None, headers=headers)

    assert (status, told["code"]) == (401, "unauthenticated")
    assert read["statusCode"] == 401


# ---- http


def test_an_input_is_accepted_and_a_repeated_one_is_a_duplicate() -> None:
    surfaces = Surfaces()

    first = surfaces.http("POST", "/v1/sessions/input", body("Hello"), encoded=True)
    second = surfaces.http("POST", "/v1/sessions/input", body("Hello"))

    assert first[:2] == (202, {"session_id": "s1", "turn_id": "t1"})
    assert second[:2] == (202, {**first[1], "duplicate": True, "turn_status": "running"})
    assert first[2]["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("text", "encoded", "status", "code"),
    [
        ("{", False, 400, "invalid_json"),
        ("", False, 400, "invalid_json"),
        ('{"input": {"type": "nonsense"}}', False, 422, "unknown_input"),
        ("x" * (MAX_INPUT_BODY_BYTES + 1), False, 413, "too_large"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    text: str, encoded: bool, status: int, code: str
) -> None:
    told = Surfaces().http("POST", "/v1/sessions/input", text, encoded=encoded)

    assert (told[0], told[1]["code"]) == (status, code)


def test_a_body_in_bad_base64_is_refused() -> None:
    surfaces = Surfaces()
    from unit.surfaces.asking import http_event  # noqa: PLC0415  # the one use

    event = http_event("POST", "/v1/sessions/input", "%%%")
    event["isBase64Encoded"] = True

    answer = surfaces._http(event, None)  # an event like no other

    assert answer["statusCode"] == 400


def test_a_session_is_read_by_its_tenant_alone() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("Hello"))

    mine = surfaces.http("GET", "/v1/sessions/s1", query={"tree": "1", "before": "100"})
    rivals = surfaces.http("GET", "/v1/sessions/s1", key=RIVAL_KEY)
    missing = surfaces.http("GET", "/v1/sessions/s2")
    unspelled = surfaces.http("GET", "/v1/sessions/(no)")

    assert (mine[0], mine[1]["status"], "message_tree" in mine[1]) == (200, "active", True)
    assert rivals[0] == missing[0] == unspelled[0] == 404
    assert rivals[1]["message"].replace("s1", "s2") == missing[1]["message"]


@pytest.mark.parametrize("before", ["x", "0", "-1", "1" * 30, "²"])
def test_a_number_in_a_query_is_a_number(before: str) -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("Hello"))

    answer = surfaces.http("GET", "/v1/sessions/s1", query={"before": before})

    assert (answer[0], answer[1]["code"]) == (400, "schema_violation")


def test_agents_are_written_read_and_deleted() -> None:
    surfaces = Surfaces()
    path = "/v1/agents/a1"

    answers = [
        surfaces.http("PUT", path, AGENT)[0],
        surfaces.http("PUT", path, AGENT)[0],
        surfaces.http("GET", path)[1]["agent_id"],
        surfaces.http("GET", path, key=RIVAL_KEY)[0],
        surfaces.http("DELETE", path)[:2],
        surfaces.http("DELETE", path)[0],
    ]

    assert answers == [201, 200, "a1", 404, (200, {"ok": True}), 404]


@pytest.mark.parametrize(("method", "status"), [("PUT", 400), ("GET", 404), ("DELETE", 404)])
def test_an_agent_whose_id_is_none_is_not_there(method: str, status: int) -> None:
    assert Surfaces().http(method, "/v1/agents/(no)", AGENT)[0] == status


def test_health_needs_no_key_and_an_unknown_route_says_so() -> None:
    surfaces = Surfaces()

    assert surfaces.http("GET", "/v1/health", key=None)[:2] == (200, {"ok": True})
    assert surfaces.http("GET", "/v1/nothing")[1]["code"] == "not_found"


# ---- reader


def accept(**more: str) -> dict[str, str]:
    return {"Accept": "text/event-stream", **more}


def test_a_page_of_events_is_json() -> None:
    """O-1."""
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("Hello"))

    answer = surfaces.events("s1", query={"after_seq": "1", "limit": "2", "turn_id": "t1"})

    assert (answer["statusCode"], answer["headers"]["content-type"]) == (200, "application/json")
    assert '"next_after_seq":6,"more":true' in answer["body"]


def test_a_stream_begins_behind_the_last_event_id_which_wins_over_the_query() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("Hello"))
    seq = surfaces.world.head().session.seq

    named = surfaces.events(
        "s1", headers=accept(**{"Last-Event-ID": f"{seq - 1}.0-0"}), query={"after_seq": "1"}
    )
    asked = surfaces.events("s1", headers=accept(), query={"after_seq": str(seq - 2)})
    whole = surfaces.events("s1", headers=accept())

    assert named["headers"]["content-type"] == "text/event-stream"
    assert named["body"].count("id: ") == 1
    assert asked["body"].count("id: ") == 2
    assert whole["body"].count("id: ") == seq


def test_a_stream_of_an_ended_turn_tells_an_event_source_not_to_come_back() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("[[say:Hi]]"))
    surfaces.world.advance()
    seq = surfaces.world.head().session.seq

    answer = surfaces.events("s1", headers=accept(), query={"turn_id": "t1", "after_seq": str(seq)})

    assert answer == {"statusCode": 204, "headers": {"cache-control": "no-store"}}


@pytest.mark.parametrize(
    ("session", "query", "headers", "code"),
    [
        (None, {}, {}, "unknown_session"),
        ("(no)", {}, {}, "unknown_session"),
        ("s1", {"turn_id": "(no)"}, {}, "unknown_turn"),
        ("s1", {"limit": "501"}, {}, "schema_violation"),
        ("s1", {"after_seq": "x"}, {}, "schema_violation"),
        ("s1", {}, {"Accept": "text/event-stream", "Last-Event-ID": "x"}, "invalid_id"),
    ],
)
def test_what_a_reader_cannot_mean_is_refused(
    session: str | None, query: dict[str, str], headers: dict[str, str], code: str
) -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("Hello"))

    answer = surfaces.events(session, query=query, headers=headers)

    assert f'"code":"{code}"' in answer["body"]
