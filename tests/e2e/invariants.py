"""What holds for every session at every moment, read from the store behind a runtime."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from e2e.waiting import until
from transcripts.ledger import LEDGER


def check_session(tenant: str, session_id: str, *, idle: bool = True) -> None:
    """Assert that a session's log, head and transcript agree; `idle` waits for its turn to end."""
    read = _Reading(tenant, session_id)
    if idle:
        until(read.is_idle)
    head, commits = read.whole()
    events = [event for commit in commits for event in commit.events]

    assert head.session == read.fold(events)
    assert [seq for commit in commits for seq, _ in commit.numbered()] == [
        *range(1, head.session.seq + 1)
    ]
    for request in read.requests(commits):
        LEDGER.note(request.body, request.failed)
    if idle:
        assert broken_transcript(read.active_path(head, commits)) == []


def broken_transcript(messages: Sequence[dict[str, Any]]) -> list[str]:
    """Return what is wrong with a transcript.

    That is a call without its one answer, an answer without its call, an id that stands twice.
    """
    problems = [f"id {one} twice" for one in _repeated([message["id"] for message in messages])]
    asked = [call["id"] for message in messages for call in message.get("tool_calls") or []]
    problems += [f"call {one} twice" for one in _repeated(asked)]
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in open_calls:
                open_calls.remove(message["tool_call_id"])
            else:
                problems.append(f"an answer to {message['tool_call_id']}, which is not open")
            continue
        problems += [f"no answer to {one}" for one in open_calls]
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
    return problems + [f"no answer to {one}" for one in open_calls]


def _repeated(ids: Sequence[str]) -> list[str]:
    return sorted({one for one in ids if ids.count(one) > 1})


class _Reading:
    """Reads with the engine as the runtime imported it: each start imports it afresh."""

    def __init__(self, tenant: str, session_id: str) -> None:
        ports = importlib.import_module("everturn.ports.sessions")
        self._store = importlib.import_module("everturn.wiring.adapters").store()
        self._tree = importlib.import_module("everturn.session.tree")
        self._request = importlib.import_module("everturn.session.request")
        self.fold = importlib.import_module("everturn.session.evolve").fold
        self._key = ports.SessionKey(tenant, session_id)

    def is_idle(self) -> bool:
        head = self._store.head(self._key)
        return head is not None and head.session.turn is None

    def whole(self) -> tuple[Any, Any]:
        """Return the head and all commits up to it, bodies in their places."""
        head = self._store.head(self._key)
        assert head is not None, f"there is no session {self._key}"
        logged = self._store.log(self._key, 1, head.session.seq)
        return head, self._store.materialise(self._key, logged)

    def requests(self, commits: Any) -> Iterator[Any]:
        """Yield the request of each model call as it is built again from the log.

        The engine raises where that is not the one that was sent.
        """
        numbered = [pair for commit in commits for pair in commit.numbered()]
        at = dict(numbered)
        for _, event in numbered:
            if event.type == "llm.call.requested":
                boundary, header = event.private.boundary, at[event.private.header_seq].header
                path = boundary and self._tree.path_within(
                    numbered, boundary.head_id, boundary.from_seq
                )
                yield self._request.rebuild(event, header, path or ())

    def active_path(self, head: Any, commits: Any) -> list[dict[str, Any]]:
        """Return the messages that lead to the head."""
        numbered = [pair for commit in commits for pair in commit.numbered()]
        node_id = head.session.head.id if head.session.head else None
        return [dict(node.message) for node in self._tree.path_to(numbered, node_id)]
