"""A record of the table's stream, as Lambda delivers it -> the commit that it shows.

It must not read a commit's events before somebody wants them: what wakes a driver is plain.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.ports.budgets import Spending
from everturn.ports.sessions import Logged, SessionKey
from everturn.session.state import Spent
from everturn.store import keys
from everturn.store.attributes import Item
from everturn.store.bodies import Load
from everturn.store.codec import from_log_item, readable

_INSERT: Final = "INSERT"


@dataclass(frozen=True, slots=True)
class Announced:
    """A new log item, as far as it is plain."""

    key: SessionKey
    by: str
    wake: str | None
    version: int
    created: str
    item: Item = field(repr=False)
    spending: Spending | None = None
    """What its model calls used."""


def is_commit(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a new log item; the mapping filters too, this is for the rest."""
    image = record["dynamodb"].get("NewImage") or {}
    is_log = str(image.get("sk", {}).get("S", "")).startswith(keys.LOG_PREFIX)
    return record["eventName"] == _INSERT and is_log


def number_of(record: Mapping[str, Any]) -> str:
    """Return what names a record in its shard."""
    return str(record["dynamodb"]["SequenceNumber"])


def announced(record: Mapping[str, Any]) -> Announced:
    """Return what is plain in a log item. Raises `StoreUnreadable`.

    In an event's JSON binary values are base64. Source: Lambda, "Using AWS Lambda with Amazon
    DynamoDB".
    """
    image = record["dynamodb"]["NewImage"]
    with readable({"sk": "a stream record"}):
        item: Item = {
            name: {"B": b64decode(attribute["B"])} if "B" in attribute else attribute
            for name, attribute in image.items()
        }
        wake = item.get("wake")
        return Announced(
            key=keys.session_of(item["pk"]["S"]),
            by=item["by"]["S"],
            wake=wake["S"] if wake else None,
            version=int(item["version"]["N"]),
            created=item["created"]["S"],
            item=item,
            spending=_spending(item),
        )


def _spending(item: Item) -> Spending | None:
    if "spend" not in item:
        return None
    spend = item["spend"]["M"]
    return Spending(
        tenant=keys.session_of(item["pk"]["S"]).tenant,
        owner_id=spend["owner"]["S"],
        commit_id=item["commit_id"]["S"],
        at_ms=int(item["at"]["N"]),
        spent=Spent(spend["cost"]["S"], int(spend["tokens"]["N"])),
    )


def commit_of(said: Announced, load: Load) -> Logged:
    """Return the commit with its events, large bodies still in their places.

    `load` is the bucket's `get`: one request for a commit that was spilled as a whole, else none.
    Raises `NewerFormat`, `StoreUnreadable`, `StoreRefused`, `StoreUnavailable`.
    """
    return from_log_item(said.item, load)
