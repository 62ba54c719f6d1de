"""Invariant 9: tenants cannot meet, nor can owners; on every route and with every frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from e2e.client import message_body, new_id
from e2e.conftest import entering
from e2e.socket_client import Socket
from e2e.stage import STAGE, Setup
from e2e.tenancy import BAD, OWNER, As, Case, Row
from e2e.tenancy import ROWS as OTHER_ROWS
from e2e.tenancy_runs import RUN_ROWS
from everturn.ports.callers import Who
from everturn.protocol.frames import InFrame
from everturn.surfaces.routes import ROUTES, WORKSPACE, Route

ROWS = OTHER_ROWS | RUN_ROWS


@pytest.fixture(scope="module")
def setup() -> Setup:
    """A runtime of its own: each test reads the whole table, again and again."""
    return Setup(name="tenancy")


@pytest.fixture(scope="module")
def case(setup: Setup) -> Iterator[Case]:
    """Two tenants and all kinds of callers, for all tests here."""
    runtime = STAGE.running(setup)
    with entering(runtime) as enter:
        made = Case(runtime, enter(), enter())
        yield made
        made.http.close()


# ---- HTTP


def test_every_route_has_its_row() -> None:
    assert ROWS.keys() == {route.operation for route in ROUTES}


def path_of(case: Case, route: Route, thing: str) -> str:
    return re.sub(r"\{\w+\}", thing, route.path.replace("{slug}", case.client.tenant))


def expected(route: Route, row: Row, who: As) -> int:
    """Return the status that a caller is answered about a thing of the owner."""
    if route.who is Who.ANYONE:
        return row.ok
    if who in BAD:
        return 401
    if who is As.RIVAL_KEY:
        return row.rivals
    if who is As.KEY:
        return row.ok
    if route.who is Who.MACHINE or who is As.NO_SCOPE:
        return 403
    return row.others if who is As.OTHER_OWNER else row.ok


CODES = {401: {"unauthenticated"}, 403: {"insufficient_scope", "insufficient_privilege"}}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_route_is_open_to_whom_it_concerns_and_to_nobody_else(case: Case, route: Route) -> None:
    row = ROWS[route.operation]
    case.without(route.scope)
    thing = row.thing(case) if row.thing else ""
    secret = "a secret" if thing else case.session()
    before = case.kept()

    for who in (*BAD, As.NO_SCOPE, As.RIVAL_KEY, As.OTHER_OWNER):
        body = row.body(who, thing)
        answer = case.ask(who, route.method, path_of(case, route, thing), body)
        assert answer.status_code == expected(route, row, who), (who, answer.text)
        assert secret not in answer.text
        if answer.status_code in CODES:
            assert answer.json()["code"] in CODES[answer.status_code]
            assert answer.headers.get("www-authenticate", "").startswith("Bearer") is (
                answer.json()["code"] != "insufficient_privilege"
            )
        if answer.status_code == 404:
            nothing = case.ask(
                who, *row.nothing(route.method, path_of(case, route, row.missing)), body
            )
            assert answer.text.replace(thing, row.missing) == nothing.text
            assert answer.status_code == nothing.status_code

    assert case.kept() == before


@pytest.mark.parametrize("who", [As.OWNER, As.KEY])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_route_serves_the_owner_and_the_tenants_key(case: Case, route: Route, who: As) -> None:
    row = ROWS[route.operation]
    thing = row.thing(case) if row.thing else ""
    path = path_of(case, route, thing)

    answer = case.ask(who, route.method, path, row.body(who, thing))

    assert answer.status_code == expected(route, row, who), answer.text
    if route.operation == "delete_session":
        case.client.touched.pop(thing)


@pytest.mark.parametrize("who", [As.OWNER, As.KEY])
@pytest.mark.parametrize(
    "route",
    [route for route in ROUTES if route.path.startswith(WORKSPACE)],
    ids=lambda route: route.operation,
)
def test_a_workspace_is_there_for_those_alone_who_belong_to_it(
    case: Case, route: Route, who: As
) -> None:
    row = ROWS[route.operation]
    thing = row.thing(case) if row.thing else ""
    path = path_of(case, route, thing)

    answers = [
        case.ask(who, route.method, path.replace(case.client.tenant, other), row.body(who, thing))
        for other in (case.rival.tenant, "nobody")
    ]

    assert [one.status_code for one in answers] == [404, 404]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["code"] == "not_found"
    assert answers[0].json()["hint"]


def test_streams_of_another_owner_end_before_they_begin(case: Case) -> None:
    session_id = case.session()
    stream = {"accept": "text/event-stream"}

    def opened(who: As, name: str) -> tuple[int, str]:
        answer = case.ask(who, "GET", f"/v1/sessions/{name}/events", **stream)
        return answer.status_code, answer.text

    theirs = [opened(who, session_id) for who in (As.OTHER_OWNER, As.RIVAL_KEY)]

    assert theirs == [opened(As.OTHER_OWNER, "none")] * 2
    assert theirs[0][0] == 404
    assert opened(As.OWNER, session_id)[0] == 200


# ---- WebSocket

Asked = dict[str, Any]


def frame_of(action: str, who: As, session_id: str) -> Asked:
    """Return a frame of a kind about a session of the owner."""
    about: dict[str, Asked] = {
        "subscribe": {"session_id": session_id},
        "unsubscribe": {},
        "input": message_body("[[say:more]]", session_id),
        "ping": {},
        "authenticate": {},
    }
    if action == "input" and who is As.KEY:
        about[action]["identity"] = {"id": OWNER}
    return {"action": action, "id": "f", **about[action]}


SCOPES = {"subscribe": "sessions:read", "input": "sessions:write"}
ANSWERS = {
    "subscribe": "subscribed",
    "unsubscribe": "unsubscribed",
    "input": "accepted",
    "ping": "pong",
}
"""What each kind of frame is answered where it is granted; `authenticate` has tests of its own."""


def test_every_kind_of_frame_is_tried() -> None:
    kinds = {one.model_fields["action"].default for one in get_args(get_args(InFrame)[0])}

    assert kinds == {*ANSWERS, "authenticate"}


@pytest.fixture
def sockets(case: Case) -> Callable[[As], Socket]:
    """Opens connections with a credential in the header."""
    return lambda who: Socket(case.client.ws_url, case.credentials[who], case.client.touched)


@pytest.mark.parametrize("action", ANSWERS)
def test_a_frame_is_granted_to_whom_it_concerns_and_to_nobody_else(
    case: Case, sockets: Callable[[As], Socket], action: str
) -> None:
    case.without(SCOPES.get(action, "models:read"))
    session_id = case.session()
    before = case.kept()

    for who in (As.GARBAGE, As.EXPIRED):
        with pytest.raises(InvalidStatus) as refused, sockets(who):
            pass
        assert refused.value.response.status_code == 403
    with sockets(As.NOBODY) as stranger:
        told = stranger.ask(frame_of(action, As.NOBODY, session_id))
        assert (told["type"], told["code"]) == ("error", "unauthenticated")
        with pytest.raises(ConnectionClosed):
            stranger.receive(within_s=5)
    for who in (As.NO_SCOPE, As.OTHER_OWNER, As.RIVAL_KEY):
        with sockets(who) as socket:
            told = socket.ask(frame_of(action, who, session_id))
            missing = socket.ask(frame_of("subscribe", who, "none"))
        assert_not_granted(action, who, told, missing)

    assert case.kept() == before


def assert_not_granted(action: str, who: As, told: Asked, missing: Asked) -> None:
    """Accept what a caller is told whom the session does not concern."""
    if action not in SCOPES:  # about the connection alone
        assert told["type"] == ANSWERS[action]
    elif who is As.NO_SCOPE:
        assert (told["code"], told["required"]) == ("insufficient_scope", SCOPES[action])
    elif (action, who) == ("input", As.RIVAL_KEY):  # a session of its own, of the same name
        assert told["type"] == "accepted"
    else:
        assert told == missing
        assert told["code"] == "unknown_session"


@pytest.mark.parametrize("who", [As.OWNER, As.KEY])
@pytest.mark.parametrize("action", ANSWERS)
def test_a_frame_is_granted_to_the_owner_and_the_tenants_key(
    case: Case, sockets: Callable[[As], Socket], action: str, who: As
) -> None:
    session_id = case.session()

    with sockets(who) as socket:
        told = socket.ask(frame_of(action, who, session_id))

    assert told["type"] == ANSWERS[action]


@pytest.mark.parametrize("who", As)
def test_a_stranger_becomes_whose_credential_it_shows(
    case: Case, sockets: Callable[[As], Socket], who: As
) -> None:
    session_id = case.session()
    case.without("sessions:read")
    shown = {} if who is As.NOBODY else {"token": case.credentials[who]}

    with sockets(As.NOBODY) as socket:
        told = socket.ask({"action": "authenticate", "id": "f", **shown})
        if who in BAD:
            assert told["code"] == ("schema_violation" if not shown else "unauthenticated")
            with pytest.raises(ConnectionClosed):
                socket.receive(within_s=5)
            return
        assert told["type"] == "authenticated"
        seen = socket.ask(frame_of("subscribe", who, session_id))

    codes = {As.RIVAL_KEY: "unknown_session", As.OTHER_OWNER: "unknown_session"}
    codes |= {As.NO_SCOPE: "insufficient_scope"}
    assert seen.get("code", seen["type"]) == codes.get(who, "subscribed")


def test_a_session_of_the_same_name_is_another_one_in_another_tenant(case: Case) -> None:
    name = new_id("session")

    for who in (As.OWNER, As.RIVAL_KEY):
        body = message_body(f"[[say:of {who.name}]]", name)
        assert case.ask(who, "POST", "/v1/sessions/input", body).status_code == 202
    case.client.touched[name] = case.rival.touched[name] = None

    texts = [one.idle(name)["messages"][-1]["content"] for one in (case.client, case.rival)]
    assert texts == ["of OWNER", "of RIVAL_KEY"]
