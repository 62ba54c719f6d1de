"""`InMemorySessionStore`: a session store in a dictionary, for tests of engines and workers.

It must not be kinder than the table: the same commits land, the same ones are refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from everturn.errors import IdsTaken, StoreRefused, VersionConflict
from everturn.ports.lists import Deletion, Incarnation, ListPage
from everturn.ports.sessions import (
    Head,
    Logged,
    NewCommit,
    NodePlace,
    Owner,
    Quarantine,
    SessionKey,
    TurnRecord,
    VersionKind,
)
from everturn.ports.streams import Delta, Watch, Watcher
from everturn.session.events.sessions import TurnStarted
from everturn.session.events.stored import from_json, to_json
from everturn.session.events.tree import Stretch
from everturn.session.refs import BlobPlace
from everturn.session.state import Session
from everturn.store.bodies import materialise
from everturn.store.index import Index, index_of
from everturn.store.memory_deletions import MemoryDeletions
from everturn.store.memory_kept import Kept
from everturn.store.memory_lists import MemoryLists
from everturn.store.plan import head_after
from everturn.store.tombstones import deleting
from everturn.store.tree import nearest


class InMemorySessionStore:
    """`SessionStore`; bodies stay in their events, only references among events are resolved."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[SessionKey, Kept] = {}
        self._lists = MemoryLists(self._lock, self._sessions)
        self._deletions = MemoryDeletions(self._lock, self._sessions)

    def head(self, key: SessionKey) -> Head | None:
        """Return the head."""
        with self._lock:
            return self._of(key).head

    def head_and_turn(self, key: SessionKey, turn_id: str) -> tuple[Head | None, TurnRecord | None]:
        """Return the head and an ended turn."""
        with self._lock:
            kept = self._of(key)
            return kept.head, kept.turns.get(turn_id)

    def head_and_watch(self, key: SessionKey) -> tuple[Head | None, Watch]:
        """Return the head and who reads."""
        with self._lock:
            kept = self._of(key)
            return kept.head, kept.watch

    def nodes(self, key: SessionKey, ids: Sequence[str]) -> dict[str, NodePlace]:
        """Return where messages are."""
        with self._lock:
            nodes = self._of(key).nodes
            return {one: nodes[one] for one in ids if one in nodes}

    def branches(self, key: SessionKey, numbers: Collection[int]) -> dict[int, int]:
        """Return the events that branches begin with."""
        with self._lock:
            branches = self._of(key).branches
            return {one: branches[one] for one in numbers if one in branches}

    def version(
        self, key: SessionKey, kind: VersionKind, stretches: Sequence[Stretch]
    ) -> int | None:
        """Return the version that is nearest to the end of a path."""
        with self._lock:
            versions = self._of(key).versions.items()
            return nearest(((b, d, seq) for (k, b, d), seq in versions if k == kind), stretches)

    def log(self, key: SessionKey, from_seq: int, to_seq: int | None = None) -> tuple[Logged, ...]:
        """Return the commits of a range of events."""
        with self._lock:
            return tuple(
                one
                for one in self._of(key).log
                if one.last_seq >= from_seq and (to_seq is None or one.first_seq <= to_seq)
            )

    def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
        """Return some commits."""
        return self.log(key, after_seq + 1)[:limit]

    def materialise(self, key: SessionKey, logged: Sequence[Logged]) -> tuple[Logged, ...]:
        """Return `logged` with the bodies of earlier events."""
        return materialise(logged, lambda low, high: self.log(key, low, high), _no_blob)

    def append(self, commit: NewCommit) -> Head:
        """Keep a commit."""
        with self._lock:
            kept = self._of(commit.key)
            before = commit.before.session if commit.before else Session()
            if not commit.events or commit.after.seq != before.seq + len(commit.events):
                raise StoreRefused(f"{len(commit.events)} events do not lead to {commit.after.seq}")
            if any(one.commit_id == commit.commit_id for one in kept.log):
                return head_after(commit)
            if kept.tombstone is not None and commit.before is None:
                raise deleting(commit.key)
            _check_version(commit.key, commit.before, kept.head)
            index = index_of(before, commit.events)
            _check_ids(kept, index)
            head = head_after(commit)
            kept.head = head
            kept.log.append(_logged(commit, head))
            opens = any(isinstance(one, TurnStarted) for one in commit.events)
            if commit.after.parent is None and (commit.before is None or opens):
                kept.last_turn_ms = commit.at_ms
            kept.nodes |= {node.id: node for node in index.nodes}
            kept.calls |= {call.id for call in index.calls}
            kept.branches |= {number: one.from_seq for number, one in index.branches}
            kept.versions |= {(v.kind, v.branch, v.depth): v.seq for v in index.versions}
            kept.turns |= {turn.turn_id: turn for turn in index.turns}
            self._sessions[commit.key] = kept
            return head

    def claim(self, key: SessionKey, head: Head, owner: Owner) -> Head:
        """Change the owner."""
        with self._lock:
            kept = self._of(key)
            _check_version(key, head, kept.head)
            kept.head = replace(head, version=head.version + 1, owner=owner)
            return kept.head

    def quarantine(self, key: SessionKey, head: Head | None, why: Quarantine) -> bool:
        """Put a session aside."""
        with self._lock:
            now = self._of(key).head
            if now is None or now.quarantined is not None:
                return False
            if head is not None:
                _check_version(key, head, now)
            self._of(key).head = replace(
                now, version=now.version + 1, due_epoch_s=None, quarantined=why
            )
            return True

    def lift(self, key: SessionKey, due_epoch_s: int | None) -> tuple[str, int] | None:
        """End a quarantine."""
        with self._lock:
            now = self._of(key).head
            if now is None or now.quarantined is None:
                return None
            after = replace(now, version=now.version + 1, due_epoch_s=due_epoch_s, quarantined=None)
            self._of(key).head = after
            return after.created, after.version

    def quarantined(self) -> Iterator[SessionKey]:
        """Yield the sessions that are put aside, the first one first."""
        with self._lock:
            kept = [*self._sessions.items()]
        aside = [(key, one.head.quarantined) for key, one in kept if one.head]
        since = {key: why.at_ms for key, why in aside if why is not None}
        return iter(sorted(since, key=lambda key: since[key]))

    def watch(self, key: SessionKey) -> Watch:
        """Return who reads."""
        with self._lock:
            return self._of(key).watch

    def add_watcher(self, key: SessionKey, watcher: Watcher, created: str = "") -> None:
        """Add a subscription, in the place of one of the same name."""
        with self._lock:
            kept = self._of(key)
            if created < kept.watch.created and created:
                return
            kept.watch = _of_incarnation(kept.watch, created)
            others = [one for one in kept.watch.watchers if _name(one) != _name(watcher)]
            kept.watch = replace(kept.watch, watchers=tuple(sorted([*others, watcher], key=_name)))
            self._sessions[key] = kept

    def remove_watcher(self, key: SessionKey, connection_id: str, subscription: str = "") -> None:
        """Remove a connection's subscription, or all of them."""
        with self._lock:
            kept = self._of(key)
            left = tuple(
                one
                for one in kept.watch.watchers
                if one.connection_id != connection_id
                or (subscription and one.subscription != subscription)
            )
            kept.watch = replace(kept.watch, watchers=left)

    def extend_watchers(
        self, key: SessionKey, connection_id: str, until_epoch_s: int | None
    ) -> None:
        """Move the end of a connection's subscriptions."""
        with self._lock:
            kept = self._of(key)
            own = [one for one in kept.watch.watchers if one.connection_id == connection_id]
            moved = {one: replace(one, until_epoch_s=until_epoch_s) for one in own}
            watchers = tuple(moved.get(one, one) for one in kept.watch.watchers)
            kept.watch = replace(kept.watch, watchers=watchers)

    def reader_until(self, key: SessionKey, until_ms: int, created: str = "") -> None:
        """Note a long-poll reader."""
        with self._lock:
            kept = self._of(key)
            if created < kept.watch.created and created:
                return
            kept.watch = _of_incarnation(kept.watch, created)
            until_ms = max(until_ms, kept.watch.reader_until_ms)
            kept.watch = replace(kept.watch, reader_until_ms=until_ms)
            self._sessions[key] = kept

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        """Keep a frame; nothing expires here."""
        del expires_epoch_s
        with self._lock:
            kept = self._of(key)
            place = (delta.dispatch_seq, delta.n)
            other = kept.deltas.get(place, delta)
            if other.created <= delta.created or not delta.created:
                kept.deltas[place] = delta
            self._sessions[key] = kept

    def deltas(
        self, key: SessionKey, dispatch_seq: int, after_n: int, limit: int
    ) -> tuple[Delta, ...]:
        """Return the frames after a place."""
        with self._lock:
            deltas = self._of(key).deltas
            later = sorted(place for place in deltas if place > (dispatch_seq, after_n))
            return tuple(deltas[place] for place in later[:limit])

    def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
        """Return sessions past their time."""
        with self._lock:
            late = [key for key, kept in self._sessions.items() if _is_due(kept.head, now_epoch_s)]
            return tuple(late[:limit])

    def listed(self, tenant: str, after: str, limit: int) -> ListPage:
        """Return sessions by their last turn."""
        return self._lists.listed(tenant, after, limit)

    def owned(self, tenant: str, owner: str, after: str, limit: int) -> ListPage:
        """Return sessions by their creation."""
        return self._lists.owned(tenant, owner, after, limit)

    def incarnation(self, key: SessionKey) -> Incarnation | None:
        """Return who a session is."""
        return self._deletions.incarnation(key)

    def mark_deleted(self, key: SessionKey, created: str, mark: str, due_epoch_s: int) -> bool:
        """Put a tombstone in the place of the head."""
        return self._deletions.mark_deleted(key, created, mark, due_epoch_s)

    def erase(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """Forget all but the tombstone."""
        return self._deletions.erase(key, created, is_over)

    def release_id(self, key: SessionKey, created: str, due_epoch_s: int) -> None:
        """Forget the tombstone."""
        self._deletions.release_id(key, created, due_epoch_s)

    def erase_late(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """Forget what was written late."""
        return self._deletions.erase_late(key, created, is_over)

    def deletions(self, now_epoch_s: int, limit: int) -> tuple[Deletion, ...]:
        """Return what is left to do."""
        return self._deletions.deletions(now_epoch_s, limit)

    def keys(self, tenant: str) -> tuple[SessionKey, ...]:
        """Return the sessions of a tenant that are there."""
        with self._lock:
            kept = [(key, one.head) for key, one in self._sessions.items()]
        return tuple(key for key, head in kept if key.tenant == tenant and head is not None)

    def _of(self, key: SessionKey) -> Kept:
        return self._sessions.get(key) or Kept()


def _check_version(key: SessionKey, before: Head | None, now: Head | None) -> None:
    if (before and (before.version, before.created)) != (now and (now.version, now.created)):
        raise VersionConflict(f"{key.session} moved on", head=now)


def _check_ids(kept: Kept, index: Index) -> None:
    nodes = {node.id for node in index.nodes if node.id in kept.nodes}
    calls = {call.id for call in index.calls if call.id in kept.calls}
    if taken := frozenset(nodes | calls):
        raise IdsTaken(f"{len(taken)} ids are taken", ids=taken)


def _logged(commit: NewCommit, head: Head) -> Logged:
    return Logged(
        first_seq=head.session.seq - len(commit.events) + 1,
        last_seq=head.session.seq,
        commit_id=commit.commit_id,
        at_ms=commit.at_ms,
        by=commit.by,
        version=head.version,
        created=head.created,
        events=tuple(from_json(to_json(event)) for event in commit.events),
        wake=commit.wake,
    )


def _of_incarnation(watch: Watch, created: str) -> Watch:
    """Return `watch` as readers of an incarnation add to it: those of an earlier one are gone."""
    if not created:
        return watch
    return replace(watch.of(created), created=created)


def _name(watcher: Watcher) -> tuple[str, str]:
    return watcher.connection_id, watcher.subscription


def _is_due(head: Head | None, now_epoch_s: int) -> bool:
    return bool(head and head.due_epoch_s is not None and head.due_epoch_s <= now_epoch_s)


def _no_blob(place: BlobPlace) -> bytes:
    raise StoreRefused(f"object {place.key} is not in memory")
