"""Which frames a commit means to one subscription; nothing is sent here."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from everturn.ports.sessions import Logged
from everturn.ports.streams import Watcher
from everturn.push.audience import Audience
from everturn.push.envelopes import Cursor, envelopes
from everturn.push.frames import EventPush


def event_pushes(
    session_id: str, commit: Logged, watcher: Watcher, cursor: Cursor
) -> list[EventPush]:
    """Return the frames of a commit for one subscription, in order; those that it is shown.

    `prev_seq` is the event before in this subscription's stream: a client that does not have it has
    a gap. A commit is pushed whole, so the chain goes from its predecessor's last event to its own:
    where that is not shown, a frame says so.
    """
    audience = Audience(watcher.frontend, watcher.turn_id)
    shown: dict[int, dict[str, Any] | None] = {
        envelope["seq"]: envelope
        for envelope in envelopes(session_id, commit)
        if audience.is_shown(envelope)
    }
    shown.setdefault(commit.last_seq, None)
    return [
        EventPush(
            subscription=watcher.subscription,
            session_id=session_id,
            seq=seq,
            prev_seq=prev_seq,
            cursor=Cursor(seq, cursor.dispatch_seq, cursor.n).text(),
            envelope=shown[seq],
        )
        for prev_seq, seq in pairwise((commit.first_seq - 1, *shown))
    ]
