"""What is said of a run while it goes on, results and stops, and what is thought of it."""

from __future__ import annotations

import pytest

from everturn.commands.find_run import find_run
from everturn.commands.run_answers import ToolResult
from everturn.commands.start_run import BASE_AGENT, Started
from everturn.ports.callers import Caller
from everturn.ports.runs import Feedback
from everturn.ports.sessions import SessionKey
from everturn.rejections import RunTerminal, UnknownRun, UnknownToolUse
from unit.commands.asking_for_runs import ANN, BOB, CALLS_LOOK, LOCAL, RIVAL, Runs
from unit.commands.test_submit_input import LosingStore
from unit.drive.doubles import FrozenClock, answered
from unit.drive.world import MACHINE, TENANT, World

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def asking(caller: Caller = MACHINE, session: str | None = None) -> tuple[Runs, Started, str]:
    """Return a run that waits for a local tool, and the id of its call."""
    runs = Runs()
    started = runs.start(CALLS_LOOK, caller=caller, config=LOCAL, session=session)
    runs.world.advance()
    return runs, started, call_of(runs, started)


def call_of(runs: Runs, started: Started) -> str:
    """Return the id of the call that a run waits for."""
    (call,) = runs.world.head(started.session_id).session.calls
    return call.id


def said(runs: Runs, started: Started) -> object:
    """Return what the last tool message says."""
    texts = runs.world.texts(started.session_id)
    return [content for role, content in texts if role == "tool"][-1]


# ---- results of local tools


@pytest.mark.parametrize("text", ["A cat.", ""])
def test_a_result_ends_the_call_and_the_run_goes_on(text: str) -> None:
    runs, started, call = asking()

    runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, text))
    runs.world.advance()

    assert said(runs, started) == text
    assert runs.texts(started.session_id)[-1] == f"Seen {text}"
    assert runs.outcome(started) == "done"


def test_an_error_is_what_the_model_reads() -> None:
    runs, started, call = asking()

    runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, error="It is dark."))

    assert said(runs, started) == "It is dark."
    assert runs.world.kinds(started.session_id).count("tool.call.errored") == 1


def test_files_are_shown_with_the_text() -> None:
    runs, started, call = asking()

    given = ToolResult(call, "A cat.", files=(IMAGE,))
    runs.answers.tool_result(MACHINE, started.run_id, given)

    assert said(runs, started) == [{"type": "text", "text": "A cat."}, IMAGE]


def test_the_first_result_counts_and_a_second_one_is_of_no_call() -> None:
    runs, started, call = asking()
    runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, "first"))

    with pytest.raises(UnknownToolUse):
        runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, "second"))
    with pytest.raises(UnknownToolUse):
        runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, error="no"))

    assert said(runs, started) == "first"


def test_of_two_results_that_race_the_first_that_is_written_counts() -> None:
    store = LosingStore()
    runs = Runs(World(clock=FrozenClock(), store=store))
    started = runs.start(CALLS_LOOK, config=LOCAL)
    runs.world.advance()
    call = call_of(runs, started)
    theirs = ToolResult(call, "theirs")
    store.others = lambda: runs.answers.tool_result(MACHINE, started.run_id, theirs)

    with pytest.raises(UnknownToolUse):
        runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, "mine"))

    assert said(runs, started) == "theirs"


def test_a_call_that_never_was_is_unknown() -> None:
    runs, started, _ = asking()

    with pytest.raises(UnknownToolUse):
        runs.answers.tool_result(MACHINE, started.run_id, ToolResult("c-never", "x"))


def test_a_call_that_the_worker_runs_is_not_the_clients_to_answer() -> None:
    runs = Runs()
    runs.world.agent(BASE_AGENT, decides="engine")
    tools = [{"name": "look", "description": "", "handler": "worker", "effect": "read"}]
    runs.world.decider.answer = lambda _request: answered()
    started = runs.start(CALLS_LOOK, config={**LOCAL, "tools": tools})
    runs.world.advance()

    with pytest.raises(UnknownToolUse):
        runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call_of(runs, started), "x"))


def test_the_call_of_another_run_is_not_this_runs() -> None:
    """Where one of the session's runs waits behind the other."""
    runs, started, call = asking()
    other = runs.start(session=started.session_id)

    with pytest.raises(UnknownToolUse):
        runs.answers.tool_result(MACHINE, other.run_id, ToolResult(call, "x"))

    runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, "mine"))
    assert said(runs, started) == "mine"


def test_a_result_after_the_end_is_dropped_and_says_so() -> None:
    runs, started, call = asking()
    runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, "x"))
    runs.world.advance()

    with pytest.raises(RunTerminal):
        runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, "late"))


def test_a_run_that_ended_before_its_session_says_so_too() -> None:
    runs = Runs()
    session = runs.begin()
    started = runs.start("[[say:Hi]]", session=session)
    runs.world.advance()
    runs.sessions.end(MACHINE, session)

    with pytest.raises(RunTerminal):
        runs.answers.tool_result(MACHINE, started.run_id, ToolResult("c1", "late"))


def test_a_result_after_a_stop_is_ignored() -> None:
    """Whether the run was stopped or its session ended."""
    for stops in ("run", "session"):
        runs = Runs()
        session = runs.begin()
        started = runs.start(CALLS_LOOK, config=LOCAL, session=session)
        runs.world.advance()
        call = call_of(runs, started)
        if stops == "run":
            runs.answers.cancel(MACHINE, started.run_id)
        else:
            runs.sessions.end(MACHINE, session)
        before = runs.world.head(session)

        runs.answers.tool_result(MACHINE, started.run_id, ToolResult(call, "late"))

        assert runs.world.head(session) == before


# ---- whose a run is


@pytest.mark.parametrize("caller", [BOB, RIVAL])
def test_a_run_of_somebody_else_is_not_there(caller: Caller) -> None:
    runs, started, call = asking(ANN)

    with pytest.raises(UnknownRun):
        runs.answers.tool_result(caller, started.run_id, ToolResult(call, "x"))
    with pytest.raises(UnknownRun):
        runs.answers.cancel(caller, started.run_id)
    with pytest.raises(UnknownRun):
        runs.answers.feedback(caller, started.run_id, "UP", None, None)

    runs.answers.tool_result(ANN, started.run_id, ToolResult(call, "mine"))


def test_a_run_that_never_was_and_one_of_a_deleted_session_are_not_there() -> None:
    runs, started, _ = asking()
    key = SessionKey(TENANT, started.session_id)
    created = runs.world.head(started.session_id).created
    place = runs.index.place(TENANT, started.run_id)
    assert place is not None
    runs.world.store.mark_deleted(key, created, "m1", 0)

    for run_id in ("nothing", started.run_id):
        with pytest.raises(UnknownRun):
            runs.answers.cancel(MACHINE, run_id)

    runs.world.store.erase(key, created, lambda: False)
    runs.world.store.release_id(key, created, 0)
    again = runs.world.submit("Hello", session=key.session)
    assert again.session_id == key.session
    with pytest.raises(UnknownRun):
        find_run(runs.world.store, MACHINE, place)


# ---- stops


def test_the_open_run_is_stopped_at_once_and_the_next_one_opens() -> None:
    runs, started, _ = asking()
    second = runs.start("[[say:Two]]", session=started.session_id)

    runs.answers.cancel(MACHINE, started.run_id)
    stopped = runs.outcome(started)
    runs.world.advance()

    assert stopped == "cancelled"
    assert runs.outcome(second) == "done"


def test_a_run_that_waits_is_stopped_and_what_is_open_goes_on() -> None:
    runs, started, call = asking()
    second = runs.start("[[say:Two]]", session=started.session_id)

    runs.answers.cancel(MACHINE, second.run_id)

    assert runs.outcome(second) == "cancelled"
    assert runs.outcome(started) is None
    assert call_of(runs, started) == call
    runs.answers.tool_result(MACHINE, second.run_id, ToolResult(call, "ignored"))


def test_a_stop_after_the_end_and_a_second_stop_change_nothing() -> None:
    for ends in ("done", "cancelled"):
        runs = Runs()
        started = runs.start("[[say:Hi]]")
        if ends == "done":
            runs.world.advance()
        else:
            runs.answers.cancel(MACHINE, started.run_id)
        before = runs.world.head(started.session_id)

        runs.answers.cancel(MACHINE, started.run_id)

        assert runs.world.head(started.session_id) == before
        assert runs.outcome(started) == ends


# ---- feedback


def test_feedback_is_kept_with_the_run_and_given_anew_it_keeps_its_id() -> None:
    runs, started, _ = asking()

    first, is_first = runs.answers.feedback(MACHINE, started.run_id, "UP", "Good.", "Hi")
    runs.world.clock.move(5)
    again, is_first_again = runs.answers.feedback(MACHINE, started.run_id, "DOWN", None, None)

    place = runs.index.place(TENANT, started.run_id)
    assert place is not None
    assert (is_first, is_first_again, again.id, again.verdict) == (True, False, first.id, "DOWN")
    assert runs.index.feedback(TENANT, place) == Feedback(
        first.id, "DOWN", None, None, runs.world.clock.now_ms()
    )
