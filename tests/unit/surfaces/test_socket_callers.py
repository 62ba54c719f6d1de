"""WebSocket: whose a connection is, while it has not said so, while its token lasts, and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from everturn.errors import StoreUnavailable
from everturn.ports.callers import NOBODY, Caller, Who
from everturn.ports.directory import Connection
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Watcher
from everturn.protocol.frames import InFrame
from everturn.protocol.limits import TOKEN_LEEWAY_S
from everturn.store.memory import InMemorySessionStore
from everturn.store.memory_directory import InMemoryDirectory
from everturn.surfaces.connections import AUTHENTICATE_WITHIN_S, CONNECTION_TTL_S
from everturn.surfaces.websocket import SCOPES
from unit.drive.doubles import FrozenClock
from unit.drive.world import KEY, World, body
from unit.surfaces.asking import API_KEY, RIVAL_KEY, Surfaces

FRAMES: dict[str, dict[str, Any]] = {
    "subscribe": {"session_id": "s1"},
    "unsubscribe": {},
    "input": body("Hello", "t9", "s9"),
    "ping": {},
    "authenticate": {"token": "bad"},
}
OTHERS = [name for name in FRAMES if name != "authenticate"]
ANSWERS = {
    "subscribe": "subscribed",
    "unsubscribe": "unsubscribed",
    "input": "accepted",
    "ping": "pong",
}


def frame(action: str, **more: Any) -> dict[str, Any]:
    return {"action": action, "id": "f", **FRAMES[action], **more}


def opened(credential: str | None = None, **more: Any) -> Surfaces:
    """Return doors with a session of `u1`, and the connection `c1` of whom the credential names."""
    surfaces = Surfaces(**more)
    surfaces.http("POST", "/v1/sessions/input", body("Hello"), key=surfaces.token("u1"))
    caller = NOBODY
    if credential is not None:
        token = surfaces.token("u1", ttl_seconds=300) if credential == "token" else credential
        caller = surfaces.callers.by_credential(token)
    surfaces.sockets.connect("c1", caller)
    return surfaces


def connection(surfaces: Surfaces) -> Connection:
    found = surfaces.world.directory.connection("c1")
    assert found is not None
    return found


def now_s(surfaces: Surfaces) -> int:
    return surfaces.world.clock.now // 1000


def pass_s(surfaces: Surfaces, seconds: float) -> None:
    surfaces.world.clock.move(round(seconds * 1000))


def test_every_kind_of_frame_is_tried_here_and_has_its_scope() -> None:
    kinds = {one.model_fields["action"].default for one in get_args(get_args(InFrame)[0])}

    assert kinds == FRAMES.keys() == SCOPES.keys()


# ---- nobody yet


@pytest.mark.parametrize("said", [*map(frame, OTHERS), "{", "[]", {"action": "dance"}], ids=str)
def test_a_stranger_can_do_nothing_and_is_shown_the_door(said: Any) -> None:
    surfaces = opened()
    before = surfaces.world.head()

    (answer,) = surfaces.say(said)

    assert (answer["type"], answer["code"]) == ("error", "unauthenticated")
    assert "authenticate" in answer["hint"]
    assert answer.get("id") == ("f" if isinstance(said, dict) and "id" in said else None)
    assert surfaces.hung_up == ["c1"]
    assert surfaces.world.head() == before
    assert surfaces.world.store.head(SessionKey("acme", "s9")) is None
    assert surfaces.world.store.watch(KEY).watchers == ()


def test_a_stranger_is_remembered_for_half_a_minute_only() -> None:
    surfaces = opened()

    assert connection(surfaces) == Connection(NOBODY, now_s(surfaces) + AUTHENTICATE_WITHIN_S)
    assert AUTHENTICATE_WITHIN_S == 30


def test_a_stranger_says_who_it_is_and_is_that_from_then_on() -> None:
    surfaces = opened()
    token = surfaces.token("u1", ttl_seconds=300)

    (answer,) = surfaces.say(frame("authenticate", token=token))
    answers = [surfaces.say(frame(action))[0]["type"] for action in OTHERS]

    expires = now_s(surfaces) + 300
    assert answer == {"type": "authenticated", "id": "f", "expires_at": expires}
    assert answers == [ANSWERS[action] for action in OTHERS]
    assert connection(surfaces).caller == surfaces.callers.by_credential(token)
    assert connection(surfaces).expires_epoch_s == now_s(surfaces) + CONNECTION_TTL_S
    assert surfaces.hung_up == []


def test_a_stranger_may_have_a_key() -> None:
    surfaces = opened()

    answers = surfaces.say(frame("authenticate", token=API_KEY)) + surfaces.say(frame("ping"))

    assert answers == [{"type": "authenticated", "id": "f"}, {"type": "pong", "id": "f"}]
    assert connection(surfaces).caller.privilege is Who.MACHINE


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"token": "nobody's"}, "unauthenticated"),
        ({"token": ""}, "unauthenticated"),
        ({"token": "eyJ.a.b"}, "unauthenticated"),
        ({"token": None}, "schema_violation"),
        ({"id": None}, "schema_violation"),
        ({"scopes": []}, "schema_violation"),
    ],
    ids=str,
)
def test_a_stranger_has_one_try(wrong: dict[str, Any], code: str) -> None:
    surfaces = opened()

    (answer,) = surfaces.say(frame("authenticate", **wrong))

    assert (answer["type"], answer["code"]) == ("error", code)
    assert surfaces.hung_up == ["c1"]
    assert connection(surfaces).caller == NOBODY


def test_a_stranger_that_takes_too_long_is_not_known_any_more() -> None:
    surfaces = opened()
    token = surfaces.token("u1")
    pass_s(surfaces, AUTHENTICATE_WITHIN_S)

    (answer,) = surfaces.say(frame("authenticate", token=token))

    assert answer["code"] == "unauthenticated"
    assert surfaces.hung_up == ["c1"]


class Raced(InMemoryDirectory):
    """Lets another frame authenticate first."""

    def renew_connection(
        self, connection_id: str, before: Caller, after: Caller, expires_epoch_s: int
    ) -> bool:
        first = Caller("rival")
        assert super().renew_connection(connection_id, before, first, expires_epoch_s)
        return super().renew_connection(connection_id, before, after, expires_epoch_s)


def test_of_two_frames_that_say_who_it_is_one_counts() -> None:
    surfaces = opened(world=World(directory=Raced()))

    (answer,) = surfaces.say(frame("authenticate", token=API_KEY))

    assert answer["code"] == "unauthenticated"
    assert connection(surfaces).caller == Caller("rival")


class Busy(InMemoryDirectory):
    """Cannot be read for the moment."""

    def connection(self, connection_id: str) -> Connection | None:
        raise StoreUnavailable(f"no {connection_id}")


def test_a_table_that_does_not_answer_closes_no_connection() -> None:
    surfaces = opened(world=World(directory=Busy()))

    (answer,) = surfaces.say(frame("ping"))

    assert answer["code"] == "store_unavailable"
    assert surfaces.hung_up == []


def test_a_connection_that_is_not_known_is_closed() -> None:
    surfaces = Surfaces()

    answers = [surfaces.say(frame(action))[0]["code"] for action in FRAMES]

    assert answers == ["unauthenticated"] * len(FRAMES)
    assert surfaces.hung_up == ["c1"] * len(FRAMES)


# ---- scopes and owners


@pytest.mark.parametrize(
    ("scopes", "refused"),
    [
        (["sessions:read"], {"input": "sessions:write"}),
        (["sessions:write"], {"subscribe": "sessions:read"}),
        (["runs:read"], {"subscribe": "sessions:read", "input": "sessions:write"}),
    ],
    ids=str,
)
def test_a_frame_wants_its_scope(scopes: list[str], refused: dict[str, str]) -> None:
    surfaces = opened()
    token = surfaces.token("u1", scopes=scopes)
    surfaces.say(frame("authenticate", token=token))

    answers = {action: surfaces.say(frame(action))[0] for action in OTHERS}

    for action, answer in answers.items():
        if action in refused:
            assert (answer["code"], answer["required"]) == ("insufficient_scope", refused[action])
        else:
            assert answer["type"] == ANSWERS[action]
    assert surfaces.hung_up == []


# ---- a token's end


def test_a_token_that_expires_takes_its_connection_along() -> None:
    surfaces = opened("token")
    pass_s(surfaces, 300 + TOKEN_LEEWAY_S - 0.001)
    (alive,) = surfaces.say(frame("ping"))
    pass_s(surfaces, 0.001)
    fresh = surfaces.token("u1")

    answers = [surfaces.say(frame(action))[0]["code"] for action in OTHERS]
    answers += [surfaces.say(frame("authenticate", token=fresh))[0]["code"]]

    assert alive["type"] == "pong"
    assert answers == ["token_expired"] * len(FRAMES)
    assert surfaces.hung_up == ["c1"] * len(FRAMES)


def test_a_subscription_ends_with_the_token() -> None:
    surfaces = opened("token")

    surfaces.say(frame("subscribe"))

    until = now_s(surfaces) + 300 + TOKEN_LEEWAY_S
    assert surfaces.world.store.watch(KEY).watchers == (
        Watcher("c1", "f", "", until, frontend=True),
    )


def test_a_fresh_token_in_time_keeps_the_connection_and_its_subscriptions() -> None:
    surfaces = opened("token")
    surfaces.say(frame("subscribe"))
    surfaces.say(frame("subscribe", id="g", turn_id="t1"))
    surfaces.world.store.add_watcher(KEY, Watcher("c2", "f", "", 7))
    pass_s(surfaces, 200)
    fresh = surfaces.token("u1", ttl_seconds=600)

    (answer,) = surfaces.say(frame("authenticate", token=fresh))
    pass_s(surfaces, 300)
    (pong,) = surfaces.say(frame("ping"))

    until = answer["expires_at"] + TOKEN_LEEWAY_S
    assert answer == {"type": "authenticated", "id": "f", "expires_at": until - TOKEN_LEEWAY_S}
    assert pong["type"] == "pong"
    assert surfaces.world.store.watch(KEY).watchers == (
        Watcher("c1", "f", "", until, frontend=True),
        Watcher("c1", "g", "t1", until, frontend=True),
        Watcher("c2", "f", "", 7),
    )


def test_a_key_without_an_end_takes_the_place_of_one_with_an_end() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("Hello"))
    surfaces.sockets.connect("c1", Caller("acme", expires_epoch_s=now_s(surfaces) + 60))
    surfaces.say(frame("subscribe"))
    before = surfaces.world.store.watch(KEY).watchers

    (answer,) = surfaces.say(frame("authenticate", token=API_KEY))
    pass_s(surfaces, 60)
    (pong,) = surfaces.say(frame("ping"))

    assert before == (Watcher("c1", "f", "", now_s(surfaces)),)
    assert [answer["type"], pong["type"]] == ["authenticated", "pong"]
    assert surfaces.world.store.watch(KEY).watchers == (Watcher("c1", "f"),)


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ("another owner", "not_owner"),
        ("another tenant", "not_owner"),
        ("a key", "not_owner"),
        ("nobody", "unauthenticated"),
    ],
)
def test_a_connection_does_not_become_somebody_elses_and_lives_on(who: str, code: str) -> None:
    surfaces = opened("token")
    rivals = surfaces.http("POST", "/v1/client-tokens", {"identity": {"id": "u1"}}, key=RIVAL_KEY)[
        1
    ]
    credentials = {
        "another owner": surfaces.token("u2"),
        "another tenant": rivals["token"],
        "a key": API_KEY,
        "nobody": "x",
    }
    before = connection(surfaces)

    (answer,) = surfaces.say(frame("authenticate", token=credentials[who]))

    assert (answer["type"], answer["code"]) == ("error", code)
    assert connection(surfaces) == before
    assert surfaces.say(frame("ping"))[0]["type"] == "pong"
    assert surfaces.hung_up == []


class Renewed(InMemorySessionStore):
    """Lets something happen right before somebody watches."""

    first: Callable[[], None] = staticmethod(lambda: None)

    def add_watcher(self, key: SessionKey, watcher: Watcher, *more: Any) -> None:
        self.first()
        super().add_watcher(key, watcher, *more)


def test_a_token_that_is_renewed_while_a_subscription_begins_counts_for_it() -> None:
    store = Renewed()
    surfaces = opened("token", world=World(clock=FrozenClock(), store=store))
    pass_s(surfaces, 100)
    fresh = surfaces.callers.by_credential(surfaces.token("u1", ttl_seconds=600))

    def renew() -> None:
        before = connection(surfaces).caller
        surfaces.world.directory.renew_connection("c1", before, fresh, 4_000_000_000)
        surfaces.sockets.subscribe.renew("c1")

    store.first = renew

    surfaces.say(frame("subscribe"))

    (watcher,) = store.watch(KEY).watchers
    assert watcher.until_epoch_s == fresh.lapses_epoch_s
