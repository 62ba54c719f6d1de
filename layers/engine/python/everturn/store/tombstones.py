"""What stands in the place of a head while its session is deleted, and where a deletion left off.

It must not make a request. A tombstone has no version, so that no writer's condition on it holds,
and a format of its own, so that code that does not know it writes nothing. Source: docs/storage.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.ports.sessions import SessionKey
from everturn.rejections import SessionDeleting
from everturn.session.formats import FORMAT
from everturn.store import keys
from everturn.store.attributes import Item, to_item

TOMBSTONE_FORMAT: Final = 2
"""One more than that of the heads of all code that does not know tombstones."""

DELETED: Final = "deleted"
"""The attribute that makes a head a tombstone: the mark of its deletion."""


def is_tombstone(item: Mapping[str, Any]) -> bool:
    """Return whether an item in the place of a head stands for a deleted session."""
    return DELETED in item


def deleting(key: SessionKey) -> SessionDeleting:
    """Return what a caller is told who wants to begin a session before the deletion is over."""
    return SessionDeleting(
        f"The session {key.session} is being deleted.",
        hint="Use another id, or repeat the request in some minutes.",
    )


def tombstone(key: SessionKey, created: str, mark: str, due_epoch_s: int) -> Item:
    """Return what takes the place of a head, out of all lists; `mark` tells who put it there."""
    return to_item(
        {
            "pk": keys.session_pk(key),
            "sk": keys.HEAD,
            "format": TOMBSTONE_FORMAT,
            DELETED: mark,
            "created": created or None,
            "due_shard": keys.deleted_shard(key),
            "due_epoch_s": due_epoch_s,
        }
    )


def gone(key: SessionKey, created: str, due_epoch_s: int) -> Item:
    """Return the note that an incarnation was erased, and when late writes are looked for."""
    return to_item(
        {
            "pk": keys.gone_pk(key),
            "sk": created or keys.META,
            "format": FORMAT,
            "due_shard": keys.deleted_shard(key),
            "due_epoch_s": due_epoch_s,
        }
    )


def text_in(item: Mapping[str, Any], name: str) -> str:
    """Return a text of an item that may be unreadable otherwise; empty where it has none."""
    attribute: Any = item.get(name)
    return str(attribute["S"]) if isinstance(attribute, dict) and "S" in attribute else ""
