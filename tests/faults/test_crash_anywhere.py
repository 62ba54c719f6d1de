"""Architecture, invariants 4 and 5: whoever dies, whatever comes twice, a session ends the same.

The last line that is printed counts the runs: each is one scenario, disturbed in one way.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from everturn.commands.recover import GIVEN_UP
from faults.cluster import Cluster
from faults.exploration import SAID, explore, said_of
from faults.process import Fate
from faults.scenario import Scenario
from faults.scenarios import SCENARIOS

ROLES = {"authorizer", "driver", "fanout", "http_api", "reader", "recovery", "websocket"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_whoever_dies_and_whatever_comes_twice_a_session_ends_the_same(
    record_property: Callable[[str, object], None],
) -> None:
    """Conformance 39: N-1, N-2."""
    explored = [explore(scenario) for scenario in SCENARIOS]

    found = [one for each in explored for one in each.found]
    record_property(SAID, said_of(explored))
    assert set().union(*(each.roles for each in explored)) == ROLES
    assert min(each.runs for each in explored) > 30
    assert found == []


def _named(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == name)


def test_one_run_is_like_the_other() -> None:
    scenario = _named("three tools at once")

    first, second = (Cluster(scenario, Fate(kill_at=150)).to_quiescence() for _ in range(2))

    assert first.fate.places == second.fate.places != []
    assert first.fate.moments == second.fate.moments
    assert (first.clock.now, first.world.log()) == (second.clock.now, second.world.log())


def test_an_undisturbed_hand_over_starts_a_write_once_and_hears_its_result() -> None:
    run = Cluster(_named("a tool handed over")).to_quiescence()

    texts = [("assistant", None), ("tool", "send ran"), ("assistant", "sent it")]
    assert run.world.texts()[1:] == texts
    assert [count for _, count in run.workers.started.items()] == [1]


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("a model call that fails for good, until somebody resumes", ["llm_failed"] * 2),
        ("a reply that is cut off, until somebody resumes", ["llm_truncated"]),
    ],
)
def test_an_undisturbed_pause_lasts_until_its_owner_resumes(name: str, reasons: list[str]) -> None:
    run = Cluster(_named(name)).to_quiescence()

    events = [event for commit in run.world.log() for event in commit.events]
    raised = [event for event in events if event.type == "session.interrupted"]
    assert [event.reason for event in raised] == reasons
    assert run.owner.said == [(event.interrupt_id, 202) for event in raised]
    assert run.woken_by_sweep == 0


def test_an_undisturbed_poller_is_shown_the_whole_answer_piece_by_piece() -> None:
    run = Cluster(_named("deltas, and a reader that comes back with its cursor")).to_quiescence()

    follower = run.pollers[0].follower
    assert [*follower.said.values()] == [run.world.texts()[-1][1]]
    assert follower.n > 1


def test_a_message_that_kills_five_drivers_fails_its_turn_readably() -> None:
    run = Cluster(_named("a message that kills five drivers")).to_quiescence()

    commit = run.world.log()[-1]
    ends = [event for event in commit.events if event.type == "turn.completed"]
    assert len(run.fate.places) == 5
    assert commit.by == "recovery"
    assert [end.error and end.error.message for end in ends] == [GIVEN_UP]


def test_an_undisturbed_conversation_that_is_begun_anew_forgets_the_old_one() -> None:
    run = Cluster(_named("a conversation that is begun anew, and goes on there")).to_quiescence()

    texts = [text for role, text in run.world.texts() if role == "assistant" and text]
    assert texts == ["one", "two of 3", "three of 5"]
    assert run.world.head().session.branches == 1
