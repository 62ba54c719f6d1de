"""What a turn and its readers see of connections that are gone or throttled."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from e2e.client import Client
from e2e.readers import closed_with, watching
from e2e.socket_client import Follower, Socket
from e2e.waiting import until
from everturn_local.faults import Posting, take
from everturn_local.runtime import LocalRuntime

WORDS = [f"word{n:02} " for n in range(40)]
WHOLE = "".join(WORDS)
SLOWLY = "".join(f"[[say:{word}]][[sleep:60]]" for word in WORDS)
"""An answer of about two and a half seconds."""

INTERVAL_S = 0.25


@dataclass(frozen=True, slots=True)
class Post:
    """One frame that a function posted, and what became of it."""

    connection_id: str
    frame: bytes
    fate: Posting
    at_s: float

    @property
    def said(self) -> dict[str, Any]:
        """The frame, parsed."""
        said: dict[str, Any] = json.loads(self.frame)
        return said

    @property
    def kind(self) -> str:
        """Its type."""
        return str(self.said["type"])


@dataclass(slots=True)
class Gateway:
    """Decides by a rule, and notes."""

    rule: Callable[[str, dict[str, Any]], Posting]
    posts: list[Post] = field(default_factory=list)

    def __call__(self, connection_id: str, frame: bytes) -> Posting:
        """Decide on one frame."""
        fate = self.rule(connection_id, json.loads(frame))
        self.posts.append(Post(connection_id, frame, fate, time.monotonic()))
        return fate

    def of(self, kind: str) -> list[Post]:
        """Return the posts of a type of frame."""
        return [post for post in self.posts if post.kind == kind]


@contextmanager
def reading(client: Client, runtime: LocalRuntime) -> Iterator[tuple[str, Socket, Follower]]:
    """Open a session and a connection that reads it from here on."""
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    with client.connect() as socket:
        socket.subscribe(session_id, after=str(at))
        until(lambda: watching(runtime, client, session_id))
        yield session_id, socket, Follower(seq=at)


def test_a_connection_that_is_gone_in_mid_answer_is_forgotten_and_disturbs_nobody(
    client: Client, runtime: LocalRuntime
) -> None:
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    follower = Follower(seq=at)
    with client.connect() as goes, client.connect() as stays:
        goes.subscribe(session_id, after=str(at))
        (gone,) = until(lambda: watching(runtime, client, session_id))
        stays.subscribe(session_id, after=str(at))
        until(lambda: len(watching(runtime, client, session_id)) == 2)
        gateway = Gateway(gone_once_it_heard_two_pieces(gone))
        runtime.faults.post = gateway

        turn = client.start(SLOWLY, session_id)
        Follower(seq=at).read(goes, lambda one: len(one.deltas) == 2)
        follower.until_end(stays)
        until(lambda: gone not in watching(runtime, client, session_id))
        refused = len([post for post in gateway.posts if post.connection_id == gone])
        client.run("[[say:and again]]", session_id)
        follower.until_end(stays, turns=2)

    assert len([post for post in gateway.posts if post.connection_id == gone]) == refused
    assert follower.types()[-1] == "turn.completed"
    said = [delta["text"] for delta in follower.deltas if delta["turn_id"] == turn.turn_id]
    assert "".join(said) == WHOLE
    ended = client.end_of(turn)
    assert ended.completed["outcome"] == "done"
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1]


def gone_once_it_heard_two_pieces(gone: str) -> Callable[[str, dict[str, Any]], Posting]:
    """Return the rule of a connection that goes without a word."""
    heard = 0

    def rule(connection_id: str, frame: dict[str, Any]) -> Posting:
        nonlocal heard
        if connection_id != gone:
            return Posting.TAKE
        heard += frame["type"] == "delta"
        return Posting.GONE if heard > 2 else Posting.TAKE

    return rule


def test_a_throttled_reader_gets_larger_pieces_less_often_and_every_word_once(
    client: Client, runtime: LocalRuntime
) -> None:
    with reading(client, runtime) as (session_id, socket, follower):
        gateway = Gateway(refuses_deltas(2))
        runtime.faults.post = gateway

        client.start(SLOWLY, session_id)
        follower.until_end(socket)

    assert follower.text() == WHOLE
    assert follower.early_deltas == {}
    deltas = gateway.of("delta")
    frames = [post.frame for post in deltas]
    assert len(set(frames)) == len(frames)
    assert [post.fate for post in deltas[:3]] == [*[Posting.THROTTLE] * 2, Posting.TAKE]
    assert {post.fate for post in deltas[3:]} <= {Posting.TAKE}
    for refused, then in pairwise(deltas[:3]):
        assert then.said["delta"]["text"].startswith(refused.said["delta"]["text"])
        assert then.said["prev_n"] == refused.said["prev_n"] == 0
    waited_s = [then.at_s - before.at_s for before, then in pairwise(deltas[:3])]
    assert waited_s[0] >= 2 * INTERVAL_S - 0.05
    assert waited_s[1] >= 4 * INTERVAL_S - 0.05


def refuses_deltas(count: int) -> Callable[[str, dict[str, Any]], Posting]:
    """Return the rule that throttles the first deltas."""
    left = count

    def rule(_connection_id: str, frame: dict[str, Any]) -> Posting:
        nonlocal left
        if frame["type"] != "delta" or not left:
            return Posting.TAKE
        left -= 1
        return Posting.THROTTLE

    return rule


def test_a_throttled_reader_gets_every_event_in_its_order(
    client: Client, runtime: LocalRuntime
) -> None:
    with reading(client, runtime) as (session_id, socket, follower):
        gateway = Gateway(lambda _id, _frame: Posting.TAKE)
        gateway.rule = lambda _id, _frame: (
            Posting.TAKE if len(gateway.posts) % 2 else Posting.THROTTLE
        )
        runtime.faults.post = gateway

        ended = client.run("[[say:a]][[turn]][[say:b]]", session_id)
        follower.until_end(socket, within_s=30)

    taken = [post.said["seq"] for post in gateway.of("event") if post.fate is Posting.TAKE]
    assert follower.types() == [event["payload"]["type"] for event in ended.events][:-1]
    assert follower.early == {}
    assert len(taken) < len(gateway.of("event"))


def test_a_reader_who_is_throttled_beyond_the_end_of_the_turn_is_closed_and_comes_back(
    client: Client, runtime: LocalRuntime
) -> None:
    with reading(client, runtime) as (session_id, socket, follower):
        runtime.faults.post = lambda _id, _frame: Posting.THROTTLE

        ended = client.run("[[say:a]]", session_id)
        code = closed_with(socket, follower)
    runtime.faults.post = take
    with client.connect() as socket:
        socket.subscribe(session_id, after=follower.cursor or str(follower.seq))
        follower.until_end(socket)

    assert code == 1000
    assert follower.events[-1] == ended.completed
    until(lambda: not watching(runtime, client, session_id))
