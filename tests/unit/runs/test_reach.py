"""How far back a reader has to look before it can go on telling a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from everturn.ports.sessions import Logged
from everturn.runs.cursor import reached
from everturn.runs.reach import is_enough
from everturn.session.events.children import SubAgentPrivate, SubAgentRequested
from everturn.session.events.shape import Retry
from unit.runs.logs import (
    RUN,
    begun,
    dispatched,
    done,
    found,
    logged,
    replied,
    started,
    tool,
)

COMMITS = logged(
    [started(), *dispatched("m1", 1)],  # to 3
    [replied("m1", "", "c1"), tool("c1", "client"), begun("c1")],  # to 6
    [found("c1"), *dispatched("m2", 2)],  # to 9
    [replied("m2", "Hi"), done()],  # to 11
)


def shortest(commits: Sequence[Logged], cursor: int) -> int:
    """Return where the shortest part begins that is enough; past the end where none is."""
    return max(
        [at for at in range(len(commits)) if is_enough(RUN, commits[at:], reached(cursor))],
        default=len(commits),
    )


def test_among_the_deltas_of_a_call_its_own_commit_is_enough() -> None:
    assert shortest(COMMITS, 3_001_001) == 0
    assert shortest(COMMITS, 9_001_004) == 2


def test_elsewhere_a_call_that_was_dispatched_before_is_wanted() -> None:
    assert shortest(COMMITS, 3_000_000) == len(COMMITS)  # all there is, and the run's begin
    assert shortest(COMMITS, 6_000_001) == 0
    assert shortest(COMMITS, 9_000_000) == 0
    assert shortest(COMMITS, 11_000_000) == 2


def test_what_ends_needs_what_asked_for_it() -> None:
    commits = logged(
        [started(), tool("c1"), begun("c1")],
        [*dispatched("m1", 1)],
        [found("c1")],
    )

    assert shortest(commits, 5_001_001) == 0


def test_a_sub_agent_needs_the_reply_that_asked_for_it() -> None:
    made: dict[str, Any] = {"turn_id": RUN, "id": "c1", "session_id": "child", "agent_id": "helper"}
    of_reply = SubAgentRequested(**made, retry=Retry(), private=SubAgentPrivate(llm_call_id="m1"))
    of_nobody = SubAgentRequested(**{**made, "id": "c2"}, retry=Retry())
    begin = [
        [started(), *dispatched("m1", 1)],
        [replied("m1", "", "c1"), *dispatched("m2", 2)],
    ]

    assert shortest(logged(*begin, [of_reply]), 6_001_001) == 1
    assert is_enough(RUN, logged(begin[1], [of_reply]), reached(3_001_001))
    assert not is_enough(RUN, logged([*dispatched("m2", 2)], [of_reply]), reached(2_001_001))
    assert is_enough(RUN, logged([*dispatched("m2", 2)], [of_nobody]), reached(2_001_001))


def test_a_reply_needs_its_attempt() -> None:
    commits = logged([*dispatched("m2", 2)], [replied("m1")])

    assert not is_enough(RUN, commits, reached(2_001_001))


def test_calls_of_another_turn_are_no_place_to_begin() -> None:
    theirs = [one.model_copy(update={"turn_id": "other"}) for one in dispatched("m9", 1)]

    assert not is_enough(RUN, logged(theirs, [replied("m1")]), reached(3_000_000))
