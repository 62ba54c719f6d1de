"""Who asks, as a value: a tenant's API key, an owner's client token, or nobody yet.

It must not know how a credential is spelled or checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from json import loads
from typing import Any, Final

from everturn.protocol.json_text import compact
from everturn.protocol.limits import TOKEN_LEEWAY_S
from everturn.session.events.sessions import Owner


class Who(IntEnum):
    """A privilege: a caller's own, or the least that a route takes. Source: A-1, O-1."""

    ANYONE = 0
    """No credential at all."""

    FRONTEND = 1
    """A client token."""

    MACHINE = 2
    """An API key."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller that proved who it is; without more said, whoever has an API key of the tenant."""

    tenant: str
    privilege: Who = Who.MACHINE
    key_name: str = ""
    owner: Owner | None = None
    """Whose sessions alone it may reach; a token always has one, a key never."""

    scopes: tuple[str, ...] = ()
    """What its token allows; a key may everything in its tenant. Source: A-4."""

    expires_epoch_s: int | None = None
    """When its credential expires; most keys never do."""

    @property
    def is_frontend(self) -> bool:
        """Whether it has a client token, not a key: part of the log is not for it. Source: E-8."""
        return self.privilege is not Who.MACHINE

    def reaches(self, owner_id: str) -> bool:
        """Return whether what belongs to that owner of its tenant is there for it. Source: A-5."""
        return self.owner is None or self.owner.id == owner_id

    def allows(self, scope: str) -> bool:
        """Return whether it may do what needs `scope`; the empty one is needed for nothing."""
        return self.privilege is Who.MACHINE or not scope or scope in self.scopes

    @property
    def lapses_epoch_s(self) -> int | None:
        """From when on it counts no more: its expiry, and a token's leeway. Source: A-2."""
        leeway_s = TOKEN_LEEWAY_S if self.privilege is Who.FRONTEND else 0
        return None if self.expires_epoch_s is None else self.expires_epoch_s + leeway_s

    def has_lapsed(self, now_ms: int) -> bool:
        """Return whether its credential is of no use any more."""
        lapses = self.lapses_epoch_s
        return lapses is not None and lapses * 1000 <= now_ms

    def is_as(self, other: Caller) -> bool:
        """Return whether both act for the same owner, or are keys of the same tenant."""
        mine, others = (one.owner.id if one.owner else None for one in (self, other))
        return (self.tenant, self.privilege, mine) == (other.tenant, other.privilege, others)


NOBODY: Final = Caller("", Who.ANYONE)
"""Who has shown no credential; no item of the table is theirs."""


def to_fields(caller: Caller) -> dict[str, str]:
    """Return what stands for a caller between functions, and in the item of its connection.

    Of a key that never expires that is its tenant alone, as it always was; any other caller has no
    field of that name, so that code which knows no others does not take it for such a key.
    """
    if caller == Caller(caller.tenant, key_name=caller.key_name):
        return {"tenant": caller.tenant}
    return {"caller": to_text(caller)}


def from_fields(fields: Mapping[str, Any]) -> Caller:
    """Return the caller that `to_fields` was given. Raises `KeyError` where none is there."""
    return from_text(fields["caller"]) if "caller" in fields else Caller(fields["tenant"])


def to_text(caller: Caller) -> str:
    """Return all that is known of a caller, as JSON."""
    owner = caller.owner
    about = {
        "tenant": caller.tenant,
        "privilege": int(caller.privilege),
        "key_name": caller.key_name,
        "owner": None if owner is None else {"id": owner.id, "metadata": owner.metadata},
        "scopes": list(caller.scopes),
        "expires_epoch_s": caller.expires_epoch_s,
    }
    return compact({name: value for name, value in about.items() if value is not None})


def from_text(text: str) -> Caller:
    """Return the caller that `to_text` was given."""
    about = loads(text)
    owner = about.get("owner")
    return Caller(
        tenant=about["tenant"],
        privilege=Who(about["privilege"]),
        key_name=about.get("key_name", ""),
        owner=None if owner is None else Owner.model_validate(owner),
        scopes=tuple(about.get("scopes", ())),
        expires_epoch_s=about.get("expires_epoch_s"),
    )
