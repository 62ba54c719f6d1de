"""Which frames a commit means to one subscription; nothing is sent here."""

from __future__ import annotations

from everturn.ports.sessions import Logged
from everturn.ports.streams import Watcher
from everturn.push.envelopes import Cursor, envelopes
from everturn.push.frames import EventPush


def event_pushes(
    session_id: str, commit: Logged, watcher: Watcher, cursor: Cursor
) -> list[EventPush]:
    """Return the frames of a commit for one subscription, in order; of its turn, if it names one.

    `prev_seq` is the event before in this subscription's stream: a client that does not have it has
    a gap. A commit is pushed whole, so the chain goes from its predecessor's last event.
    """
    pushes: list[EventPush] = []
    prev_seq = commit.first_seq - 1
    for envelope in envelopes(session_id, commit):
        if watcher.turn_id and envelope.get("turn_id") != watcher.turn_id:
            continue
        seq = envelope["seq"]
        pushes.append(
            EventPush(
                subscription=watcher.subscription,
                session_id=session_id,
                seq=seq,
                prev_seq=prev_seq,
                cursor=Cursor(seq, cursor.dispatch_seq, cursor.n).text(),
                envelope=envelope,
            )
        )
        prev_seq = seq
    return pushes
