"""Heads and commits <-> items of the table: pure, exact both ways, and as small as billing rewards.

It must not make a request. A transactional write costs two units for each started KB of an item.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from json import loads
from typing import Any, Final, TypeVar

from everturn.errors import NewerFormat, StoreUnreadable
from everturn.ports.sessions import Head, Logged, Owner, Quarantine, SessionKey
from everturn.protocol.events import to_rfc3339
from everturn.protocol.json_text import compact
from everturn.rejections import SessionQuarantined
from everturn.session.formats import FORMAT, NEWEST_FORMAT, format_of
from everturn.session.refs import BlobPlace
from everturn.session.state import SESSION
from everturn.store import keys
from everturn.store.attributes import Item, from_item, size_bytes, to_item
from everturn.store.bodies import Load, read_event
from everturn.store.compression import deflate, inflate, pack, unpack

HEAD_BYTES: Final = 4_096
"""A larger head gives sections away. Source: storage-and-commits, "Items"."""

SECTION_BYTES: Final = 60 * 1024
"""Body of one section item, which stays below 64 KB with its names."""

LOG_ITEM_BYTES: Final = 350 * 1024
"""A larger commit goes to the bucket as a whole; the table takes 400 KB."""

SECTIONS: Final = ("calls", "decisions", "waits", "aborting", "inbox", "outbox", "marks")
"""Parts of the state that can leave the head, in the order in which they do."""

Plain = TypeVar("Plain")


@dataclass(frozen=True, slots=True)
class HeadItems:
    """A head as the table keeps it."""

    attributes: Mapping[str, Any]
    """All that a commit sets, `None` where it removes; without the indexes' own attributes."""

    sections: tuple[Item, ...] = ()


def opened(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of an item.

    Raises `NewerFormat` if this code is too old, `StoreUnreadable` if no code wrote it.
    """
    with readable(item):
        values = from_item(item)
        is_newer = values.get("format", FORMAT) > NEWEST_FORMAT
    if is_newer:
        known = f"known is {NEWEST_FORMAT}"
        raise NewerFormat(f"{values.get('sk')} has format {values['format']}, {known}")
    return values


def opened_head(item: Item) -> dict[str, Any]:
    """Return the plain values of a head item.

    Raises what `opened` does, or `SessionQuarantined` where it is unreadable and that is known.
    """
    try:
        return opened(item)
    except StoreUnreadable as error:
        said = item.get("quarantined")
        if said is None:
            raise
        values = opened({"sk": item["sk"], "quarantined": said})
        raise unreadable(keys.session_of(item["pk"]["S"]), values, "its attributes") from error


@contextmanager
def readable(item: Mapping[str, Any]) -> Iterator[None]:
    """Turn what reading a broken `item` raises into `StoreUnreadable`, without its content."""
    try:
        yield
    except (LookupError, TypeError, ValueError, zlib.error) as error:
        message = f"{item.get('sk')} cannot be read: {type(error).__name__}"
        raise StoreUnreadable(message) from error


def to_head_items(key: SessionKey, head: Head) -> HeadItems:
    """Return `head` as attributes, with sections beside it while it is over `HEAD_BYTES`."""
    state = SESSION.dump_python(head.session, mode="json", exclude_defaults=True)
    state.pop("seq", None)
    moved: dict[str, list[Any]] = {}
    items = _head_items(key, head, state, moved)
    for name in SECTIONS:
        if _head_bytes(key, items, head.session.owner_id) <= HEAD_BYTES:
            break
        if part := _take(state, name):
            moved[name] = part
            items = _head_items(key, head, state, moved)
    return items


def _head_items(
    key: SessionKey, head: Head, state: dict[str, Any], moved: Mapping[str, list[Any]]
) -> HeadItems:
    sections = {name: _section_items(key, name, head.version, moved[name]) for name in moved}
    counts = {name: len(items) for name, items in sections.items()}
    owner = head.owner
    attributes = {
        "format": format_of(head.session),
        "version": head.version,
        "seq": head.session.seq,
        "commit_id": head.commit_id,
        "created": head.created,
        "owner": {"epoch": owner.epoch, "request_id": owner.request_id} if owner else None,
        "state": pack(compact(state)),
        "sections": {"version": head.version, **counts} if counts else None,
    }
    return HeadItems(attributes, tuple(item for items in sections.values() for item in items))


def _section_items(key: SessionKey, name: str, version: int, part: list[Any]) -> list[Item]:
    packed = deflate(compact(part).encode())
    return [
        to_item(
            {
                "pk": keys.session_pk(key),
                "sk": keys.section_sk(name, n),
                "format": FORMAT,
                "version": version,
                "body": packed[start : start + SECTION_BYTES],
            }
        )
        for n, start in enumerate(range(0, len(packed), SECTION_BYTES))
    ]


def _head_bytes(key: SessionKey, items: HeadItems, owner_id: str) -> int:
    """Return the size of the whole head item, the indexes' attributes included."""
    whole = {
        **items.attributes,
        "pk": keys.session_pk(key),
        "sk": keys.HEAD,
        "due_shard": keys.due_shard(key),
        "due_epoch_s": 2**33,
        "listing_pk": keys.listing_pk(key.tenant),
        "listing_sk": keys.listing_sk(0, key.session),
        "owned_pk": keys.owned_pk(key.tenant, owner_id),
    }
    return size_bytes(to_item(whole))


def _take(state: dict[str, Any], name: str) -> list[Any]:
    """Return a section's part of `state` and leave it out there."""
    if name != "marks":
        part: list[Any] = state.pop(name, [])
        return part
    window = dict(state.get("window", {}))
    marks: list[Any] = window.pop("marks", [])
    state["window"] = window
    return marks


def from_head_items(values: Mapping[str, Any], sections: Iterable[Item] = ()) -> Head | None:
    """Return the head of an opened item and its sections; `None` if these are of another version.

    Raises `NewerFormat`, `StoreUnreadable`, or `SessionQuarantined` where it is unreadable and that
    is known already.
    """
    try:
        with readable(values):
            return _head(values, sections, to_quarantine(values))
    except StoreUnreadable as error:
        what = str(error)
        raise unreadable(keys.session_of(values["pk"]), values, what) from error


def unreadable(
    key: SessionKey, values: Mapping[str, Any], what: str
) -> StoreUnreadable | SessionQuarantined:
    """Return what to raise for a head that cannot be read: it may be put aside already."""
    with readable(values):
        quarantined = to_quarantine(values)
    if quarantined is not None:
        return refusal(key, quarantined)
    return StoreUnreadable(what)


def to_quarantine(values: Mapping[str, Any]) -> Quarantine | None:
    """Return what a head item says about being put aside."""
    said = values.get("quarantined")
    return Quarantine(said["reason"], said["at"], said.get("wake", "")) if said else None


def refusal(key: SessionKey, quarantined: Quarantine) -> SessionQuarantined:
    """Return what a caller is told who wants something of a session that is put aside."""
    return SessionQuarantined(
        f"The session {key.session} is quarantined.",
        hint="An operator lifts it with `everturn redrive`.",
        reason=quarantined.reason,
        at=to_rfc3339(quarantined.at_ms),
    )


def _head(
    values: Mapping[str, Any], sections: Iterable[Item], quarantined: Quarantine | None
) -> Head | None:
    state = loads(unpack(values["state"]))
    wanted = dict(values.get("sections", {}))
    if wanted:
        moved = _joined(wanted, [opened(item) for item in sections])
        if moved is None:
            return None
        if "marks" in moved:
            state["window"] = {**state.get("window", {}), "marks": moved.pop("marks")}
        state |= moved
    owner = values.get("owner")
    return Head(
        version=_of_kind(int, values["version"]),
        commit_id=_of_kind(str, values["commit_id"]),
        created=_of_kind(str, values["created"]),
        session=SESSION.validate_python({**state, "seq": values["seq"]}),
        owner=Owner(owner["epoch"], owner["request_id"]) if owner else None,
        due_epoch_s=None if quarantined else values.get("due_epoch_s"),  # else: its place in a list
        quarantined=quarantined,
    )


def _of_kind(kind: type[Plain], value: Any) -> Plain:
    if not isinstance(value, kind):
        raise TypeError(f"a {type(value).__name__} in the place of a {kind.__name__}")
    return value


def _joined(
    wanted: dict[str, int], sections: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]] | None:
    version = wanted.pop("version")
    bodies = {one["sk"]: one["body"] for one in sections if one["version"] == version}
    joined = {}
    for name, count in wanted.items():
        names = [keys.section_sk(name, n) for n in range(count)]
        if not bodies.keys() >= set(names):
            return None
        joined[name] = loads(inflate(b"".join(bodies[one] for one in names)))
    return joined


def from_log_item(item: Item, load: Load) -> Logged:
    """Return a commit; one that went to the bucket as a whole is loaded.

    Raises `NewerFormat`, `StoreUnreadable`.
    """
    values = opened(item)
    with readable(values):
        return _logged(values, load)


def _logged(values: Mapping[str, Any], load: Load) -> Logged:
    blob = values.get("blob")
    text = load(BlobPlace(**blob)).decode() if blob else unpack(values["events"])
    events = tuple(read_event(value) for value in loads(text))
    last_seq = keys.last_seq_of(values["sk"])
    return Logged(
        first_seq=last_seq - len(events) + 1,
        last_seq=last_seq,
        commit_id=values["commit_id"],
        at_ms=values["at"],
        by=values["by"],
        version=values["version"],
        created=values["created"],
        events=events,
        wake=values.get("wake"),
    )
