"""Sessions made for runs: read, listed, read again, ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from everturn.commands import agent_sessions
from everturn.commands.agent_sessions import BATCH, LOOKED_AT, Filter
from everturn.ports.callers import Caller
from everturn.ports.runs import Described
from everturn.ports.sessions import Logged, SessionKey
from everturn.rejections import InvalidId, UnknownSession
from everturn.store.memory import InMemorySessionStore
from everturn.store.memory_runs import InMemoryRuns
from unit.commands.asking_for_runs import ANN, BOB, LOCAL, PLAIN, RIVAL, Runs
from unit.drive.doubles import NOON_MS
from unit.drive.world import MACHINE, TENANT


def named(runs: Runs, wanted: Filter, caller: Caller = MACHINE) -> list[str]:
    """Return the names of the sessions that a list has."""
    return [line.name for line in runs.sessions.lines(caller, wanted).lines]


def several(*names: str, runs: Runs | None = None, **more: Any) -> Runs:
    """Return sessions of these names, made a minute apart in that order."""
    made = runs or Runs()
    for name in names:
        made.begin(name=name, **more)
        made.world.clock.move(60_000)
    return made


# ---- one


def test_a_session_says_what_it_was_made_as_and_when() -> None:
    runs = Runs()
    session = runs.begin(caller=ANN, name="desk", metadata={"team": "blue"}, config=LOCAL)
    runs.world.clock.move(5_000)
    runs.start("[[say:Hi]]", caller=ANN, session=session)

    found = runs.sessions.get(ANN, session)

    assert (found.session_id, found.agent_id) == (session, "runs")
    assert found.description == {"spec": {}, "name": "desk", "metadata": {"team": "blue"}}
    assert found.config == LOCAL
    assert (found.created_ms, found.last_used_ms) == (NOON_MS, NOON_MS + 5_000)
    assert (found.ended_ms, found.is_ended) == (None, False)


def test_a_session_whose_worker_decides_began_with_no_config() -> None:
    runs = Runs()
    runs.world.agent("boss", decides="worker")

    session = runs.begin(agent="boss", config=None)

    assert runs.sessions.get(MACHINE, session).config == {}


def test_a_session_that_was_ended_says_when() -> None:
    runs = Runs()
    session = runs.begin()
    runs.start("[[say:Hi]]", session=session)
    runs.world.clock.move(5_000)

    runs.sessions.end(MACHINE, session)
    runs.world.clock.move(5_000)

    found = runs.sessions.get(MACHINE, session)
    assert (found.is_ended, found.ended_ms) == (True, NOON_MS + 5_000)


def test_an_end_that_lies_far_back_in_the_log_is_not_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = Runs()
    session = runs.begin()
    runs.start("[[say:Hi]]", session=session)
    runs.sessions.end(MACHINE, session)
    monkeypatch.setattr(agent_sessions, "END_EVENTS", -1)

    assert runs.sessions.get(MACHINE, session).ended_ms is None


@pytest.mark.parametrize("caller", [BOB, RIVAL])
def test_a_session_of_somebody_else_is_not_there(caller: Caller) -> None:
    runs = Runs()
    session = runs.begin(caller=ANN)

    with pytest.raises(UnknownSession):
        runs.sessions.get(caller, session)
    with pytest.raises(UnknownSession):
        runs.sessions.messages(caller, session, before_seq=None, count=5)
    with pytest.raises(UnknownSession):
        runs.sessions.end(caller, session)


def test_a_session_that_is_deleted_while_it_is_read_is_not_there() -> None:
    """Its reader was told of a failure of ours."""

    class Vanishing(InMemorySessionStore):
        def log(self, *_asked: Any) -> tuple[Logged, ...]:
            return ()

        def incarnation(self, _key: SessionKey) -> None:
            return None

    runs = Runs()
    session = runs.begin()
    runs.world.store.__class__ = Vanishing

    with pytest.raises(UnknownSession):
        runs.sessions.get(MACHINE, session)


def test_a_session_that_was_made_otherwise_is_no_session_of_runs() -> None:
    """A client token ends only what this API made: all else takes a key, by another route."""
    runs = Runs()
    runs.world.submit("Hello", owner="ann")
    one_shot = runs.start(caller=ANN)

    for session in ("s1", one_shot.session_id, "nothing"):
        with pytest.raises(UnknownSession):
            runs.sessions.get(ANN, session)
        with pytest.raises(UnknownSession):
            runs.sessions.end(ANN, session)

    assert not runs.world.head("s1").session.is_cancelled


# ---- its messages


def test_messages_come_oldest_first_and_say_whether_there_are_older_ones() -> None:
    runs = Runs()
    session = runs.begin()
    for n in range(3):
        runs.start(f"[[say:{n}]]", session=session)
        runs.world.advance()

    whole, more = runs.sessions.messages(MACHINE, session, before_seq=None, count=6)
    newest, is_cut = runs.sessions.messages(MACHINE, session, before_seq=None, count=2)
    older, _ = runs.sessions.messages(MACHINE, session, before_seq=newest[0].seq, count=2)

    said = [node.message["content"] for node in whole]
    assert said == ["[[say:0]]", "0", "[[say:1]]", "1", "[[say:2]]", "2"]
    assert (more, is_cut) == (False, True)
    assert [node.message["content"] for node in newest] == ["[[say:2]]", "2"]
    assert [node.message["content"] for node in older] == ["[[say:1]]", "1"]
    assert [node.seq for node in whole] == sorted(node.seq for node in whole)


def test_a_session_without_a_run_has_no_messages() -> None:
    runs = Runs()
    session = runs.begin()

    assert runs.sessions.messages(MACHINE, session, before_seq=None, count=5) == ((), False)


# ---- lists


def test_a_list_has_the_sessions_that_were_used_last_first() -> None:
    runs = several("a", "b", "c")
    (_, b, _) = runs.sessions.lines(MACHINE, Filter()).lines
    runs.start("[[say:Hi]]", session=b.session_id)

    lines = runs.sessions.lines(MACHINE, Filter()).lines

    assert [line.name for line in lines] == ["b", "c", "a"]
    assert (lines[0].created_ms, lines[0].last_used_ms) == (NOON_MS + 60_000, NOON_MS + 180_000)


def test_a_list_has_sessions_of_runs_alone_and_of_the_callers_alone() -> None:
    runs = several("a")
    runs.world.submit("Hello")
    runs.start("one shot")
    runs.begin(caller=ANN, name="of ann")

    found = runs.sessions.lines(MACHINE, Filter())

    assert (found.total, {line.name for line in found.lines}) == (2, {"a", "of ann"})
    assert named(runs, Filter(), ANN) == ["of ann"]
    assert named(runs, Filter(), BOB) == []
    assert named(runs, Filter(), RIVAL) == []


def test_filters_of_metadata_hold_all_at_once() -> None:
    runs = several("blue", metadata={"team": "blue", "tier": "1"})
    several("other", runs=runs, metadata={"team": "blue", "tier": "2"})
    several("none", runs=runs)

    assert named(runs, Filter(metadata=("team:blue",))) == ["other", "blue"]
    assert named(runs, Filter(metadata=("team:blue", "tier:1"))) == ["blue"]
    assert named(runs, Filter(metadata=("team:blue", "team:red"))) == []
    assert named(runs, Filter(metadata=("team:",))) == []


def test_a_key_and_a_value_may_have_colons() -> None:
    runs = several("url", metadata={"seen:at": "http://a:80"})

    assert named(runs, Filter(metadata=("seen:at:http://a:80",))) == ["url"]
    assert named(runs, Filter(metadata=("seen:at",))) == []


@pytest.mark.parametrize(
    ("is_ended", "expected"), [(None, ["b", "a"]), (True, ["a"]), (False, ["b"])]
)
def test_a_list_may_have_the_active_or_the_ended_ones_alone(
    is_ended: bool | None, expected: list[str]
) -> None:
    runs = several("a", "b")
    a = runs.sessions.lines(MACHINE, Filter()).lines[-1]
    runs.sessions.end(MACHINE, a.session_id)

    assert named(runs, Filter(is_ended=is_ended)) == expected


@given(limit=st.integers(1, 7), skipped=st.integers(0, 6))
def test_pages_by_cursor_are_the_list_once_however_long_they_are(limit: int, skipped: int) -> None:
    runs = several(*"abcdef")
    seen: list[str] = []

    page = runs.sessions.lines(MACHINE, Filter(limit=limit, offset=skipped))
    seen += [line.name for line in page.lines]
    while page.cursor is not None:
        page = runs.sessions.lines(MACHINE, Filter(limit=limit, cursor=page.cursor))
        assert page.lines
        seen += [line.name for line in page.lines]

    assert seen == [*"fedcba"][skipped:]
    assert page.total == 6


@pytest.mark.parametrize(("offset", "expected"), [(0, ["c", "b"]), (2, ["a"]), (3, [])])
def test_an_offset_skips_some(offset: int, expected: list[str]) -> None:
    runs = several("a", "b", "c")

    found = runs.sessions.lines(MACHINE, Filter(limit=2, offset=offset))

    assert [line.name for line in found.lines] == expected
    assert (found.total, found.cursor is None) == (3, offset > 0)


def test_a_cursor_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidId):
        Runs().sessions.lines(MACHINE, Filter(cursor="x"))


def test_a_list_looks_at_so_many_sessions_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = several("old", "kept", "plain", "new")
    monkeypatch.setattr(agent_sessions, "BATCH", 1)
    monkeypatch.setattr(agent_sessions, "LOOKED_AT", 3)

    found = runs.sessions.lines(MACHINE, Filter(limit=2))
    last = runs.sessions.lines(MACHINE, Filter(limit=2, cursor=found.cursor))
    beyond = runs.sessions.lines(MACHINE, Filter(limit=2, cursor=last.cursor))

    assert (LOOKED_AT, BATCH) == (2_000, 100)
    assert (found.total, [line.name for line in found.lines]) == (3, ["new", "plain"])
    assert [line.name for line in last.lines] == ["kept"]
    assert (beyond.lines, beyond.cursor) == ((), None)


class Slow(InMemoryRuns):
    """Answers what was read before a deletion."""

    def __init__(self, store: InMemorySessionStore, about: dict[SessionKey, Described]) -> None:
        super().__init__(store)
        self._about = about

    def described(self, sessions: Sequence[SessionKey]) -> dict[SessionKey, Described]:
        return {one: self._about[one] for one in sessions if one in self._about}


def test_a_session_that_has_the_id_of_a_deleted_one_is_no_session_of_runs() -> None:
    runs = several("old")
    (line,) = runs.sessions.lines(MACHINE, Filter()).lines
    key = SessionKey(TENANT, line.session_id)
    created = runs.world.head(line.session_id).created
    about = runs.index.described([key])
    runs.world.store.mark_deleted(key, created, "m1", 0)
    runs.world.store.erase(key, created, lambda: False)
    runs.world.store.release_id(key, created, 0)
    runs.world.submit("Hello", session=line.session_id)
    runs.index = Slow(runs.world.store, about)

    assert named(runs, Filter()) == []


# ---- ends


def test_an_end_stops_the_open_run_and_those_that_wait() -> None:
    runs = Runs()
    session = runs.begin()
    both = [runs.start(session=session), runs.start(session=session, config=PLAIN)]

    runs.sessions.end(MACHINE, session)

    assert [runs.outcome(one) for one in both] == ["cancelled", "cancelled"]
    assert runs.world.head(session).session.is_cancelled


def test_a_second_end_changes_nothing() -> None:
    runs = Runs()
    session = runs.begin()
    runs.sessions.end(MACHINE, session)
    before = runs.world.head(session)

    runs.sessions.end(MACHINE, session)

    assert runs.world.head(session) == before
