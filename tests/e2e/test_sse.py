"""A session as it is read over HTTP: in pages, or as a stream of server-sent events."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from e2e.client import Client
from e2e.sse_reader import Reader
from e2e.waiting import until

WORDS = [f"word{n:02} " for n in range(20)]
SLOWLY = "".join(f"[[say:{word}]][[sleep:60]]" for word in WORDS)


def test_pages_hold_all_events_once_and_say_whether_there_are_more(client: Client) -> None:
    ended = client.run('[[call:convert {"value":1,"from":"m","to":"cm"}]][[say:{{result}}]]')
    whole = client.page(ended.session_id, limit=500).json()
    paged: list[dict[str, Any]] = []
    after, more = 0, True

    while more:
        page = client.page(ended.session_id, after_seq=after, limit=7).json()
        assert len(page["events"]) <= 7
        paged += page["events"]
        after, more = page["next_after_seq"], page["more"]

    assert whole["more"] is False
    assert paged == whole["events"]
    assert [event["seq"] for event in paged] == [*range(1, len(paged) + 1)]


def test_a_page_without_a_limit_has_a_hundred_events_at_most(client: Client) -> None:
    calls = '[[call:convert {"value":1,"from":"m","to":"cm"}]]' * 12
    ended = client.run(calls)

    page = client.page(ended.session_id).json()

    assert (len(page["events"]), page["more"], page["next_after_seq"]) == (100, True, 100)


def test_a_page_of_a_turn_holds_that_turn_alone(client: Client) -> None:
    first = client.run("hello")
    second = client.run("hello again", first.session_id)

    events = client.events(first.session_id, second.turn.turn_id)

    assert {event["turn_id"] for event in events} == {second.turn.turn_id}
    assert events[0]["payload"]["type"] == "turn.started"
    assert events == second.events


def test_a_page_behind_the_last_event_is_empty(client: Client) -> None:
    ended = client.run("hello")
    last = client.session(ended.session_id)["seq"]

    page = client.page(ended.session_id, after_seq=last).json()

    assert page == {"events": [], "next_after_seq": last, "more": False}


def test_events_show_nothing_that_is_private(client: Client) -> None:
    ended = client.run('[[call:note_pad {"action":"add","text":"x"}]]')

    page = json.dumps(client.events(ended.session_id))

    for name in (
        '"private"',
        '"refs"',
        '"request_sha256"',
        "_functions/sample_worker",
        '"worker":',
    ):
        assert name not in page


def test_a_stream_replays_what_was_and_ends(client: Client) -> None:
    ended = client.run("hello")
    reader = Reader(client, ended.session_id)

    response = reader.come_back()

    assert response.headers["content-type"].startswith("text/event-stream")
    assert reader.events() == client.events(ended.session_id)


def test_a_stream_goes_on_behind_the_last_event_id(client: Client) -> None:
    ended = client.run("hello")
    whole = Reader(client, ended.session_id)
    whole.come_back()
    at, _, _ = whole.frames[4]

    rest = Reader(client, ended.session_id, last_id=at)
    rest.come_back()

    assert rest.frames == whole.frames[5:]


def test_a_stream_of_a_session_at_rest_says_at_once_when_to_come_back(client: Client) -> None:
    ended = client.run("hello")
    reader = Reader(client, ended.session_id)
    reader.come_back()
    before = time.monotonic()

    reader.come_back()

    assert reader.retry_ms == 15_000
    assert time.monotonic() - before < 10


def test_a_stream_waits_and_answers_when_something_comes(client: Client) -> None:
    turn = client.start("[[sleep:1200]][[say:here]]")
    reader = Reader(client, turn.session_id)
    reader.come_back()
    begun = len(reader.frames)
    before = time.monotonic()

    reader.come_back()

    waited_s = time.monotonic() - before
    assert len(reader.frames) > begun
    assert 0.3 < waited_s < 10


def test_a_stream_brings_the_answer_word_by_word(client: Client) -> None:
    turn = client.start("[[sleep:300]]" + SLOWLY)
    reader = Reader(client, turn.session_id, {"turn_id": turn.turn_id})
    statuses: list[int] = []

    while not statuses or statuses[-1] != 204:
        statuses.append(reader.come_back().status_code)

    assert "".join(WORDS).startswith(reader.text())  # the end of it may come as the event alone
    assert len(reader.text()) > len("".join(WORDS)) / 2
    assert [e["payload"]["type"] for e in reader.events()][-1] == "session.done"
    assert [event["seq"] for event in reader.events()] == [
        event["seq"] for event in client.events(turn.session_id, turn.turn_id)
    ]
    assert len({at for at, _, _ in reader.frames}) == len(reader.frames)
    assert len(statuses) > 3  # several answers while it is said


def test_a_stream_of_one_turn_ends_for_good(client: Client) -> None:
    first = client.run("hello")
    client.run("and more", first.session_id)
    reader = Reader(client, first.session_id, {"turn_id": first.turn.turn_id})

    statuses = [reader.come_back().status_code, reader.come_back().status_code]

    assert statuses == [200, 204]
    assert reader.events() == first.events


def test_a_reader_is_woken_by_a_turn_that_begins_later(client: Client) -> None:
    session_id = client.run("hello").session_id
    reader = Reader(client, session_id)
    reader.come_back()

    second = client.run("[[say:later]]", session_id)
    reader.come_back()

    assert reader.events() == client.events(session_id)
    assert second.answer == "later"


def test_two_readers_and_a_watcher_get_the_same(client: Client) -> None:
    turn = client.start("[[sleep:300]]" + SLOWLY)

    def follow(_: int) -> Reader:
        reader = Reader(client, turn.session_id, {"turn_id": turn.turn_id})
        until(reader.come_back, lambda response: response.status_code == 204)
        return reader

    with ThreadPoolExecutor(2) as pool:
        left, right = pool.map(follow, range(2))

    assert left.events() == right.events()
    for one in (left, right):
        assert "".join(WORDS).startswith(one.text())
        assert len(one.text()) > len("".join(WORDS)) / 2


def test_a_stream_of_an_agent_that_does_not_stream_has_no_deltas(client: Client) -> None:
    client.put_agent(stream=False)
    turn = client.start("[[sleep:300]]" + SLOWLY)
    reader = Reader(client, turn.session_id, {"turn_id": turn.turn_id})

    until(reader.come_back, lambda response: response.status_code == 204)

    assert reader.text() == ""
    assert reader.events() == client.events(turn.session_id, turn.turn_id)


@pytest.mark.parametrize("place", ["0", "3", "3.3-0", "999999"])
def test_a_stream_takes_any_place_that_could_be_one(client: Client, place: str) -> None:
    ended = client.run("hello")
    reader = Reader(client, ended.session_id, last_id=place)

    response = reader.come_back()

    assert response.status_code == 200
    after = int(place.split(".", maxsplit=1)[0])
    assert [e["seq"] for e in reader.events()] == [*range(after + 1, ended.events[-1]["seq"] + 1)]
