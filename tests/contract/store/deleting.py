"""Sessions that have everything, their deletion step by step, and what is left of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from contract.store.conftest import BUCKET, Aws
from everturn.commands.delete_session import FinishDeletions
from everturn.ports.runs import Feedback, RunPlace
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, Owner, SessionKey
from everturn.ports.streams import Delta, Watcher
from everturn.protocol.ids import uuid7
from everturn.session.events.runs import RunRequested
from everturn.session.events.sessions import StartedPrivate, TurnCompleted, TurnStarted
from everturn.session.events.stored import Event
from everturn.store.runs import DynamoRuns
from sample_events import NOON_MS, commit, id_of, message, plain_turn

NOON_S = NOON_MS // 1000
OLD = uuid7(NOON_MS, b"0" * 10)
NEW = uuid7(NOON_MS + 1, b"0" * 10)
LATER = 10_000_000_000


def never() -> bool:
    return False


def begun(store: SessionStore, key: SessionKey, incarnation: str = OLD) -> Head:
    """Write a session that has everything that a session can have."""
    asked, answered = plain_turn(key.session)
    name = f"{incarnation} {{}}"
    first = commit(key, None, asked, name.format(1), created=incarnation, due_epoch_s=NOON_S)
    head = store.append(first)
    store.put_delta(key, delta(1, incarnation), NOON_S + 3600)
    store.add_watcher(key, Watcher("c1", "old"), incarnation)
    store.reader_until(key, NOON_MS + 30_000, incarnation)
    owner = Owner(1, "request-1")
    return store.append(commit(key, head, answered, name.format(2), owner=owner))


def delta(n: int, incarnation: str, call: str = "call") -> Delta:
    return Delta(13, n, id_of(call), 1, "t", {"text": call}, created=incarnation)


def deleted(store: SessionStore, key: SessionKey, incarnation: str = OLD) -> None:
    """Delete a session and let its id go."""
    assert store.mark_deleted(key, incarnation, f"mark of {incarnation}", NOON_S + 60)
    assert store.erase(key, incarnation, never)
    store.release_id(key, incarnation, NOON_S + 1200)


# ---- on the table

LARGE = "x" * 9_000
"""A body that goes to the bucket."""


@dataclass(slots=True)
class Time:
    """A clock and a stop watch that move when they are told to."""

    now: int = NOON_MS
    seconds: float = 0.0
    drawn: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def now_ms(self) -> int:
        return self.now

    def entropy(self) -> bytes:
        return next(self.drawn).to_bytes(16, "big")

    def monotonic(self) -> float:
        return self.seconds


def objects(aws: Aws, prefix: str) -> list[str]:
    answer = aws.s3.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)
    return sorted(one["Key"] for one in answer.get("Contents", ()))


def fill(aws: Aws, key: SessionKey) -> None:
    """Write a session of some commits, one with objects, and what stands beside it."""
    head = begun(aws.store(), key)
    events = [message(f"m{n}", n + 3, LARGE + str(n)) for n in range(2)]
    head = aws.store().append(commit(key, head, events, "large"))
    run_id = f"run-of-{key.session}"
    ran: list[Event] = [
        RunRequested(turn_id=run_id, run={}),
        TurnStarted(turn_id=run_id, private=StartedPrivate(run_seq=head.session.seq + 1)),
        TurnCompleted(turn_id=run_id, outcome="done"),
    ]
    aws.store().append(commit(key, head, ran, "run"))
    client: Any = aws.dynamodb.client
    place = RunPlace(run_id, key.session, head.session.seq + 1, OLD)
    DynamoRuns(aws.table, client).put_feedback(key.tenant, place, Feedback("f1", "UP"))


def swept(aws: Aws, time: Time) -> None:
    """Let recovery come by until there is nothing left to do."""
    for _ in range(3):
        time.now += 3_600_000
        FinishDeletions(aws.store(), time, time.monotonic).sweep()
