"""Readers who drop again and again see everything once. Source: field case F28."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import httpx
import pytest

from e2e.client import Client
from e2e.readers import at_the_same_place, place_of
from e2e.socket_client import Follower
from e2e.sse_reader import Reader
from e2e.waiting import until

WORDS = [f"word{n:02} " for n in range(30)]
WHOLE = "".join(WORDS)
SLOWLY = "".join(f"[[say:{word}]][[sleep:60]]" for word in WORDS)
"""An answer of about two seconds."""


def test_f28_a_stream_that_is_dropped_before_anything_came_goes_on_at_the_same_place(
    client: Client,
) -> None:
    """Conformance 36: E-2, E-3."""
    turn = client.start("[[sleep:300]]" + SLOWLY)
    reader = Reader(client, turn.session_id, {"turn_id": turn.turn_id})
    until(lambda: reader.come_back() and reader.text())  # in the middle of the answer
    at = reader.last_id

    for _ in range(3):
        drop(reader)
    again = [Reader(client, turn.session_id, reader.query, last_id=at) for _ in range(3)]
    for one in again:
        until(partial(has_news, one))
    until(reader.come_back, lambda response: response.status_code == 204)

    first = [one.frames[0] for one in again]
    assert first == [first[0]] * 3 == [reader.after(at)[0]] * 3
    assert all(place_of(one[0]) > place_of(at) for one in first)
    assert reader.events() == client.events(turn.session_id, turn.turn_id)
    assert len({place for place, _, _ in reader.frames}) == len(reader.frames)
    assert WHOLE.startswith(reader.text())
    assert reader.events()[-2]["payload"]["outcome"] == "done"


def has_news(reader: Reader) -> bool:
    """Ask once; return whether something came."""
    reader.come_back()
    return bool(reader.frames)


def drop(reader: Reader) -> None:
    """Ask for what follows, and go before the answer."""
    with suppress(httpx.ReadTimeout):
        reader.client.http.get(
            f"/v1/sessions/{reader.session_id}/events",
            params=reader.query,
            headers={"accept": "text/event-stream", "last-event-id": reader.last_id},
            timeout=httpx.Timeout(5, read=0.02),
        )


def test_f28_a_socket_that_is_dropped_before_anything_came_goes_on_at_the_same_place(
    client: Client,
) -> None:
    turn = client.start("[[sleep:300]]" + SLOWLY)
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(turn.session_id)
        follower.read(socket, lambda one: len(one.deltas) >= 2)

    for _ in range(3):
        with client.connect() as gone:
            gone.send(subscription(turn.session_id, follower))
    again = [at_the_same_place(follower) for _ in range(3)]
    for one in again:
        with client.connect() as socket:
            socket.send(subscription(turn.session_id, one))
            one.read(socket, partial(has_more, len(follower.deltas)))
    with client.connect() as socket:
        socket.subscribe(turn.session_id, after=follower.cursor)
        follower.until_end(socket)

    (answer,) = [one for one in follower.events if one["type"] == "llm.call.completed"]
    assert answer["message"]["content"] == WHOLE
    for one in (*again, follower):
        assert WHOLE.startswith(one.text())  # the end of it may come as the event alone
        assert one.events == follower.events[: len(one.events)]
    assert follower.types() == types_of(client, turn.session_id)[: len(follower.events)]


def has_more(deltas: int, follower: Follower) -> bool:
    """Return whether a reader has more pieces than that, or the turn is over."""
    return len(follower.deltas) > deltas or bool(follower.turns_ended())


def subscription(session_id: str, follower: Follower) -> dict[str, str]:
    """Return the frame that goes on where `follower` is."""
    return {
        "action": "subscribe",
        "id": "sub",
        "session_id": session_id,
        "after": follower.cursor,
    }


def types_of(client: Client, session_id: str) -> list[str]:
    """Return the types of all events of a session."""
    return [event["payload"]["type"] for event in client.events(session_id)]


@pytest.mark.parametrize("kept", ["event", "delta"])
def test_a_client_that_comes_back_with_the_last_frames_own_cursor_misses_nothing(
    client: Client, kept: str
) -> None:
    turn = client.start("[[sleep:300]]" + SLOWLY)
    follower = Follower()
    cursor = "0"
    rounds = 0

    while not follower.turns_ended() and rounds < 50:
        with client.connect() as socket:
            socket.subscribe(turn.session_id, after=cursor)
            for frame in socket.frames():
                before = (follower.seq, follower.place)
                follower.take(frame)
                if (follower.seq, follower.place) != before:
                    cursor = frame["cursor"]
                if frame["type"] == kept or follower.turns_ended():
                    break
        rounds += 1

    assert follower.early == {}
    assert follower.types() == types_of(client, turn.session_id)[: len(follower.events)]
    assert WHOLE.startswith(follower.text())
    assert rounds >= 3  # a driver sees a new reader within a second


def test_a_turn_whose_readers_all_dropped_ends_as_if_nobody_had_read(client: Client) -> None:
    turn = client.start("[[sleep:300]]" + SLOWLY)
    with client.connect() as socket:
        socket.subscribe(turn.session_id)
        Follower().read(socket, lambda one: bool(one.deltas))
        socket.socket.socket.close()

    ended = client.end_of(turn)

    assert ended.completed["outcome"] == "done"
    assert client.messages(turn.session_id)[-1]["content"] == WHOLE
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1]
