"""S-2, A-5, A-6, O-13, O-22, V-11: whose a session is, and to whom it is there at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.observability import metrics
from everturn.ports.sessions import Head, Quarantine, SessionKey
from everturn.session.facts import Stamp
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import FrozenClock
from unit.drive.world import World, body
from unit.surfaces.asking import RIVAL_KEY, Surfaces

INPUT = "/v1/sessions/input"


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


def owner_of(surfaces: Surfaces, session: str = "s1") -> dict[str, Any]:
    """Return whom a session was created for."""
    created = surfaces.world.log(session)[0].events[0]
    assert created.type == "session.created"
    return created.owner.model_dump(exclude_none=True)


def said(role: str, content: str = "Hi") -> dict[str, Any]:
    return {"role": role, "content": content}


# ---- whose a new session is


def test_a_session_is_the_tokens_owners_with_all_that_is_known_of_them() -> None:
    surfaces = Surfaces()
    token = surfaces.token(identity={"id": "u1", "metadata": {"plan": "free"}})

    status, *_ = surfaces.http("POST", INPUT, body("Hello"), key=token)

    assert status == 202
    assert owner_of(surfaces) == {"id": "u1", "metadata": {"plan": "free"}}


def test_a_key_acts_for_whom_it_names_and_for_the_default_else() -> None:
    surfaces = Surfaces()
    named = {"identity": {"id": "u1", "metadata": {"plan": "free"}}}

    surfaces.http("POST", INPUT, {**body("Hello"), **named})
    surfaces.http("POST", INPUT, body("Hello", session="s2"))

    assert owner_of(surfaces) == named["identity"]
    assert owner_of(surfaces, "s2") == {"id": "default"}


@pytest.mark.parametrize("identity", [{"id": "u1"}, {"id": "u2"}])
def test_beside_a_token_an_identity_is_one_too_many(identity: dict[str, str]) -> None:
    surfaces = Surfaces()
    surfaces.sockets.connect("c1", surfaces.callers.by_credential(surfaces.token()))
    asked = {**body("Hello"), "identity": identity}

    status, told, _ = surfaces.http("POST", INPUT, asked, key=surfaces.token())
    (frame,) = surfaces.say({"action": "input", "id": "f", **asked})

    assert (status, told["code"], frame["code"]) == (400, *["schema_violation"] * 2)
    assert told["message"].startswith("/identity: ")
    assert surfaces.world.store.head(SessionKey("acme", "s1")) is None


# ---- who may go on with one


@pytest.mark.parametrize(
    ("identity", "is_theirs"),
    [({"identity": {"id": "u1"}}, True), ({"identity": {"id": "u2"}}, False), ({}, False)],
    ids=["the owner", "another", "the default"],
)
def test_a_key_joins_a_session_for_its_owner_alone(
    identity: dict[str, Any], is_theirs: bool
) -> None:
    surfaces = Surfaces()
    surfaces.http("POST", INPUT, body("Hello"), key=surfaces.token("u1"))

    repeated = surfaces.http("POST", INPUT, {**body("Hello"), **identity})
    later = surfaces.http("POST", INPUT, {**body("Again", "t2"), **identity})

    assert (repeated[0], later[0]) == ((202, 409) if is_theirs else (404, 404))
    if not is_theirs:
        assert repeated[1]["code"] == "unknown_session"
        assert "identity" in repeated[1]["hint"]
    assert len(surfaces.world.log()) == 1


def test_a_key_reads_every_session_of_its_tenant() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", INPUT, body("Hello"), key=surfaces.token("u1"))

    assert surfaces.http("GET", "/v1/sessions/s1")[0] == 200
    assert surfaces.events("s1")["statusCode"] == 200


def test_a_tokens_session_is_no_keys_of_the_same_name_in_another_tenant() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", INPUT, body("Hello"), key=surfaces.token("u1"))
    minted = surfaces.http("POST", "/v1/client-tokens", {"identity": {"id": "u1"}}, key=RIVAL_KEY)

    status, told, _ = surfaces.http("GET", "/v1/sessions/s1", key=minted[1]["token"])

    assert (status, told["code"]) == (404, "unknown_session")


# ---- what another owner sees


def test_to_another_owner_a_session_is_exactly_as_if_it_were_not_there() -> None:
    """F-3, O-13."""
    surfaces = Surfaces()
    surfaces.http("POST", INPUT, body("Hello", session="theirs"), key=surfaces.token("u1"))
    mine = surfaces.token("u2")
    surfaces.sockets.connect("c1", surfaces.callers.by_credential(mine))

    def ask(session: str) -> list[Any]:
        stream = {"Accept": "text/event-stream"}
        return [
            surfaces.http("GET", f"/v1/sessions/{session}", key=mine),
            surfaces.http("GET", f"/v1/sessions/{session}", key=mine, query={"tree": "1"}),
            surfaces.events(session, key=mine),
            surfaces.events(session, key=mine, query={"turn_id": "t1"}),
            surfaces.events(session, key=mine, query={"turn_id": "nothing"}),
            surfaces.events(session, key=mine, headers=stream),
            surfaces.say({"action": "subscribe", "id": "f", "session_id": session}),
        ]

    assert ask("theirs") == ask("missing")
    assert surfaces.world.store.watch(SessionKey("acme", "theirs")).watchers == ()


@pytest.mark.parametrize(
    "wanted",
    [
        body("Hello", "t1", "theirs"),
        body("Hello", "t2", "theirs"),
        body("Hello", None, "theirs"),
        body("Hello", "t1", "theirs", agent="nobody"),
    ],
    ids=["its turn", "a turn", "any turn", "an agent"],
)
def test_another_owners_session_takes_no_input_whatever_it_says(wanted: dict[str, Any]) -> None:
    surfaces = Surfaces()
    surfaces.http("POST", INPUT, body("Hello", session="theirs"), key=surfaces.token("u1"))
    mine = surfaces.token("u2")
    surfaces.sockets.connect("c1", surfaces.callers.by_credential(mine))
    before = surfaces.world.head("theirs")
    missing = surfaces.http("GET", "/v1/sessions/missing", key=mine)

    refused = surfaces.http("POST", INPUT, wanted, key=mine)
    (frame,) = surfaces.say({"action": "input", "id": "f", **wanted})

    assert refused == missing
    assert frame == {"type": "error", "id": "f", **missing[1]}
    assert surfaces.world.head("theirs") == before


def quarantined(store: InMemorySessionStore, head: Head) -> None:
    store.quarantine(SessionKey("acme", "theirs"), head, Quarantine("unreadable", 0))


def test_that_another_owners_session_is_put_aside_is_none_of_theirs() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", INPUT, body("Hello", session="theirs"), key=surfaces.token("u1"))
    quarantined(surfaces.world.store, surfaces.world.head("theirs"))
    mine = surfaces.token("u2")

    answer = surfaces.http("POST", INPUT, body("Hello", "t2", "theirs"), key=mine)

    assert answer == surfaces.http("GET", "/v1/sessions/missing", key=mine)


class Unreadable(InMemorySessionStore):
    """Has a head that nobody can read."""

    error: Exception | None = None

    def head(self, key: SessionKey) -> Head | None:
        if self.error is not None and key.session == "theirs":
            raise self.error
        return super().head(key)

    def head_and_turn(self, key: SessionKey, turn_id: str) -> Any:
        self.head(key)
        return super().head_and_turn(key, turn_id)


def test_of_a_head_that_cannot_be_read_owners_are_told_that_there_is_none() -> None:
    from everturn.errors import StoreUnreadable  # noqa: PLC0415  # the one use
    from everturn.rejections import SessionQuarantined  # noqa: PLC0415

    store = Unreadable()
    surfaces = Surfaces(World(clock=FrozenClock(), store=store))
    mine = surfaces.token("u2")
    missing = surfaces.http("GET", "/v1/sessions/missing", key=mine)

    for error, status in ((StoreUnreadable("bits"), 500), (SessionQuarantined("aside"), 409)):
        store.error = error
        for key, expected in ((mine, 404), (None, status)):
            named = {} if key is None else {"key": key}
            read = surfaces.http("GET", "/v1/sessions/theirs", **named)
            events = surfaces.events("theirs", **named)
            posted = surfaces.http("POST", INPUT, body("Hello", "t2", "theirs"), **named)
            assert [read[0], events["statusCode"], posted[0]] == [expected] * 3
            if expected == 404:
                assert read[1] == json.loads(events["body"]) == posted[1] == missing[1]


def test_two_owners_who_race_for_a_name_end_with_one() -> None:
    class Racing(InMemorySessionStore):
        """Lets another owner be first."""

        others: Any = None

        def append(self, commit: Any) -> Head:
            others, self.others = self.others, None
            if others is not None:
                others()
            return super().append(commit)

    store = Racing()
    surfaces = Surfaces(World(clock=FrozenClock(), store=store))
    first, second = surfaces.token("u1"), surfaces.token("u2")
    store.others = lambda: surfaces.http("POST", INPUT, body("First"), key=first)

    status, told, _ = surfaces.http("POST", INPUT, body("Second"), key=second)

    assert (status, told["code"]) == (404, "unknown_session")
    assert owner_of(surfaces) == {"id": "u1"}
    assert surfaces.world.texts() == [("user", "First")]


# ---- what a frontend may write


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_an_end_user_does_not_write_for_the_system_or_the_model(role: str) -> None:
    surfaces = Surfaces()
    token = surfaces.token()
    single = {"type": "client.message", "agent_id": "helper", "message": said(role)}
    several = [said("user"), said(role)]
    view = {"type": "client.messages", "agent_id": "helper", "messages": several}

    for n, wanted in enumerate((single, view)):
        asked = {"session_id": f"s{n}", "input": wanted}
        status, told, _ = surfaces.http("POST", INPUT, asked, key=token)
        assert (status, told["code"]) == (403, "role_not_allowed")
        assert surfaces.world.store.head(SessionKey("acme", f"s{n}")) is None
        assert surfaces.http("POST", INPUT, asked)[0] == 202


def test_what_is_recorded_may_stand_in_an_end_users_view() -> None:
    surfaces = Surfaces()
    token = surfaces.token()
    surfaces.http("POST", INPUT, body("[[say:Hi]]"), key=token)
    surfaces.world.advance()
    known = surfaces.http("GET", "/v1/sessions/s1", key=token)[1]["messages"]
    asked = {"type": "client.messages", "agent_id": "helper", "messages": [*known, said("user")]}

    status, *_ = surfaces.http("POST", INPUT, {"session_id": "s1", "input": asked}, key=token)

    assert [message["role"] for message in known] == ["user", "assistant"]
    assert status == 202


# ---- uploads

ASKED = {"filename": "a.png", "content_type": "image/png", "size_bytes": 3}


def test_an_upload_is_its_owners_and_the_tenants_keys() -> None:
    surfaces = Surfaces()
    mine, theirs = surfaces.token("u1"), surfaces.token("u2")
    minted = surfaces.http("POST", "/v1/uploads", ASKED, key=mine)[1]
    surfaces.uploads.receive(minted["url"])
    path = f"/v1/uploads/{minted['upload_id']}"
    missing = f"/v1/uploads/{Stamp(0, bytes(16)).uuid(0)}"

    answers = {name: surfaces.http("GET", path, key=name) for name in (mine, theirs, RIVAL_KEY)}

    assert answers[mine][0] == surfaces.http("GET", path)[0] == 200
    for name in (theirs, RIVAL_KEY):
        assert answers[name] == surfaces.http("GET", missing, key=name)


def test_an_upload_that_a_key_asked_for_is_no_end_users() -> None:
    surfaces = Surfaces()
    minted = surfaces.http("POST", "/v1/uploads", ASKED)[1]
    surfaces.uploads.receive(minted["url"])
    path = f"/v1/uploads/{minted['upload_id']}"

    assert surfaces.http("GET", path)[0] == 200
    assert surfaces.http("GET", path, key=surfaces.token())[0] == 404
