"""Architecture, invariants 4 and 5, for inboxes, runs and guards; what these come to.

The first test is that of `test_crash_anywhere`, for other scenarios.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from everturn.commands.start_run import Started
from faults.checks import violations
from faults.cluster import Cluster
from faults.exploration import SAID, explore, said_of
from faults.process import Fate
from faults.run_clients import Starts
from faults.run_functions import RunFunctions
from faults.scenario import Scenario
from faults.scenarios_of_runs import RUNS_AND_GUARDS

RUNS = "runs with settings of their own, one with a tool of the client's"


def undisturbed(name: str) -> Cluster:
    """Return the run of a scenario in which nobody dies."""
    return Cluster(_named(name)).to_quiescence()


def _named(name: str) -> Scenario:
    return next(scenario for scenario in RUNS_AND_GUARDS if scenario.name == name)


def events(run: Cluster, kind: str) -> list[Any]:
    """Return the events of one type."""
    log = run.world.log(run.key.session)
    return [event for commit in log for event in commit.events if event.type == kind]


def said(run: Cluster) -> list[Any]:
    """Return what the model said, in order."""
    texts = run.world.texts(run.key.session)
    return [text for role, text in texts if role == "assistant" and text]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_whoever_dies_and_whatever_comes_twice_runs_end_the_same(
    record_property: Callable[[str, object], None],
) -> None:
    explored = [explore(scenario) for scenario in RUNS_AND_GUARDS]

    record_property(SAID, said_of(explored))
    assert min(each.runs for each in explored) > 30
    assert [one for each in explored for one in each.found] == []


@pytest.mark.parametrize(
    ("name", "wakes"),
    [
        ("turns that wait in the inbox, one of them quietly", [False, True]),
        ("turns that wait in the inbox of a worker that decides", [True, True]),
    ],
)
def test_all_that_is_sent_waits_while_the_first_turn_is_open(name: str, wakes: list[bool]) -> None:
    run = undisturbed(name)

    waited, (first, *_) = events(run, "inbox.enqueued"), events(run, "turn.completed")
    kinds = [event.type for commit in run.world.log() for event in commit.events]
    assert [(one.turn_id, one.wakeup) for one in waited] == [*zip(("t2", "t3"), wakes, strict=True)]
    assert kinds.index("inbox.enqueued") < kinds.index("turn.completed")
    assert (first.turn_id, len(said(run))) == ("t1", 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "turns that wait in the inbox, one of them quietly",
        "turns that wait in the inbox of a worker that decides",
        RUNS,
    ],
)
def test_wherever_a_function_stalls_that_takes_what_waits_it_waits_once(name: str) -> None:
    """Invariant 5: the client has sent it again meanwhile, and its turn is over."""
    as_usual = undisturbed(name)
    moments = [one for one in as_usual.fate.moments if one.place.startswith("http_api")]
    places = {at for one in moments for at in range(one.first, one.last + 1)}

    for at in sorted(places):
        run = Cluster(_named(name), Fate(stall_at=at)).to_quiescence()
        assert (at, violations(run, as_usual)) == (at, [])
    assert len(places) > 30


def test_each_run_goes_by_its_own_settings_and_its_client_runs_its_tool_once() -> None:
    run = undisturbed(RUNS)

    called = [kind for _, kind, _ in run.run_readers[0].frames if not kind.endswith("_delta")]
    assert said(run) == ["one: three feet. For t1.", "two. For t2.", "three. For t3."]
    assert called == [
        *("started", "assistant_message", "local_tool_call", "local_tool_result_in"),
        *("assistant_message", "result"),
    ]
    assert [len(one.frames) > 2 for one in run.run_readers] == [True] * 3
    assert len(events(run, "inbox.enqueued")) == 2


def test_pieces_of_an_answer_reach_the_reader_of_a_run() -> None:
    run = undisturbed(RUNS)

    frames = run.run_readers[2].frames
    pieces = [data["text"] for _, kind, data in frames if kind == "assistant_delta"]
    assert "".join(pieces) == "three. For t3."


def test_a_reader_that_is_told_a_call_twice_or_no_end_is_found_out() -> None:
    run, as_usual = undisturbed(RUNS), undisturbed(RUNS)
    frames = run.run_readers[0].frames
    call = next(frame for frame in frames if frame[1] == "local_tool_call")
    frames.insert(frames.index(call), call)
    run.run_readers[1].frames.pop()

    found = "\n".join(violations(run, as_usual))

    assert violations(as_usual, as_usual) == []
    assert "the frames of run 0 came as" in found
    assert "a client was asked to run" in found
    assert "run 1 was told to end as []" in found


class Unlisted(RunFunctions):
    """No run is found by its name."""

    def started(self, name: str) -> Started | None:
        del name
        return None


def test_a_client_that_starts_again_without_a_look_starts_another_run() -> None:
    as_usual = undisturbed(RUNS)
    moments = as_usual.fate.moments
    at = next(one.first for one in moments if one.place == "http_api: after store.append")
    looks, rushes = (Cluster(_named(RUNS), Fate(kill_at=at)) for _ in range(2))
    assert isinstance(rushes.inputs, Starts)
    rushes.inputs.doors = Unlisted(rushes.functions)

    assert violations(looks.to_quiescence(), as_usual) == []
    assert "were made as well" in "\n".join(violations(rushes.to_quiescence(), as_usual))


def test_a_loop_is_nudged_and_then_cut_off() -> None:
    run = undisturbed("a loop that is nudged, and then cut off")

    cut = [one.hard_cutoff for one in events(run, "guard.loop_detected")]
    assert (cut, said(run), run.workers.asked["look"]) == ([False, True], ["I give up"], 1)


def test_a_write_over_its_budget_is_not_run() -> None:
    run = undisturbed("a write over its budget, and one beside it")

    (over,) = events(run, "guard.tool_budget_exceeded")
    assert (over.tool, over.call_index) == ("send", 2)
    assert run.workers.asked == {"send": 1, "put": 1}


def test_an_answer_that_breaks_its_schema_is_asked_for_again() -> None:
    run = undisturbed("an answer that breaks its schema, and is asked for again")

    assert [one.problem for one in events(run, "output.rejected")] == ["/city: required"]
    assert said(run)[-1] == '{"city":"Rome"}'


def test_a_model_that_fails_in_its_midst_is_followed_by_another_one() -> None:
    run = undisturbed("a model that fails in its midst, and another one after it")

    fell = [(one.from_model, one.to_model) for one in events(run, "model.fell_back")]
    assert set(fell) == {("broken:m", "demo:demo")}
    assert said(run) == ["one two three from demo", "and on"]
