"""Looks up what holds at a place of the message tree that the head may go to; decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from everturn.commands.reading import SessionReader, to_path
from everturn.errors import DefectError
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey
from everturn.session.events.messages import AgentUpdated, MessageNew
from everturn.session.events.tree import Stretch
from everturn.session.facts import Destination, Facts, PathMessage, Place, Route
from everturn.session.tree import NeedsBranches, NeedsDestination, begun, stretches_to
from everturn.session.window import BYTES_PER_TOKEN, UNKNOWN_WINDOW_TOKENS, Shown, window_of

Result = TypeVar("Result")


class Destinations:
    """What a decision about other places of one session rests on, read as it is asked for."""

    def __init__(self, store: SessionStore, reader: SessionReader) -> None:
        self._store = store
        self._reader = reader

    def with_what_is_needed(
        self, key: SessionKey, head: Head | None, facts: Facts, decide: Callable[[Facts], Result]
    ) -> Result:
        """Return what `decide` returns, once `facts` have all that it asks for."""
        while True:
            try:
                return decide(facts)
            except NeedsBranches as need:
                found = self._reader.begun(key, need.numbers)
                missing = need.numbers - found.keys()
                if head is None or missing:
                    raise DefectError(f"{key.session} has no branches {sorted(missing)}") from None
                facts = replace(facts, branches={**facts.branches, **found})
            except NeedsDestination as need:
                if head is None:
                    raise DefectError(f"{key.session} has no place to go to") from None
                place_id = need.place.id if need.place else ""
                destination = self.at(key, head, facts, need.place)
                facts = replace(facts, destinations={**facts.destinations, place_id: destination})

    def at(self, key: SessionKey, head: Head, facts: Facts, place: Place | None) -> Destination:
        """Return what holds at a message, or before every root.

        One query for each stretch of the path that the window reaches, and those for the versions
        of config and state. Raises `NeedsBranches`.
        """
        session = head.session
        stretches = stretches_to(place, lambda branch: begun(session, branch, facts.branches))
        agent_seq = self._store.version(key, "agent", stretches) or self._first_agent(key)
        agent, route, routes = facts.agent, facts.route, facts.routes
        if agent_seq != session.agent_seq:
            version = self._reader.agent_version(key, agent_seq)
            private = version.private
            agent = replace(
                agent, config=version.agent, sha256=private.sha256, layered=private.layered
            )
            route = self._reader.route(key.tenant, agent.config)
            routes = self._reader.with_routes(facts, key.tenant, agent.config).routes
        path, shown, is_whole = self._path(key, stretches, route)
        window = window_of(shown, route.context_window, is_whole=is_whole)
        return Destination(
            place,
            stretches,
            tuple(node for node in path if node.seq >= window.from_seq),
            window,
            agent,
            route,
            agent_seq,
            self._store.version(key, "state", stretches) or 0,
            routes,
        )

    def _first_agent(self, key: SessionKey) -> int:
        for commit in self._store.log(key, 1, 1):
            for seq, event in commit.numbered():
                if isinstance(event, AgentUpdated):
                    return seq
        return 0

    def _path(
        self, key: SessionKey, stretches: tuple[Stretch, ...], route: Route
    ) -> tuple[list[PathMessage], list[Shown], bool]:
        """Return the end of a path that fills the window, and whether that is all of it."""
        capacity = (route.context_window or UNKNOWN_WINDOW_TOKENS) * BYTES_PER_TOKEN
        found: list[tuple[int, MessageNew]] = []
        size_bytes, is_whole = 0, True
        for seq, event in self._reader.backwards(key, stretches):
            if size_bytes > capacity:
                is_whole = False
                break
            found.append((seq, event))
            size_bytes += event.private.size_bytes
        found.reverse()
        return [to_path(seq, event) for seq, event in found], [*_shown(found)], is_whole


def _shown(path: Iterable[tuple[int, MessageNew]]) -> Iterable[Shown]:
    """Yield what the window needs to know; a turn begins with the first message of its user."""
    turn_id: str | None = None
    for seq, event in path:
        is_users = event.private.source.kind == "user"
        yield Shown(seq, event.private.size_bytes, is_users and event.turn_id != turn_id)
        turn_id = event.turn_id
