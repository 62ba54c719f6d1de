"""Goes to another path of the tree: what is left behind is given up, who waited there comes back.

It must not decide where to go. Source: decision-protocol V-1, T-13.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from everturn.session.decide.questions import FINISHED, drop_all_about, turn_of
from everturn.session.decide.turn_end import end_step, void_call
from everturn.session.events.children import SubAgentRequested
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.sessions import TurnCompleted, TurnParked, TurnUnparked
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.facts import Place
from everturn.session.journal import Journal
from everturn.session.state import Turn, is_on
from everturn.session.tree import Stretches

LEFT: Final = "branch_left"
"""Why calls and questions of another branch are given up. Source: V-1."""


def go_to(journal: Journal, base: Place | None, news: Iterable[Any]) -> Stretches:
    """Have the head stand at `base`, or have the first of `news` be written under it.

    Returns the path to it, for `leave_branch` to come.
    """
    destination = journal.destination(base)
    if base is None or any(True for _ in news):
        journal.begin_branch(destination)
    else:
        journal.move_head(destination, base)
    return destination.stretches


def leave_branch(journal: Journal, path: Stretches) -> None:
    """Give up what hangs on messages that are not on the path any more. Source: V-1, D-13."""
    for call in journal.session.calls:
        if call.depth and not is_on(path, call.branch, call.depth):
            drop_all_about(journal, call.id, LEFT)
            void_call(journal, call, LEFT)
    for decision in journal.session.decisions:
        is_report = decision.status == "queued" and decision.trigger in (*FINISHED, "llm.finished")
        if is_report and not _is_on(journal, decision.call_id, path):
            turn_id = turn_of(journal, decision)
            journal.add(DecisionDropped(turn_id=turn_id, id=decision.id, reason=LEFT))


def _is_on(journal: Journal, call_id: str, path: Stretches) -> bool:
    asks = ToolCallRequested | ModelCallRequested | SubAgentRequested
    anchor = next(
        event.anchor
        for _, event in journal.all_events()
        if isinstance(event, asks) and event.id == call_id
    )
    return anchor is None or is_on(path, anchor.branch, anchor.depth)


def park(journal: Journal, turn: Turn) -> None:
    """Put the open turn behind the pause that it waits for. Source: T-3.3."""
    end_step(journal)
    journal.add(TurnParked(turn_id=turn.id))


def unpark(journal: Journal) -> None:
    """Open a turn again that waits for a pause of this path, where none is open. Source: T-13."""
    session = journal.session
    waiting = {one.turn_id for one in session.pauses}
    found = [turn for turn in session.parked if turn.id in waiting]
    if session.turn is None and found:
        journal.add(TurnUnparked(turn_id=found[-1].id))


def end_parked(journal: Journal, turn: Turn, outcome: Any) -> None:
    """End a turn that is parked. Source: T-7."""
    journal.add(
        TurnCompleted(
            turn_id=turn.id,
            outcome=outcome,
            cost=turn.cost,
            sub_agent_cost=turn.sub_agent_cost,
            usage=turn.usage,
        )
    )
