"""What every command ends with: calls start, questions are put, the model is asked again."""

from __future__ import annotations

from everturn.session.commands import Deliveries
from everturn.session.decide.budgets import lift_pause
from everturn.session.decide.children import start_children
from everturn.session.decide.deliveries import dispatch_ready
from everturn.session.decide.model_call import dispatch_model_call, open_model_call
from everturn.session.decide.questions import promote
from everturn.session.decide.requests import start_calls
from everturn.session.decide.tool_result import write_result
from everturn.session.decide.turn_end import complete_turn, end_step
from everturn.session.journal import Journal
from everturn.session.state import CallStatus


def move_on(journal: Journal, policy: Deliveries | None) -> None:
    """Start what may start. Without a policy nothing is delivered: a driver's command does that.

    Source: storage-and-commits, "Who does what first".
    """
    if lift_pause(journal) and journal.session.decides == "engine":
        _go_on_unpaused(journal)
    start_children(journal)
    if journal.session.decides == "worker":
        start_calls(journal)
        if policy is not None:
            promote(journal, policy)
        return
    if policy is not None:
        dispatch_ready(journal, policy)
    write_result(journal)
    if policy is not None:
        promote(journal, policy)


def _go_on_unpaused(journal: Journal) -> None:
    """Start the model call that a budget held back; one that was given up meanwhile is made anew.

    One that waits for its next attempt starts when that is due.
    """
    held = [call for call in journal.session.calls if call.kind == "llm_call"]
    if held and held[0].status is CallStatus.QUEUED:
        dispatch_model_call(journal, held[0])
    elif not journal.session.calls and not journal.session.is_paused:
        go_on(journal)


def go_on(journal: Journal) -> None:
    """Do what the engine proposes where it decides and nothing pauses the path. Source: I-14."""
    if journal.session.calls:
        move_on(journal, None)
        return
    last = journal.path[-1].message if journal.path else {}
    if last.get("role") == "assistant" and not last.get("tool_calls"):
        complete_turn(journal, "done", data=last.get("content"))
        return
    end_step(journal)
    open_model_call(journal)
