"""What each event does to a session, and that a log may be cut anywhere."""

from __future__ import annotations

import json
from dataclasses import replace

import hypothesis.strategies as st
from hypothesis import given, settings

from everturn.protocol.json_text import compact
from everturn.session.events.model_calls import ModelCallAborted, ModelCallCompleted
from everturn.session.events.sessions import StepEnded, StepStarted, TurnCompleted, TurnStalled
from everturn.session.events.stored import Event, from_json, to_json
from everturn.session.events.tool_calls import SettleIgnored
from everturn.session.evolve import evolve, fold
from everturn.session.state import SESSION, Session
from examples import per_cent
from unit.session.building import Story, made, usage
from unit.session.moves import play
from unit.session.test_events import EVENTS

MOVES = st.lists(st.integers(0, 59), min_size=1, max_size=25)


@settings(deadline=None, max_examples=per_cent(40))
@given(moves=MOVES, cut=st.integers(min_value=0))
def test_any_split_of_a_log_folds_alike(moves: list[int], cut: int) -> None:
    """M-1, M-2, Architecture, invariant 2: through JSON, as it is stored."""
    story = play(Story(), moves)
    at = cut % (len(story.log) + 1)
    before, after = story.log[:at], story.log[at:]

    stored = [from_json(json.loads(compact(to_json(event)))) for event in after]

    assert fold(stored, fold(before)) == fold(story.log) == story.session


@settings(deadline=None, max_examples=per_cent(40))
@given(moves=MOVES)
def test_a_head_survives_json_wherever_it_is_written(moves: list[int]) -> None:
    story = play(Story(), moves)

    for upto in range(0, len(story.log), 3):
        session = fold(story.log[:upto])
        assert SESSION.validate_json(SESSION.dump_json(session, exclude_defaults=True)) == session


@settings(deadline=None, max_examples=per_cent(40))
@given(moves=MOVES)
def test_a_repeated_command_changes_nothing(moves: list[int]) -> None:
    """Architecture, invariant 5: what settles, fails or proceeds does so once."""
    story = play(Story(), moves[:-1])
    story.last = None
    play(story, moves[-1:])
    again = story.last if story.last_kind() not in {"SubmitInput", "TakeOver", ""} else None

    assert again is None or story.decide(again).events == ()


@given(events=st.lists(EVENTS, max_size=12))
def test_evolving_is_total(events: list[Event]) -> None:
    """Whatever comes, in whatever order: nothing is refused, and each event counts once."""
    assert fold(events).seq == len(events)


def test_a_session_is_evolved_and_never_changed() -> None:
    session = Session()

    assert evolve(session, TurnStalled()) == replace(session, seq=1)
    assert session == Session()


def test_a_late_settle_is_noted_and_nothing_else() -> None:
    """P-4."""
    story = Story()
    story.submit()

    after = evolve(story.session, SettleIgnored(id="c1", reason="stale_attempt"))

    assert after == replace(story.session, seq=story.session.seq + 1)


def test_what_an_aborted_attempt_used_counts() -> None:
    """Storage and commits, "Cancel": it may also follow the end of its turn."""
    story = Story()
    story.submit()
    aborted = ModelCallAborted(turn_id="t1", id="m1", attempt=1, partial_text="Hel", usage=usage(3))
    ended = fold([TurnCompleted(outcome="cancelled")], story.session)

    within, late = evolve(story.session, aborted), evolve(ended, aborted)

    assert within.turn is not None
    assert within.turn.usage == usage(3)
    assert late == replace(ended, seq=ended.seq + 1)


def test_a_late_reply_leaves_a_session_without_a_turn_alone() -> None:
    """T-10."""
    session = fold([ModelCallCompleted(id="m1", attempt=1, usage=usage(1), cost="1")])

    assert session == Session(seq=1)


def test_steps_outside_a_turn_do_nothing() -> None:
    events: list[Event] = [
        StepStarted(step=1, call_id="m1", attempt=1),
        StepEnded(step=1, call_id="m1", attempt=1),
    ]

    assert fold(events) == Session(seq=2)


def test_attempts_and_room_are_kept_call_by_call() -> None:
    """Q-6."""
    story = Story()
    story.submit()
    story.answer("", made("a"), made("b"))
    story.lose("a")
    one, other = story.session.decisions

    story.proceed(2)

    again, untouched = story.session.decisions
    assert (again.attempt, again.status, again.first_ms) == (2, "live", one.first_ms)
    assert untouched == other
