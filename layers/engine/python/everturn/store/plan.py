"""One commit -> the actions of its transaction; pure but for the bodies it hands to the bucket.

It must not talk to the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from everturn.errors import StoreRefused
from everturn.ports.sessions import Head, NewCommit, SessionKey, TurnRecord
from everturn.protocol.json_text import compact
from everturn.session.budget import spent_in
from everturn.session.events.sessions import TurnStarted
from everturn.session.events.stored import to_json
from everturn.session.formats import FORMAT, format_of
from everturn.session.refs import BlobPlace
from everturn.session.state import Session, Spent
from everturn.store import keys
from everturn.store.attributes import Item, size_bytes, to_item
from everturn.store.blobs import Blobs
from everturn.store.bodies import spill
from everturn.store.codec import LOG_ITEM_BYTES, HeadItems, to_head_items
from everturn.store.compression import pack
from everturn.store.index import Index, index_of
from everturn.store.tree import branch_values

DUE_SLACK_S: Final = 600
"""`due` is rewritten only if it moves by more. Source: storage-and-commits, "Commits" 6."""

Action = dict[str, Any]
"""One member of `TransactItems`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the table is asked for."""

    commit: NewCommit
    after: Head
    """The head as it stands once this is written."""

    actions: Mapping[str, Action]
    """By sort key, the head first; all in one transaction, wherever `ids` go."""

    ids: Mapping[str, Item]
    """Items of ids that must be new, by sort key."""

    @property
    def pk(self) -> str:
        """Return the partition that all of it belongs to."""
        return keys.session_pk(self.commit.key)

    @property
    def last_seq(self) -> int:
        """Return the number of the last event."""
        return self.after.session.seq


def plan_of(table: str, commit: NewCommit, blobs: Blobs) -> Plan:
    """Return the plan of `commit`; its large bodies are in the bucket when this returns.

    Raises `StoreRefused` for a commit that does not add up, `IdsTaken` where it gives an id twice.
    """
    before = commit.before.session if commit.before else Session()
    if not commit.events or commit.after.seq != before.seq + len(commit.events):
        raise StoreRefused(f"{len(commit.events)} events do not lead to {commit.after.seq}")
    after = head_after(commit)
    index = index_of(before, commit.events)
    head = to_head_items(commit.key, after)
    items = [_log_item(commit, after, blobs), *_index_items(commit.key, index, after.created)]
    actions: dict[str, Action] = {keys.HEAD: {"Update": _head_update(table, commit, after, head)}}
    for item in (*head.sections, *items):
        actions[item["sk"]["S"]] = {"Put": {"TableName": table, "Item": item}}
    actions[items[0]["sk"]["S"]]["Put"]["ConditionExpression"] = "attribute_not_exists(pk)"
    for item in _run_items(commit.key, index, after.created):
        actions[item["pk"]["S"]] = {"Put": {"TableName": table, "Item": item}}
    if before.is_held != commit.after.is_held:
        actions[keys.held_sk(commit.key.session)] = _held(table, commit, after.created)
    return Plan(commit, after, actions, _id_items(commit.key, index))


def head_after(commit: NewCommit) -> Head:
    """Return the head that `commit` leaves; a `due` that moves too little stays as stored."""
    before = commit.before
    stored_due = before.due_epoch_s if before else None
    return Head(
        version=before.version + 1 if before else 1,
        commit_id=commit.commit_id,
        created=before.created if before else commit.created,
        session=commit.after,
        owner=commit.owner,
        due_epoch_s=commit.due_epoch_s if due_moves(stored_due, commit.due_epoch_s) else stored_due,
        quarantined=before.quarantined if before else None,
    )


def due_moves(stored: int | None, wanted: int | None) -> bool:
    """Return whether the difference is worth a write to the index."""
    if stored is None or wanted is None:
        return stored != wanted
    return abs(stored - wanted) > DUE_SLACK_S


def _head_update(table: str, commit: NewCommit, after: Head, head: HeadItems) -> dict[str, Any]:
    """Return an Update, not a Put: it costs the same and leaves the indexes alone."""
    values: dict[str, Any] = dict(head.attributes)
    before = commit.before
    if before is None or after.due_epoch_s != before.due_epoch_s:
        values["due_epoch_s"] = after.due_epoch_s
        values["due_shard"] = None if after.due_epoch_s is None else keys.due_shard(commit.key)
    opens = before is None or any(isinstance(event, TurnStarted) for event in commit.events)
    if opens and commit.after.parent is None:  # a child is found by its parent's events
        values["listing_pk"] = keys.listing_pk(commit.key.tenant)
        values["listing_sk"] = keys.listing_sk(commit.at_ms, commit.key.session)
        values["owned_pk"] = keys.owned_pk(commit.key.tenant, commit.after.owner_id)
    return update_of(table, commit.key, values, before)


def update_of(
    table: str, key: SessionKey, values: Mapping[str, Any], before: Head | None
) -> dict[str, Any]:
    """Return an Update of the head item that sets `values`, and removes those that are `None`.

    It holds only if the head is still `before`. A refusal brings the newer head along.
    """
    names = {f"#{n}": name for n, name in enumerate(values)}
    sets = {tag: values[name] for tag, name in names.items() if values[name] is not None}
    removes = [tag for tag, name in names.items() if values[name] is None]
    given: dict[str, Any] = {f":{tag[1:]}": value for tag, value in sets.items()}
    expression = "SET " + ", ".join(f"{tag} = :{tag[1:]}" for tag in sets)
    if removes:
        expression += " REMOVE " + ", ".join(removes)
    condition = "attribute_not_exists(pk)"
    if before:
        condition = "#version = :version AND #created = :created"
        names |= {"#version": "version", "#created": "created"}
        given |= {":version": before.version, ":created": before.created}
    return {
        "TableName": table,
        "Key": to_item({"pk": keys.session_pk(key), "sk": keys.HEAD}),
        "UpdateExpression": expression,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": to_item(given),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _held(table: str, commit: NewCommit, created: str) -> Action:
    """Return what notes that a budget pauses the session, or that none does any more."""
    place = {
        "pk": keys.budgets_pk(commit.key.tenant),
        "sk": keys.held_sk(commit.key.session),
    }
    if commit.after.is_held:
        item = to_item({**place, "format": FORMAT, "created": created})
        return {"Put": {"TableName": table, "Item": item}}
    return {"Delete": {"TableName": table, "Key": to_item(place)}}


def _spend(commit: NewCommit) -> dict[str, Any] | None:
    """Return what is to be counted of the commit's model calls, and whose it is."""
    spent = spent_in(commit.events) if commit.counts else Spent()
    if spent == Spent():
        return None
    return {"owner": commit.after.owner_id, "cost": spent.cost, "tokens": spent.tokens}


def _log_item(commit: NewCommit, after: Head, blobs: Blobs) -> Item:
    def keep(body: bytes) -> BlobPlace:
        sha256 = hashlib.sha256(body).hexdigest()
        return blobs.put(keys.body_object(commit.key, after.created, sha256), body)

    text = compact([spill(to_json(event), keep) for event in commit.events])
    values = {
        "pk": keys.session_pk(commit.key),
        "sk": keys.log_sk(after.session.seq),
        "format": format_of(after.session, commit.events),
        "commit_id": commit.commit_id,
        "at": commit.at_ms,
        "by": commit.by,
        "wake": commit.wake,
        "version": after.version,
        "created": after.created,
        "first_seq": after.session.seq - len(commit.events) + 1,
        "spend": _spend(commit),
    }
    item = to_item({**values, "events": pack(text)})
    if size_bytes(item) <= LOG_ITEM_BYTES:
        return item
    return to_item({**values, "blob": keep(text.encode()).model_dump()})


def _index_items(key: SessionKey, index: Index, created: str) -> list[Item]:
    turns = [_turn_item(key, turn) for turn in index.turns]
    versions = [
        _item(key, keys.version_sk(one.kind, one.branch, one.depth), seq=one.seq)
        for one in index.versions
    ]
    branches = [_item(key, **branch_values(number, one)) for number, one in index.branches]
    return [*turns, *versions, *branches, *_about(key, index, created)]


def _about(key: SessionKey, index: Index, created: str) -> list[Item]:
    """Return what a session was made as, for who lists sessions."""
    given = index.description
    if given is None:
        return []
    name, metadata = given.get("name"), given.get("metadata") or {}
    return [_item(key, keys.ABOUT, name=name, metadata=metadata, created=created)]


def _run_items(key: SessionKey, index: Index, created: str) -> list[Item]:
    """Return the pointers from runs to their session."""
    return [
        to_item(
            {
                "pk": keys.run_pk(key.tenant, run_id),
                "sk": keys.META,
                "format": FORMAT,
                "session": key.session,
                "seq": seq,
                "created": created,
            }
        )
        for run_id, seq in index.runs
    ]


def _turn_item(key: SessionKey, turn: TurnRecord) -> Item:
    if turn.alias_of:
        return _item(key, keys.turn_sk(turn.turn_id), alias_of=turn.alias_of)
    return _item(
        key,
        keys.turn_sk(turn.turn_id),
        number=turn.number,
        first_seq=turn.first_seq,
        last_seq=turn.last_seq,
        outcome=turn.outcome,
        run=1 if turn.is_run else None,
    )


def _id_items(key: SessionKey, index: Index) -> dict[str, Item]:
    nodes = [
        _item(key, keys.node_sk(node.id), seq=node.seq, branch=node.branch, depth=node.depth)
        for node in index.nodes
    ]
    calls = [_item(key, keys.call_sk(call.id), seq=call.seq) for call in index.calls]
    return {item["sk"]["S"]: item for item in (*nodes, *calls)}


def _item(key: SessionKey, sk: str, **values: Any) -> Item:
    return to_item({"pk": keys.session_pk(key), "sk": sk, "format": FORMAT, **values})
