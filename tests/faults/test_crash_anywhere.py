"""Architecture, invariant 4: killed before or after any request, a session ends the same."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

import pytest

from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.evolve import fold
from faults.dying import Fate, Run, Scenario

NOT_REPEATABLE = "send"
MAX_POINTS = 500

PLAIN = Scenario("a plain turn", "[[say:all is well]]")
RETRIED = Scenario(
    "one tool, retried, and a model that fails once",
    "[[call:look {}]][[turn]][[flaky:1 overloaded]][[say:looked at it]]",
    failing=frozenset({"look"}),
)
PARALLEL = Scenario(
    "two tools at once", "[[call:look {}]][[call:send {}]][[turn]][[say:both done]]"
)
HANDED_OVER = Scenario(
    "a tool handed over", "[[call:send {}]][[turn]][[say:sent it]]", remaining_ms=250_000
)


def violations(run: Run, undisturbed: Run) -> list[str]:
    """Say what of the invariant does not hold after `run`."""
    head, kinds = run.world.head(), Counter(run.world.kinds())
    events = [event for commit in run.world.log() for event in commit.events]
    ids = [event.id for event in events if event.type == "message.new"]
    found = []
    if told(run) != told(undisturbed):
        found.append(f"transcript {told(run)}")
    if len(ids) != len(set(ids)):
        found.append("a message twice")
    if run.workers.started[NOT_REPEATABLE] > 1:
        found.append("a write was started twice")
    if kinds["turn.completed"] != 1 or head.session.last_outcome != "done":
        found.append(f"turn ended {kinds['turn.completed']} times: {head.session.last_outcome}")
    if head.session.turn is not None or head.session.calls or head.session.decisions:
        found.append("something is still open")
    if fold(events) != head.session:
        found.append("the log does not fold to the head")
    if run.pushed_seqs() != set(range(1, head.session.seq + 1)):
        missing = set(range(1, head.session.seq + 1)) - run.pushed_seqs()
        found.append(f"events never pushed: {sorted(missing)}")
    return found


def told(run: Run) -> list[tuple[str, Any]]:
    """Return the transcript, results of one batch in the order of their texts.

    The result of a write whose end nobody saw counts as its result, where a driver was killed.
    """
    expected = f"{NOT_REPEATABLE} ran"
    texts = [
        (role, expected if run.was_killed and content == OUTCOME_UNKNOWN else content)
        for role, content in run.world.texts()
    ]
    batches = groupby(texts, key=lambda text: text[0] == "tool")
    return [one for is_tool, batch in batches for one in (sorted(batch) if is_tool else batch)]


def killed_at_every_point(scenario: Scenario) -> tuple[int, list[str]]:
    """Run `scenario` once for each point; return how many there are, and what was broken."""
    undisturbed = Run(scenario, Fate(0)).to_quiescence()
    found = [f"{scenario.name}, undisturbed: {one}" for one in violations(undisturbed, undisturbed)]
    for kill_at in range(1, MAX_POINTS):
        run = Run(scenario, Fate(kill_at)).to_quiescence()
        if not run.was_killed:
            return kill_at - 1, found
        broken = violations(run, undisturbed)
        found += [f"{scenario.name}, {kill_at}, {run.fate.where}: {one}" for one in broken]
    return MAX_POINTS, [*found, f"{scenario.name}: never quiescent"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_driver_killed_anywhere_leaves_the_same_session(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = [killed_at_every_point(each) for each in (PLAIN, RETRIED, PARALLEL, HANDED_OVER)]

    points = [count for count, _ in results]
    found = [one for _, broken in results for one in broken]
    with capsys.disabled():
        print(f"\n{sum(points)} points, {len(found)} violations")

    assert min(points) > 20
    assert found == []


def test_an_undisturbed_hand_over_starts_a_write_once_and_hears_its_result() -> None:
    run = Run(HANDED_OVER, Fate(0)).to_quiescence()

    assert run.world.texts()[1:] == [
        ("assistant", None),
        ("tool", "send ran"),
        ("assistant", "sent it"),
    ]
    assert run.workers.started == {"send": 1}
