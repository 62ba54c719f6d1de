"""WebSocket: each frame and its answer, and connections that come, throttle and go."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.ports.callers import Caller
from everturn.protocol.limits import WEBSOCKET_INBOUND_FRAME_BYTES
from everturn.push.envelopes import Cursor
from everturn.push.outcome import Failed, Gone, PushOutcome, Sent, Throttled, TooLarge
from everturn.store.memory_directory import InMemoryDirectory
from everturn.surfaces.connections import CONNECTION_TTL_S
from everturn.surfaces.websocket import TRIES
from unit.drive.doubles import FrozenClock
from unit.drive.world import KEY, MACHINE, World, body
from unit.surfaces.asking import API_KEY, RIVAL_KEY, Surfaces

# ---- websocket


def connected(world: World | None = None) -> Surfaces:
    surfaces = Surfaces(world)
    surfaces.sockets.connect("c1", MACHINE)
    return surfaces


def test_a_connection_is_kept_a_little_longer_than_it_can_live() -> None:
    kept: list[int] = []

    class Keeping(InMemoryDirectory):
        """Notes when a connection is to be forgotten."""

        def put_connection(self, connection_id: str, caller: Caller, expires_epoch_s: int) -> None:
            kept.append(expires_epoch_s)
            super().put_connection(connection_id, caller, expires_epoch_s)

    surfaces = connected(World(clock=FrozenClock(), directory=Keeping()))

    assert kept == [surfaces.world.clock.now // 1000 + CONNECTION_TTL_S]
    assert CONNECTION_TTL_S == 7_800


def test_each_frame_has_its_answer() -> None:
    surfaces = connected()

    pongs = surfaces.say({"action": "ping"}) + surfaces.say({"action": "ping", "id": "p"})
    accepted = surfaces.say({"action": "input", "id": "i", **body("Hello")})
    subscribed = surfaces.say({"action": "subscribe", "id": "s", "session_id": "s1", "after": "1"})
    ended = surfaces.say({"action": "unsubscribe", "id": "s"})

    assert pongs == [{"type": "pong"}, {"type": "pong", "id": "p"}]
    assert accepted == [{"type": "accepted", "id": "i", "session_id": "s1", "turn_id": "t1"}]
    assert [frame["type"] for frame in subscribed[:2]] == ["subscribed", "event"]
    assert (subscribed[1]["prev_seq"], subscribed[1]["cursor"]) == (1, "2.1-0")
    assert ended == [{"type": "unsubscribed", "id": "s"}]


def test_a_connection_that_goes_ends_its_subscriptions() -> None:
    surfaces = connected()
    surfaces.say({"action": "input", "id": "i", **body("Hello")})
    surfaces.say({"action": "subscribe", "id": "s", "session_id": "s1"})

    surfaces.sockets.disconnect("c1")

    assert surfaces.world.store.watch(KEY).watchers == ()
    assert surfaces.world.directory.connection("c1") is None


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "invalid_json"),
        ([], "schema_violation"),
        ({"action": "dance", "id": "f"}, "schema_violation"),
        ({"action": "subscribe", "id": 7, "session_id": "s1"}, None),
        ("x" * (WEBSOCKET_INBOUND_FRAME_BYTES + 1), "too_large"),
        ({"action": "subscribe", "id": "f", "session_id": "s9"}, "unknown_session"),
        ({"action": "subscribe", "id": "f", "session_id": "s9", "after": "x"}, "invalid_id"),
    ],
)
def test_a_frame_that_is_refused_is_answered_with_its_id(frame: Any, code: str | None) -> None:
    answer = connected().say(frame)[0]

    assert answer["type"] == "error"
    assert answer["code"] == (code or answer["code"])
    assert answer.get("id") == ("f" if isinstance(frame, dict) and frame["id"] == "f" else None)


@pytest.mark.parametrize("over", [-1, 0, 1], ids=["one below", "at the limit", "one above"])
def test_a_frame_of_exactly_the_limit_is_read(over: int) -> None:
    text = '{"action":"ping"}'.ljust(WEBSOCKET_INBOUND_FRAME_BYTES + over)

    (answer,) = connected().say(text)

    assert answer["type"] == ("error" if over > 0 else "pong")
    assert answer.get("code") == ("too_large" if over > 0 else None)


@pytest.mark.parametrize(
    "frame",
    [
        {"action": "input", "id": "f", **body("Hello")},
        {"action": "subscribe", "id": "f", "session_id": "s1"},
        {"action": "unsubscribe", "id": "f"},
    ],
)
def test_a_connection_that_is_not_known_may_do_nothing(frame: dict[str, Any]) -> None:
    surfaces = Surfaces()

    assert [one["code"] for one in surfaces.say(frame)] == ["unauthenticated"]


def test_an_event_that_no_frame_can_hold_is_referred_to() -> None:
    surfaces = connected()
    surfaces.world.submit("x" * 200_000)

    frames = surfaces.say({"action": "subscribe", "id": "s", "session_id": "s1"})

    references = [frame for frame in frames if frame["type"] == "event_ref"]
    assert [frame["event_type"] for frame in references] == ["message.new"]
    assert references[0]["seq"] == references[0]["prev_seq"] + 1


@pytest.mark.parametrize(
    ("outcomes", "sent", "slept", "hung_up"),
    [
        ([Throttled()], 1, [0.1], []),
        ([Failed("no")], 1, [0.1], []),
        ([Throttled()] * TRIES, 0, [0.1, 0.2, 0.4, 0.8], ["c1"]),
        ([Failed("no")] * TRIES, 0, [0.1, 0.2, 0.4, 0.8], ["c1"]),
        ([TooLarge()], 0, [], ["c1"]),
        ([Gone()], 0, [], []),
    ],
    ids=["throttled once", "failed once", "throttled", "failed", "too large", "gone"],
)
def test_a_frame_is_sent_with_patience_and_a_connection_that_does_not_take_it_is_closed(
    outcomes: list[PushOutcome], sent: int, slept: list[float], hung_up: list[str]
) -> None:
    surfaces = connected()
    surfaces.outcomes = list(outcomes)

    frames = surfaces.say({"action": "ping"})

    assert (len(frames), surfaces.slept, surfaces.hung_up) == (sent, slept, hung_up)


def test_a_replay_that_a_connection_does_not_take_leaves_no_silent_subscription() -> None:
    surfaces = connected()
    surfaces.world.submit("Hello")
    surfaces.outcomes = [Sent(), Sent(), *[Throttled()] * TRIES]

    frames = surfaces.say({"action": "subscribe", "id": "s", "session_id": "s1"})

    assert [frame["type"] for frame in frames] == ["subscribed", "event"]
    assert surfaces.hung_up == ["c1"]
    assert surfaces.world.store.watch(KEY).watchers == ()


def test_a_cursor_survives_its_text() -> None:
    from everturn.push.envelopes import read_cursor  # noqa: PLC0415  # the one use

    assert read_cursor(Cursor(5, 3, 2).text()) == Cursor(5, 3, 2)
    assert read_cursor("5") == Cursor(5, 5, 0)
    assert API_KEY != RIVAL_KEY
