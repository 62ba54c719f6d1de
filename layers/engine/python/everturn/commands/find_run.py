"""Finds a run and reads what was asked for and what came of it; it waits for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from everturn.commands.reading import seen_by, unreadable_hidden
from everturn.commands.vanishing import vanishing
from everturn.ports.callers import Caller
from everturn.ports.runs import RunIndex, RunPlace
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, Logged, SessionKey, TurnRecord
from everturn.protocol.ids import is_id
from everturn.rejections import UnknownRun, UnknownSession
from everturn.runs.bodies import ended_with, header_before, without_bodies
from everturn.runs.outcome import RunOutcome, outcome_of
from everturn.session.events.runs import RunRequested


@dataclass(frozen=True, slots=True)
class FoundRun:
    """Where a run is, and how far."""

    key: SessionKey
    place: RunPlace
    head: Head
    status: Literal["queued", "running", "over"]
    first_seq: int = 0
    """Of its turn; 0 while it waits."""

    last_seq: int = 0
    """0 until its turn is over."""

    outcome: str = ""
    """Of its turn, once that is over."""


def place_of(runs: RunIndex, caller: Caller, run_id: str) -> RunPlace:
    """Return where a run is recorded; it stays there. Raises `UnknownRun`."""
    place = runs.place(caller.tenant, run_id)
    if place is None:
        raise no_such_run()
    return place


def find_run(store: SessionStore, caller: Caller, place: RunPlace) -> FoundRun:
    """Return how far a run is.

    Raises `UnknownRun`: another's, or its session is gone; `SessionQuarantined`: it is put aside
    and cannot be read.
    """
    key = SessionKey(caller.tenant, place.session)
    with unknown_as_run():
        with unreadable_hidden(caller):
            found, record = store.head_and_turn(key, place.run_id)
        head = seen_by(caller, found)
    if head.created != place.created:
        raise no_such_run()
    return _stands(key, place, head, record)


def _stands(key: SessionKey, place: RunPlace, head: Head, record: TurnRecord | None) -> FoundRun:
    session = head.session
    if record is not None and record.last_seq:
        return FoundRun(key, place, head, "over", record.first_seq, record.last_seq, record.outcome)
    for turn in (*session.parked, *((session.turn,) if session.turn else ())):
        if turn.id == place.run_id:
            return FoundRun(key, place, head, "running", turn.first_seq)
    if any(one.turn_id == place.run_id for one in session.inbox):
        return FoundRun(key, place, head, "queued")
    raise no_such_run()


def check_run_id(run_id: str) -> str:
    """Return what names a run. Raises `UnknownRun` for what cannot be an id."""
    if not is_id(run_id):
        raise no_such_run()
    return run_id


def no_such_run() -> UnknownRun:
    """Return what is said of a missing run, and of one that is another's."""
    return UnknownRun("There is no such run.")


@contextmanager
def unknown_as_run() -> Iterator[None]:
    """Say of a session that is not there, or not for the caller, that its run is not."""
    try:
        yield
    except UnknownSession as error:
        raise no_such_run() from error


@contextmanager
def run_vanishing(store: SessionStore, key: SessionKey) -> Iterator[None]:
    """Let the body read the log of a run. Raises `UnknownRun` if its session goes meanwhile."""
    with unknown_as_run(), vanishing(store, key):
        yield


def requested(store: SessionStore, key: SessionKey, place: RunPlace) -> Mapping[str, Any]:
    """Return what a run was asked for with: `{spec, metadata?, name?}`."""
    asked = without_bodies(store.log(key, place.seq, place.seq), lambda seq, _: seq == place.seq)
    for commit in store.materialise(key, asked):
        for seq, event in commit.numbered():
            if seq == place.seq and isinstance(event, RunRequested):
                return event.run or {}
    return {}


def outcome_in(
    store: SessionStore, key: SessionKey, run_id: str, first_seq: int, last_seq: int
) -> RunOutcome:
    """Return what came of a run whose turn has those events: all of them are read."""
    logged = store.log(key, first_seq, last_seq)
    header = header_before(run_id, logged)
    earlier: tuple[Logged, ...] = store.log(key, header, header) if header else ()
    return outcome_of(run_id, store.materialise(key, ended_with(run_id, (*earlier, *logged))))
