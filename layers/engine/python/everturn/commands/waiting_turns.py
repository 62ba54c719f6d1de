"""What turns that wait in an inbox begin with, as a log at hand has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.ports.sessions import Logged
from everturn.session.events.mail import InboxEnqueued, InboxUpdated
from everturn.session.events.runs import RunRequested
from everturn.session.state import Session


def waiting_in(logged: tuple[Logged, ...]) -> dict[str, Mapping[str, Any]]:
    """Return the messages that waited, by their items' ids; of an edited one what it became."""
    return {
        event.item_id: event.message
        for _, event in [one for commit in logged for one in commit.numbered()]
        if isinstance(event, InboxEnqueued | InboxUpdated)
    }


def orders_in(logged: tuple[Logged, ...], session: Session) -> dict[str, RunRequested]:
    """Return what turns that wait were asked for with, by their ids."""
    waiting = {one.turn_id for one in session.inbox}
    return {
        event.turn_id: event
        for _, event in [one for commit in logged for one in commit.numbered()]
        if isinstance(event, RunRequested) and event.turn_id in waiting
    }
