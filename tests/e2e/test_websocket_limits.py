"""What API Gateway does to connections: it closes old and idle ones, and takes frames of a size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from e2e.client import PATIENT, Client, Turn, message_body, new_id
from e2e.readers import closed_with, remembered, watching
from e2e.socket_client import Follower, Socket
from e2e.timers import far, messages_in_flight, wait_for_timer
from e2e.waiting import until
from everturn.protocol.limits import WEBSOCKET_INBOUND_FRAME_BYTES, WEBSOCKET_OUTBOUND_BYTES
from everturn_local.runtime import LocalRuntime
from everturn_local.websocket_limits import CONNECTION_MAX_S, GOING_AWAY, IDLE_TIMEOUT_S, TOO_BIG

WORDS = [f"word{n:02} " for n in range(40)]
WHOLE = "".join(WORDS)
SLOWLY = "".join(f"[[say:{word}]][[sleep:60]]" for word in WORDS)
"""An answer of about two and a half seconds."""

PING_EVERY_S = IDLE_TIMEOUT_S - 5


def test_a_connection_that_is_closed_after_two_hours_in_mid_answer_misses_nothing(
    client: Client, runtime: LocalRuntime
) -> None:
    session_id = client.run("hello").session_id
    follower = Follower()
    with client.connect() as old:
        old.subscribe(session_id)
        follower.until_end(old)
        for _ in range(int(CONNECTION_MAX_S // PING_EVERY_S)):
            runtime.skip_time(PING_EVERY_S)
            ping(old)
        turn = client.start(SLOWLY, session_id)
        follower.read(old, lambda one: bool(one.deltas))
        first = watching(runtime, client, session_id)

        runtime.skip_time(CONNECTION_MAX_S % PING_EVERY_S)

        assert closed_with(old, follower) == GOING_AWAY
        come_back(client, turn, follower, turns=2)
    (*_, answer) = [one for one in follower.events if one["type"] == "llm.call.completed"]
    assert answer["message"]["content"] == WHOLE
    assert WHOLE.startswith(follower.text())  # the end of it may come as the event alone
    assert client.end_of(turn).completed["outcome"] == "done"
    assert_gone(client, runtime, session_id, first)


def test_a_connection_that_is_closed_after_ten_idle_minutes_of_a_turn_misses_nothing(
    client: Client, runtime: LocalRuntime
) -> None:
    client.put_agent(retry={**PATIENT, **far(runtime, 2 * IDLE_TIMEOUT_S - 10)})
    before = messages_in_flight(runtime)
    turn = client.start("[[flaky:1 overloaded]][[say:there]]")
    follower = Follower()
    with client.connect() as idle:
        idle.subscribe(turn.session_id)
        follower.read(idle, lambda one: "llm.call.errored" in one.types())
        wait_for_timer(runtime, turn, before)
        first = watching(runtime, client, turn.session_id)

        runtime.skip_time(IDLE_TIMEOUT_S + 1)

        assert closed_with(idle, follower) == GOING_AWAY
    assert_gone(client, runtime, turn.session_id, first)
    with client.connect() as socket:
        socket.subscribe(turn.session_id, after=follower.cursor)
        until(lambda: watching(runtime, client, turn.session_id))
        runtime.skip_time(IDLE_TIMEOUT_S - 5)
        follower.until_end(socket)

    assert follower.text(attempt=2) == "there"
    assert follower.types() == types_of(client, turn.session_id)[: len(follower.events)]


def ping(socket: Socket) -> None:
    """Say something, and wait until it was heard."""
    socket.send({"action": "ping"})
    for frame in socket.frames():
        if frame["type"] == "pong":
            return


def come_back(client: Client, turn: Turn, follower: Follower, turns: int) -> None:
    """Subscribe again where `follower` is, and follow to the end of the turn."""
    with client.connect() as socket:
        socket.subscribe(turn.session_id, after=follower.cursor)
        follower.until_end(socket, turns=turns)
    assert follower.types() == types_of(client, turn.session_id)[: len(follower.events)]


def assert_gone(
    client: Client, runtime: LocalRuntime, session_id: str, connections: set[str]
) -> None:
    """Assert that nothing is left of closed connections."""
    assert connections
    until(lambda: not watching(runtime, client, session_id) & connections)
    until(lambda: not remembered(runtime, connections))


def types_of(client: Client, session_id: str) -> list[str]:
    """Return the types of all events of a session."""
    return [event["payload"]["type"] for event in client.events(session_id)]


# ---- frames out


def frame_of(event: dict[str, Any], place: dict[str, Any]) -> int:
    """Return the size of the frame that an event would be at that place."""
    known = {name: place[name] for name in ("id", "session_id", "cursor", "seq", "prev_seq")}
    frame = {"type": "event", **known, "event": event}
    return len(json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode())


def message_frames(client: Client, chars: int) -> list[dict[str, Any]]:
    """Send a message of so many characters to a new session; return its frames, replayed last."""
    session_id = new_id("s")
    client.run("[[say:a]]", session_id)
    at = client.session(session_id)["seq"]
    frames: list[dict[str, Any]] = []
    with client.connect() as live, client.connect() as late:
        for socket, say in ((live, "[[say:b]]" + "x" * chars), (late, "")):
            follower = Follower(seq=at)
            socket.subscribe(session_id, after=str(at))
            if say:
                client.start(say, session_id)
            while not follower.turns_ended():
                frames.append(socket.receive())
                follower.take(frames[-1])
    return [one for one in frames if is_message(one)]


def is_message(frame: dict[str, Any]) -> bool:
    """Return whether a frame brings the user's message, or refers to it."""
    if frame["type"] == "event_ref":
        return bool(frame["event_type"] == "message.new")
    if frame["type"] != "event" or frame["event"]["payload"]["type"] != "message.new":
        return False
    return bool(frame["event"]["payload"]["message"]["role"] == "user")


def test_an_event_goes_as_it_is_up_to_128_kb_and_as_a_reference_from_there_on(
    client: Client,
) -> None:
    *_, small = message_frames(client, 0)
    spare = WEBSOCKET_OUTBOUND_BYTES - frame_of(small["event"], small)

    found = [message_frames(client, spare + over) for over in (-1, 0, 1)]

    assert [frames[-1]["type"] for frames in found] == ["event", "event", "event_ref"]
    for frame in [one for frames in found for one in frames]:  # pushed ones have other cursors
        too_large = frame_of(fetch(client, frame), frame) > WEBSOCKET_OUTBOUND_BYTES
        assert frame["type"] == ("event_ref" if too_large else "event")


def fetch(client: Client, frame: dict[str, Any]) -> dict[str, Any]:
    """Return the event that a frame has or refers to, over HTTP."""
    query = {"after_seq": frame["prev_seq"], "limit": 1}
    (event,) = client.page(frame["session_id"], **query).json()["events"]
    assert event["seq"] == frame["seq"]
    found: dict[str, Any] = event
    return found


# ---- frames in


@pytest.mark.parametrize("over", [-1, 0])
def test_a_frame_of_up_to_32_kb_is_taken(client: Client, over: int) -> None:
    session_id = new_id("s")
    frame = input_of(session_id, WEBSOCKET_INBOUND_FRAME_BYTES + over)
    with client.connect() as socket:
        answer = socket.ask(frame)

    assert answer["type"] == "accepted"
    assert client.idle(session_id)["last_outcome"] == "done"


def test_a_frame_over_32_kb_closes_the_connection_and_starts_no_turn(client: Client) -> None:
    session_id = new_id("s")
    with client.connect() as socket:
        socket.send(input_of(session_id, WEBSOCKET_INBOUND_FRAME_BYTES + 1))
        with pytest.raises(ConnectionClosed) as closed:
            socket.receive(within_s=5)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == TOO_BIG
    assert client.http.get(f"/v1/sessions/{session_id}").status_code == 404


def test_a_message_over_32_kb_in_several_frames_is_refused_and_the_connection_lives_on(
    client: Client,
) -> None:
    text = input_of(new_id("s"), WEBSOCKET_INBOUND_FRAME_BYTES + 1)
    with client.connect() as socket:
        socket.socket.send(iter([text[:20_000], text[20_000:]]))
        refused = socket.receive()
        pong = socket.ask({"action": "ping"})

    assert (refused["type"], refused["code"]) == ("error", "too_large")
    assert pong == {"type": "pong"}


def input_of(session_id: str, size_bytes: int) -> str:
    """Return an `input` frame of exactly that size."""
    body = message_body("[[say:a]]", session_id)
    frame = {"action": "input", "id": "in", **body}
    missing = size_bytes - len(json.dumps(frame))
    frame["input"]["message"]["content"] += "x" * missing
    return json.dumps(frame)
