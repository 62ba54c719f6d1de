"""Bodies that an event does not carry itself: what leaves it before a write, and how it comes back.

It must not make a request itself. What a body costs (us-east-1, on demand, in a transaction): the
table bills 2 write units for each started KB, 1.25 µ$; an S3 PUT is 5 µ$ at any size. They meet at
4 KB as stored, which is about 8 KB of JSON before it is compressed; above that the bucket is
cheaper, at 357 KB many times over. Source: architecture, section 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from everturn.errors import StoreRefused
from everturn.ports.sessions import Logged
from everturn.protocol.json_text import compact
from everturn.session.events.stored import BODY_FIELDS, Event, from_json, to_json
from everturn.session.refs import BlobPlace, BodyPlace, Ref, pick, put

INLINE_BODY_BYTES: Final = 8_192
"""Compact JSON of one body; what is larger goes to the bucket."""

NEAR: Final = 64
"""Wanted events at most this far apart are fetched as one range."""

_NEVER_ABSENT: Final[dict[str, tuple[str, ...]]] = {
    "llm.call.errored": ("error",),
    "llm.call.aborted": ("partial_text",),
}
"""Texts that their event demands; where `refs` has one, an empty text stands in for it."""

Keep = Callable[[bytes], BlobPlace]
"""Keeps a body in the bucket and returns where."""

Load = Callable[[BlobPlace], bytes]
"""Returns a body from the bucket."""

Fetch = Callable[[int, int], Iterable[Logged]]
"""Returns the commits that hold a range of events."""


def spill(value: dict[str, Any], keep: Keep) -> dict[str, Any]:
    """Return the stored JSON of an event, its large bodies kept elsewhere, named in `refs`."""
    refs: dict[str, Any] = {}
    for field in BODY_FIELDS.get(value["type"], ()):
        if field not in value:
            continue
        text = compact(value[field]).encode()
        if len(text) > INLINE_BODY_BYTES:
            refs[field] = {"blob": keep(text).model_dump()}
    if not refs:
        return value
    rest = {name: inner for name, inner in value.items() if name not in refs}
    return {**rest, "refs": {**value.get("refs", {}), **refs}}


def read_event(value: dict[str, Any]) -> Event:
    """Return the event of a stored JSON, bodies still missing."""
    refs = value.get("refs", {})
    texts = _NEVER_ABSENT.get(value["type"], ())
    return from_json({**{field: "" for field in texts if field in refs}, **value})


def materialise(logged: Sequence[Logged], fetch: Fetch, load: Load) -> tuple[Logged, ...]:
    """Return `logged` with every body in its event and no `refs` left.

    Events that are referred to and that `logged` lacks are fetched, near ones together; an object
    is loaded once. Raises `StoreRefused` where a reference leads nowhere.
    """
    if not any(event.refs for commit in logged for event in commit.events):
        return tuple(logged)
    log = _Log(fetch, load)
    log.add(logged)
    return tuple(
        replace(commit, events=tuple(log.filled(seq) for seq, _ in commit.numbered()))
        for commit in logged
    )


class _Log:
    """The events at hand while bodies are put in place, and what was already resolved of them."""

    def __init__(self, fetch: Fetch, load: Load) -> None:
        self._fetch = fetch
        self._load = load
        self._events: dict[int, Event] = {}
        self._raw: dict[int, dict[str, Any]] = {}
        self._bodies: dict[tuple[int, str], Any] = {}

    def add(self, logged: Sequence[Logged]) -> None:
        """Take `logged`, and fetch what its references lead to."""
        self._events.update(pair for commit in logged for pair in commit.numbered())
        known = [event for commit in logged for event in commit.events]
        while missing := {seq for event in known for seq in _targets(event)} - self._events.keys():
            for first, last in _ranges(missing):
                for commit in self._fetch(first, last):
                    self._events.update(commit.numbered())
            if lost := missing - self._events.keys():
                raise StoreRefused(f"the log has no event {min(lost)}")
            known = [self._events[seq] for seq in missing]

    def filled(self, seq: int) -> Event:
        """Return an event with its bodies."""
        event = self._events[seq]
        if not event.refs:
            return event
        value = self._json(seq)
        for field in sorted(event.refs, key=len):
            value = put(value, field, self._body(seq, field))
        return from_json(value)

    def _json(self, seq: int) -> dict[str, Any]:
        if seq not in self._raw:
            value = to_json(self._events[seq])
            value.pop("refs", None)
            self._raw[seq] = value
        return self._raw[seq]

    def _body(self, seq: int, field: str) -> Any:
        """Return what the reference `field` of event `seq` stands for."""
        if (seq, field) not in self._bodies:
            ref = self._events[seq].refs[field]
            self._bodies[seq, field] = self._resolve(ref, seq)
        return self._bodies[seq, field]

    def _resolve(self, ref: Ref, seq: int) -> Any:
        if ref.blob:
            return json.loads(self._load(ref.blob))
        if ref.place is None or ref.place.seq >= seq:
            raise StoreRefused(f"a reference of event {seq} leads nowhere")
        return self._picked(ref.place)

    def _picked(self, place: BodyPlace) -> Any:
        value = self._json(place.seq)
        for field in sorted(self._events[place.seq].refs, key=len):
            if _overlap(field, place.field):
                value = put(value, field, self._body(place.seq, field))
        try:
            return pick(value, place.field)
        except KeyError as error:
            raise StoreRefused(f"event {place.seq} has no {place.field}") from error


def _targets(event: Event) -> Iterator[int]:
    """Yield the numbers of the events that `event` refers to."""
    for ref in event.refs.values():
        if ref.place:
            yield ref.place.seq


def _overlap(one: str, other: str) -> bool:
    """Return whether one dotted path is the other or leads into it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _ranges(seqs: Collection[int]) -> list[tuple[int, int]]:
    """Return ranges that hold all of `seqs`, one for neighbours."""
    ranges: list[tuple[int, int]] = []
    for seq in sorted(seqs):
        if ranges and seq - ranges[-1][1] <= NEAR:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
    return ranges
