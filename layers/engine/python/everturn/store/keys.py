"""Names of everything the store keeps: partition and sort keys, index keys, objects, queue groups.

It must not read or write. Names are for ever. Source: storage-and-commits, "Items".
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from datetime import UTC, datetime
from typing import Final

from everturn.ports.sessions import SessionKey

HEAD: Final = "HEAD"
WATCH: Final = "WATCH"
PREPARED: Final = "PREPARED"
ABOUT: Final = "ABOUT"
"""Names the commit whose surplus ids were written last; see `surplus`."""

META: Final = "META"
"""Sort key of an item that is alone in its partition."""

SECTION_PREFIX: Final = "HEAD#"
LOG_PREFIX: Final = "LOG#"
NODE_PREFIX: Final = "ID#node#"
CALL_PREFIX: Final = "ID#call#"

DUE_INDEX: Final = "due"
LISTING_INDEX: Final = "listing"
OWNED_INDEX: Final = "owned"
DUE_SHARDS: Final = tuple(f"due#{n:02d}" for n in range(16))
"""Partitions of the `due` index; one alone takes 1,000 writes a second."""

QUARANTINE_SHARD: Final = "quarantined"
"""Partition of the `due` index that no sweep looks into: what is put aside, by its time."""

DELETED_SHARDS: Final = tuple(f"deleted#{n:02d}" for n in range(4))
"""Partitions of the `due` index with what is left to do for deleted sessions."""

TENANTS: Final = "TENANTS"
"""Partition of the list of all tenants."""

GONE_PREFIX: Final = "GONE#"

SEQ_DIGITS: Final = 12
LAST_SEQ: Final = 10**SEQ_DIGITS - 1


def session_pk(key: SessionKey) -> str:
    """Return the partition of a session."""
    return f"SESSION#{key.tenant}#{key.session}"


def session_of(pk: str) -> SessionKey:
    """Return the session that a partition belongs to; ids hold no `#`. Source: O-9."""
    _, tenant, session = pk.split("#", 2)
    return SessionKey(tenant, session)


def section_sk(name: str, n: int) -> str:
    """Return the sort key of the nth piece of a section of the head."""
    return f"{SECTION_PREFIX}{name}#{n}"


def log_sk(last_seq: int) -> str:
    """Return the sort key of the commit whose last event has that number."""
    return f"{LOG_PREFIX}{last_seq:0{SEQ_DIGITS}d}"


def last_seq_of(log_item_sk: str) -> int:
    """Return the number that `log_sk` was given."""
    return int(log_item_sk.removeprefix(LOG_PREFIX))


def turn_sk(turn_id: str) -> str:
    """Return the sort key of what is known under a turn's id."""
    return f"TURN#{turn_id}"


def turn_of(sk: str) -> str:
    """Return the id that `turn_sk` was given."""
    return sk.removeprefix(turn_sk(""))


def node_sk(message_id: str) -> str:
    """Return the sort key of a message's id."""
    return f"{NODE_PREFIX}{message_id}"


def call_sk(call_id: str) -> str:
    """Return the sort key of a tool call's id."""
    return f"{CALL_PREFIX}{call_id}"


def id_of(id_item_sk: str) -> str:
    """Return the id that `node_sk` or `call_sk` was given."""
    return id_item_sk.split("#", 2)[2]


def branch_sk(number: int) -> str:
    """Return the sort key of a branch of the message tree."""
    return f"BRANCH#{number}"


def number_of_branch(sk: str) -> int:
    """Return the number that `branch_sk` was given."""
    return int(sk.removeprefix("BRANCH#"))


def versions_prefix(kind: str) -> str:
    """Return how the sort keys of all versions of a kind begin."""
    return f"VER#{kind}#"


def place_of_version(sk: str) -> tuple[int, int]:
    """Return branch and depth that `version_sk` was given."""
    _, _, branch, depth = sk.split("#")
    return int(branch), int(depth)


def version_sk(kind: str, branch: int, depth: int) -> str:
    """Return the sort key of a version of `agent` or `state`; along a branch they sort by depth."""
    return f"VER#{kind}#{branch}#{depth:08d}"


def delta_sk(dispatch_seq: int, n: int) -> str:
    """Return the sort key of a frame of stream output."""
    return f"DELTA#{dispatch_seq:0{SEQ_DIGITS}d}#{n:06d}"


def delta_place(sk: str) -> tuple[int, int]:
    """Return the numbers that `delta_sk` was given."""
    _, dispatch_seq, n = sk.split("#")
    return int(dispatch_seq), int(n)


def due_shard(key: SessionKey) -> str:
    """Return the partition of the `due` index that holds a session."""
    return DUE_SHARDS[_digest(key.tenant, key.session)[0] % len(DUE_SHARDS)]


def listing_pk(tenant: str) -> str:
    """Return a tenant's partition of the `listing` index."""
    return f"LIST#{tenant}"


def listing_sk(at_ms: int, session: str) -> str:
    """Return a session's place in the listing: by the start of its last turn."""
    return f"{iso_ms(at_ms)}#{session}"


def owned_pk(tenant: str, owner: str) -> str:
    """Return an owner's partition of the `owned` index; a tenant's name holds no `#`."""
    return f"OWNED#{tenant}#{owner}"


def gone_pk(key: SessionKey) -> str:
    """Return the partition of a session's deleted incarnations."""
    return f"{GONE_PREFIX}{key.tenant}#{key.session}"


def deleted_shard(key: SessionKey) -> str:
    """Return the partition of the `due` index that holds what is left to do for a deletion."""
    return DELETED_SHARDS[_digest(key.tenant, key.session)[0] % len(DELETED_SHARDS)]


def run_pk(tenant: str, run_id: str) -> str:
    """Return the partition of the pointer from a run to its session."""
    return f"RUN#{tenant}#{run_id}"


def feedback_sk(run_id: str) -> str:
    """Return the sort key of what somebody said of a run of the session."""
    return f"FEEDBACK#{run_id}"


def tenant_pk(tenant: str) -> str:
    """Return the partition of a tenant's record."""
    return f"TENANT#{tenant}"


def key_sk(key_id: str) -> str:
    """Return the sort key of a key in its tenant's list."""
    return f"KEY#{key_id}"


def api_key_pk(sha256: str) -> str:
    """Return the partition of an API key, which is known by its hash alone."""
    return f"KEY#{sha256}"


def agents_pk(tenant: str) -> str:
    """Return the partition of a tenant's agents."""
    return f"AGENTS#{tenant}"


def agent_sk(agent_id: str) -> str:
    """Return the sort key of an agent."""
    return f"AGENT#{agent_id}"


def agent_of(sk: str) -> str:
    """Return the id that `agent_sk` was given."""
    return sk.removeprefix(agent_sk(""))


BUDGET_PREFIX: Final = "BUDGET#"
HELD_PREFIX: Final = "HELD#"


def budgets_pk(tenant: str) -> str:
    """Return the partition of what a tenant and its owners may spend."""
    return f"BUDGETS#{tenant}"


def budget_sk(owner_id: str | None) -> str:
    """Return the sort key of an owner's budget, or of the tenant's own."""
    return f"{BUDGET_PREFIX}tenant" if owner_id is None else f"{BUDGET_PREFIX}owner#{owner_id}"


def budget_owner(sk: str) -> str | None:
    """Return the owner that `budget_sk` was given; ids hold no `#`. Source: O-9."""
    parts = sk.split("#", 2)
    return parts[2] if parts[2:] else None


def held_sk(session: str) -> str:
    """Return the sort key of a session that a budget pauses, in its tenant's partition."""
    return f"{HELD_PREFIX}{session}"


def held_of(sk: str) -> str:
    """Return the session that `held_sk` was given."""
    return sk.removeprefix(HELD_PREFIX)


def counted_pk(commit_id: str) -> str:
    """Return the partition of the fact that a commit's spending is counted."""
    return f"COUNTED#{commit_id}"


def revoked_pk(token_id: str) -> str:
    """Return the partition of the fact that a token, or a grant, counts no more."""
    return f"REVOKED#{token_id}"


def connection_pk(connection_id: str) -> str:
    """Return the partition of an open connection."""
    return f"CONNECTION#{connection_id}"


def body_object(key: SessionKey, created: str, sha256: str) -> str:
    """Return the object that holds a body of a session."""
    return f"{key.tenant}/{key.session}/{created}/{sha256}"


def body_objects(key: SessionKey, created: str) -> str:
    """Return what the names of all bodies of one incarnation begin with, and no other's."""
    return body_object(key, created, "")


def agent_object(tenant: str, agent_id: str, sha256: str) -> str:
    """Return the object that holds a large agent definition; ids hold no slash. Source: O-9."""
    return f"{tenant}/agents//{agent_id}/{sha256}"


def upload_object(tenant: str, upload_id: str) -> str:
    """Return the object of an uploaded file; `file` is no SHA-256, so it is nobody's body."""
    return f"{tenant}/uploads/{upload_id}/file"


def group_id(key: SessionKey) -> str:
    """Return the queue's message group of a session: 52 characters. Source: architecture, 4."""
    return digest32(key.tenant, key.session)


def digest32(*parts: str) -> str:
    """Return SHA-256 of `parts`, told apart, in base32: lower case, without padding."""
    return b32encode(_digest(*parts)).decode().rstrip("=").lower()


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def iso_ms(at_ms: int) -> str:
    """Return an instant in RFC 3339, UTC, with milliseconds."""
    text = datetime.fromtimestamp(at_ms / 1000, tz=UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
