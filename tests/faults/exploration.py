"""Which deaths, stalls and repetitions a scenario is put through, and what was found.

It must not know what is checked. All of it is chosen by counting: two runs are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from everturn.errors import EverturnError
from faults.checks import violations
from faults.cluster import Cluster, NeverQuiet, Twice
from faults.process import Fate, Moment
from faults.scenario import Scenario

SAID: Final = "said"
"""The property of a test that is shown at the end of the run; see tests/conftest.py."""

PUSHES: Final = 4
"""Of so many frames that a process sends in a row, it dies at one."""

SECOND_DEATHS: Final = 4
"""One of so many deaths is followed by another, in the process that takes over."""

STALLS: Final = 4
"""At one of so many places where a process can die, it stalls as well, in another run."""

REPEATED: Final = 8
"""One of so many deaths happens where everything comes twice at once, one where it does later."""

WITHIN: Final = 40
"""The second death is at one of so many points of the process that takes over."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What is not as usual in one run."""

    kill_at: int = 0
    then_at: int = 0
    stall_at: int = 0
    twice: Twice = Twice.NOTHING

    def __str__(self) -> str:
        """Say it in short, to be found again."""
        return (
            f"killed at {self.kill_at} then {self.then_at}, stalled at {self.stall_at}, "
            f"twice: {self.twice}"
        )


@dataclass
class Explored:
    """What came of one scenario."""

    scenario: Scenario
    points: int
    """At which a process could die, in the undisturbed run."""

    runs: int = 0
    roles: set[str] = field(default_factory=set)
    """Of the processes that were struck."""

    found: list[str] = field(default_factory=list)


def explore(scenario: Scenario) -> Explored:
    """Run a scenario undisturbed, then with each disturbance."""
    undisturbed = Cluster(scenario).to_quiescence()
    explored = Explored(scenario, undisturbed.fate.count)
    for each in (Disturbance(), *disturbances(undisturbed.fate.moments)):
        fate = Fate(each.kill_at, each.then_at, each.stall_at)
        broken = _broken(Cluster(scenario, fate, each.twice), undisturbed)
        where = f"{scenario.name}, {each} ({'; '.join(fate.places)})"
        explored.found += [f"{where}: {one}" for one in broken]
        explored.roles |= set(fate.struck_roles())
        explored.runs += 1
    return explored


def said_of(explored: Sequence[Explored]) -> str:
    """Return what came of some scenarios, a line each, what was found, and how much was tried."""
    lines = [f"{one.runs:5} runs, {one.points:4} points: {one.scenario.name}" for one in explored]
    found = [line for one in explored for line in one.found]
    count = f"{sum(one.runs for one in explored)} points, {len(found)} violations"
    return "\n".join([*lines, *found, count])


def disturbances(moments: list[Moment]) -> Iterator[Disturbance]:
    """Yield a death at every moment; at some of them a second one, a stall, or repetitions."""
    yield Disturbance(twice=Twice.AT_ONCE)
    yield Disturbance(twice=Twice.LATER)
    for number, moment in enumerate(_thinned(moments)):
        yield Disturbance(moment.first)
        if number % SECOND_DEATHS == 0:
            yield Disturbance(moment.first, then_at=1 + number * 7 % WITHIN)
        if number % STALLS == 1:
            yield Disturbance(stall_at=moment.last)
        if number % REPEATED == 2:
            yield Disturbance(moment.first, twice=Twice.AT_ONCE)
        if number % REPEATED == 6:
            yield Disturbance(moment.first, twice=Twice.LATER)


def _thinned(moments: list[Moment]) -> Iterator[Moment]:
    """Leave out most of the frames that go out one after another: they are all alike."""
    pushes = 0
    for moment in moments:
        pushes = pushes + 1 if moment.place.endswith(" push") else 0
        if pushes == 0 or pushes % PUSHES == 1:
            yield moment


def _broken(run: Cluster, undisturbed: Cluster) -> list[str]:
    try:
        return violations(run.to_quiescence(), undisturbed)
    except NeverQuiet as error:
        return [f"it never ends: {error}"]
    except EverturnError as error:
        return [f"what is stored cannot be read: {error!r}"]
