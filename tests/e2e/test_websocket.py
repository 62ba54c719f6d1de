"""A session as it is watched over a WebSocket: everything once and in order."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from e2e.client import Client, message_body, new_id
from e2e.scripted_worker import ScriptedWorker, result, tool
from e2e.socket_client import Follower
from e2e.waiting import NotInTime

WORDS = [f"word{n:02} " for n in range(24)]
SLOWLY = "".join(f"[[say:{word}]][[sleep:60]]" for word in WORDS)
"""An answer of about a second and a half."""

WHOLE = "".join(WORDS)


def payloads(client: Client, session_id: str) -> list[dict[str, Any]]:
    """Return the payloads of all events of a session."""
    return [event["payload"] for event in client.events(session_id)]


def test_a_watcher_sees_every_event_and_every_word(client: Client) -> None:
    session_id = client.run("hello").session_id
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(session_id)
        follower.until_end(socket)

        client.start(SLOWLY, session_id)
        follower.until_end(socket, turns=2)
        follower.read(socket, lambda one: one.events[-1]["type"] == "session.done")

    assert follower.events == payloads(client, session_id)
    assert follower.text() == WHOLE == client.messages(session_id)[-1]["content"]
    assert len(follower.deltas) > 3


def test_a_watcher_who_comes_late_gets_what_was_and_then_the_rest(client: Client) -> None:
    turn = client.start(SLOWLY)
    follower = Follower()
    early = Follower()
    with client.connect() as first, client.connect() as late:
        first.subscribe(turn.session_id)
        early.read(first, lambda one: len(one.deltas) >= 2)

        late.subscribe(turn.session_id)
        follower.until_end(late)
        early.until_end(first)

    assert WHOLE.startswith(follower.text())
    assert follower.text().startswith(early.text()[:20]), "what was said before they came"
    assert follower.events == early.events


def test_a_watcher_whom_nobody_preceded_gets_the_whole_answer(client: Client) -> None:
    turn = client.start("[[sleep:100]]" + SLOWLY)
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(turn.session_id)
        follower.until_end(socket)

    assert follower.text() == WHOLE


def test_a_watcher_comes_back_as_often_as_they_like(client: Client) -> None:
    turn = client.start(SLOWLY + '[[call:convert {"value":1,"from":"m","to":"cm"}]]' + SLOWLY)
    follower = Follower()
    drops = 0

    while not follower.turns_ended() and drops < 100:
        more = (6, 0, 1)[drops % 3]  # every third time gone before anything came
        with client.connect() as socket:
            socket.subscribe(turn.session_id, after=follower.cursor or "0")
            target = len(follower.events) + len(follower.deltas) + more
            follower.read(socket, partial(has_or_ended, target))
        drops += 1

    said = [m["content"] for m in client.messages(turn.session_id) if m["role"] == "assistant"]
    calls = list(dict.fromkeys(delta["call_id"] for delta in follower.deltas))
    assert drops > 8
    whole = [payload["type"] for payload in payloads(client, turn.session_id)]
    assert follower.types() == whole[: len(follower.events)]
    assert calls
    for call in calls:
        assert any(words.startswith(follower.text(call)) for words in said)


def has_or_ended(items: int, follower: Follower) -> bool:
    """Return whether a watcher has so many items, or the turn is over."""
    return len(follower.events) + len(follower.deltas) >= items or bool(follower.turns_ended())


def test_coming_back_with_a_cursor_repeats_nothing(client: Client) -> None:
    ended = client.run("hello")
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(ended.session_id)
        follower.read(socket, lambda one: one.seq == ended.events[-1]["seq"])
        socket.ask({"action": "unsubscribe", "id": "sub"})

        socket.subscribe(ended.session_id, "again", after=follower.cursor)

        with pytest.raises(NotInTime):
            socket.receive(within_s=0.3)


def test_two_watchers_see_the_same(client: Client) -> None:
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    one, two = Follower(seq=at), Follower(seq=at)
    with client.connect() as left, client.connect() as right:
        left.subscribe(session_id, "left", after=str(at))
        right.subscribe(session_id, "right", after=str(at))

        client.start(SLOWLY, session_id)
        one.until_end(left)
        two.until_end(right)

    assert one.events == two.events
    assert one.text() == two.text() == WHOLE


def test_a_watcher_who_is_gone_disturbs_nobody(client: Client) -> None:
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    follower = Follower(seq=at)
    with client.connect() as stays:
        stays.subscribe(session_id, after=str(at))
        with client.connect() as goes:
            goes.subscribe(session_id, "goes", after=str(at))
            turn = client.start(SLOWLY, session_id)
            Follower(seq=at).read(goes, lambda one: bool(one.deltas))
            goes.socket.socket.close()
        follower.until_end(stays)

    assert follower.text() == WHOLE
    assert client.end_of(turn).completed["outcome"] == "done"


def test_a_watcher_of_one_turn_sees_that_turn_alone(client: Client) -> None:
    first = client.run("hello")
    second = client.start(SLOWLY, first.session_id)
    with client.connect() as socket:
        socket.subscribe(first.session_id, turn_id=second.turn_id)
        frames = []
        for frame in socket.frames():
            frames.append(frame)
            if frame["type"] == "event" and frame["event"]["payload"]["type"] == "turn.completed":
                break

    turns = {frame["event"].get("turn_id") for frame in frames if frame["type"] == "event"}
    assert turns == {second.turn_id}
    assert {frame["delta"]["turn_id"] for frame in frames if frame["type"] == "delta"} == turns


def test_the_turn_of_an_agent_that_does_not_stream_sends_no_deltas(client: Client) -> None:
    client.put_agent(stream=False)
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    follower = Follower(seq=at)
    with client.connect() as socket:
        socket.subscribe(session_id, after=str(at))

        client.start(SLOWLY, session_id)
        follower.until_end(socket)

    assert follower.deltas == []
    assert follower.events[-1].get("data", WHOLE) == WHOLE


def test_an_input_may_ask_for_a_stream_where_the_agent_does_not(client: Client) -> None:
    client.put_agent(stream=False)
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    follower = Follower(seq=at)
    with client.connect() as socket:
        socket.subscribe(session_id, after=str(at))

        client.start(SLOWLY, session_id, stream=True)
        follower.until_end(socket)

    assert follower.text() == WHOLE


def test_an_unsubscribed_watcher_hears_no_more(client: Client) -> None:
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    with client.connect() as socket:
        socket.subscribe(session_id, after=str(at))

        answer = socket.ask({"action": "unsubscribe", "id": "sub"})
        client.run("[[say:quiet]]", session_id)

        assert answer == {"type": "unsubscribed", "id": "sub"}
        with pytest.raises(NotInTime):
            socket.receive(within_s=0.3)


def test_a_turn_can_be_started_and_watched_on_one_connection(client: Client) -> None:
    session_id = new_id("session")
    body = message_body("[[say:one two three]]", session_id, new_id("turn"))
    follower = Follower()
    with client.connect() as socket:
        accepted = socket.ask({"action": "input", "id": "in", **body})
        socket.subscribe(session_id)
        follower.until_end(socket)

    assert accepted == {
        "type": "accepted",
        "id": "in",
        "session_id": session_id,
        "turn_id": body["input"]["turn_id"],
    }
    assert client.messages(session_id)[-1]["content"] == "one two three"


def test_a_watcher_hears_of_a_turn_that_another_connection_starts(client: Client) -> None:
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    follower = Follower(seq=at)
    with client.connect() as watches, client.connect() as talks:
        watches.subscribe(session_id, after=str(at))

        talks.ask({"action": "input", "id": "in", **message_body("[[say:hi]]", session_id)})
        follower.until_end(watches)

    assert "turn.started" in follower.types()
    assert follower.types().count("turn.completed") == 1


def test_a_ping_is_answered(client: Client) -> None:
    with client.connect() as socket:
        named = socket.ask({"action": "ping", "id": "p1"})
        plain = socket.ask({"action": "ping"})

    assert (named, plain) == ({"type": "pong", "id": "p1"}, {"type": "pong"})


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("not json", "invalid_json"),
        ("", "invalid_json"),
        ("[]", "schema_violation"),
        ('{"action":"ping","action":"ping"}', "invalid_json"),
        ({"action": "dance", "id": "x"}, "schema_violation"),
        ({"id": "x"}, "schema_violation"),
        ({"action": "subscribe", "id": "x"}, "schema_violation"),
        ({"action": "subscribe", "id": "x", "session_id": "a/b"}, "invalid_id"),
        ({"action": "subscribe", "id": "x", "session_id": "nobody"}, "unknown_session"),
        ({"action": "subscribe", "id": "x", "session_id": "n", "after": "then"}, "invalid_id"),
        ({"action": "input", "id": "x", "input": {"type": "client.dance"}}, "unknown_input"),
        ({"action": "input", "id": "x", **message_body("x", agent_id="nobody")}, "unknown_agent"),
        ({"action": "input", "id": "x", **message_body("x", turn_id="turn-7")}, "invalid_id"),
        ({"action": "ping", "id": "a b"}, "invalid_id"),
        ({"action": "ping", "more": 1}, "schema_violation"),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_a_bad_frame_is_told_and_the_connection_lives_on(
    client: Client, frame: Any, code: str
) -> None:
    with client.connect() as socket:
        error = socket.ask(frame)
        pong = socket.ask({"action": "ping"})

    assert (error["type"], error["code"], error["error"]) == ("error", code, code)
    assert error["message"]
    assert error.get("id") == (frame.get("id") if isinstance(frame, dict) else None)
    assert pong == {"type": "pong"}


def test_a_frame_over_32_kb_closes_the_connection(client: Client) -> None:
    body = message_body("x" * 33_000)
    with client.connect() as socket:
        socket.send({"action": "input", "id": "in", **body})

        with pytest.raises(ConnectionClosed) as closed:
            socket.receive(within_s=5)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


def test_an_event_over_128_kb_is_referred_to_and_can_be_fetched(
    client: Client, worker: ScriptedWorker
) -> None:
    client.put_agent("reader", worker=worker.url, tools=[tool("fetch")])
    worker.plays("fetch", result("x" * 200_000))
    session_id = client.run("hello", agent_id="reader").session_id
    at = client.session(session_id)["seq"]
    follower = Follower(seq=at)
    with client.connect() as live, client.connect() as late:
        live.subscribe(session_id, after=str(at))

        client.start("[[call:fetch]][[say:read]]", session_id, agent_id="reader")
        follower.until_end(live)
        again = Follower(seq=at)
        late.subscribe(session_id, after=str(at))
        again.until_end(late)

    for one in (follower, again):
        references = [event for event in one.events if event["type"] == "event_ref"]
        kinds = [reference["event_type"] for reference in references]
        assert kinds == ["tool.call.completed", "message.new"]
        first = references[0]["seq"]
        (fetched,) = client.page(session_id, after_seq=first - 1, limit=1).json()["events"]
        assert (fetched["seq"], len(fetched["payload"]["result"])) == (first, 200_000)


def test_a_long_history_is_replayed_in_portions(client: Client) -> None:
    session_id = new_id("session")
    calls = '[[call:convert {"value":1,"from":"m","to":"cm"}]]' * 60
    client.run(calls + "[[say:end]]", session_id)
    last = client.session(session_id)["seq"]
    follower = Follower()
    portions = 0
    with client.connect() as socket:
        while follower.seq < last:
            socket.subscribe(session_id, f"p{portions}", after=follower.cursor or "0.0-0")
            portions += 1
            for frame in socket.frames():
                if frame["type"] == "more":
                    assert frame["cursor"].split(".")[0] == str(follower.seq)
                    break
                follower.take(frame)
                if follower.seq == last:
                    break

    assert last > 500
    assert portions == -(-last // 500)
    assert follower.events == payloads(client, session_id)


def test_a_watcher_of_a_long_session_who_comes_late_misses_no_word(client: Client) -> None:
    session_id = new_id("session")
    calls = '[[call:convert {"value":1,"from":"m","to":"cm"}]]' * 30
    client.run(calls + "[[say:end]]", session_id)
    at = client.session(session_id)["seq"]
    words = [f"word{n:02} " for n in range(60)]
    early = Follower(seq=at)
    late = Follower()
    with client.connect() as first, client.connect() as second:
        first.subscribe(session_id, after=str(at))
        client.start("".join(f"[[say:{word}]][[sleep:100]]" for word in words), session_id)
        early.read(first, lambda one: "word05" in one.text())

        second.subscribe(session_id)
        late.until_end(second, turns=2)
        early.until_end(first)

    said = "".join(words)
    assert early.text() == said
    assert said.startswith(late.text())  # all of it, unless the call ended before the replay did
    assert late.early_deltas == {}
    answers = [one for one in late.events if one["type"] == "llm.call.completed"]
    assert answers[-1]["message"]["content"] == said
