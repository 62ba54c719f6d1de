"""What holds at a place of the message tree, from a whole log: what the store's index would say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from everturn.session.events.messages import AgentUpdated, MessageNew, StateUpdated
from everturn.session.events.stored import Event
from everturn.session.facts import Destination, PathMessage, Pinned, Place, Route
from everturn.session.state import Session
from everturn.session.tree import begun, branches_of, path_to, stretches_to, version_on
from everturn.session.window import BYTES_PER_TOKEN, UNKNOWN_WINDOW_TOKENS, Shown, window_of

Numbered = Sequence[tuple[int, Event]]


def destination_at(
    session: Session, events: Numbered, place: Place | None, agent: Pinned, route: Route
) -> Destination:
    """Return what holds at `place`; `agent` is the one that holds now."""
    branches = branches_of(events)
    stretches = stretches_to(place, lambda number: begun(session, number, branches))
    path = path_to(events, place.id if place else None)
    config = version_on(events, AgentUpdated, stretches)
    state = version_on(events, StateUpdated, stretches)
    if config:
        private = config[1].private
        agent = replace(
            agent, config=config[1].agent, sha256=private.sha256, layered=private.layered
        )
    window = window_of(_shown(events, path), route.context_window, is_whole=_is_whole(path, route))
    return Destination(
        place,
        stretches,
        tuple(node for node in path if node.seq >= window.from_seq),
        window,
        agent,
        route,
        config[0] if config else 0,
        state[0] if state else 0,
    )


def _shown(events: Numbered, path: Sequence[PathMessage]) -> list[Shown]:
    by_seq = {seq: event for seq, event in events if isinstance(event, MessageNew)}
    shown: list[Shown] = []
    before = None
    for node in path:
        event = by_seq[node.seq]
        is_users = event.private.source.kind == "user"
        shown.append(Shown(node.seq, node.size_bytes, is_users and event.turn_id != before))
        before = event.turn_id
    return shown


def _is_whole(path: Sequence[PathMessage], route: Route) -> bool:
    tokens = route.context_window or UNKNOWN_WINDOW_TOKENS
    return sum(node.size_bytes for node in path) <= tokens * BYTES_PER_TOKEN
