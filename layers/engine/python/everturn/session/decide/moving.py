"""What every command ends with: calls start, questions are put, the model is asked again."""

from __future__ import annotations

from everturn.session.commands import Deliveries
from everturn.session.decide.deliveries import dispatch_ready
from everturn.session.decide.questions import promote
from everturn.session.decide.requests import start_calls
from everturn.session.decide.tool_result import write_result
from everturn.session.journal import Journal


def move_on(journal: Journal, policy: Deliveries | None) -> None:
    """Start what may start. Without a policy nothing is delivered: a driver's command does that.

    Source: storage-and-commits, "Who does what first".
    """
    if journal.session.decides == "worker":
        start_calls(journal)
        if policy is not None:
            promote(journal, policy)
        return
    if policy is not None:
        dispatch_ready(journal, policy)
    write_result(journal)
