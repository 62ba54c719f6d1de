"""Whose a connection is, from its handshake to the end of its token; frames are others' work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from everturn.errors import RejectedError
from everturn.ports.callers import NOBODY, Caller, Who
from everturn.ports.clock import Clock
from everturn.ports.directory import Directory
from everturn.rejections import NotOwner, TokenExpired, Unauthenticated
from everturn.surfaces.callers import Callers

CONNECTION_TTL_S: Final = 2 * 3600 + 600
"""A connection lives two hours at most. Source: architecture, section 5."""

AUTHENTICATE_WITHIN_S: Final = 30
"""How long a connection without a credential may take to say who it is."""

SAY_WHO: Final = (
    'Send {"action": "authenticate", "id": …, "token": …} first, and wait for its answer.'
)

COME_BACK: Final = "Open another connection with a fresh one."


@dataclass(frozen=True, slots=True)
class Standing:
    """What a connection may do now."""

    caller: Caller
    refusal: RejectedError | None = None
    """Why it may do nothing; None where it may do what its caller may."""

    may_authenticate: bool = True


@dataclass(frozen=True, slots=True)
class Connections:
    """The connections and their callers."""

    directory: Directory
    callers: Callers
    clock: Clock

    def open(self, connection_id: str, caller: Caller) -> None:
        """Record a connection that the authorizer let in."""
        self.directory.put_connection(connection_id, caller, self._end_for(caller))

    def standing(self, connection_id: str) -> Standing:
        """Return what a connection may do now. Raises `TransientError`."""
        now_ms = self.clock.now_ms()
        connection = self.directory.connection(connection_id)
        if connection is None or connection.expires_epoch_s * 1000 <= now_ms:
            gone = Unauthenticated("The connection is not known any more; open another one.")
            return Standing(NOBODY, gone, may_authenticate=False)
        caller = connection.caller
        if caller.privilege is Who.ANYONE:
            stranger = Unauthenticated("The connection has not said who it is.", hint=SAY_WHO)
            return Standing(NOBODY, stranger)
        if caller.has_lapsed(now_ms):
            expired = TokenExpired("The connection's credential has expired.", hint=COME_BACK)
            return Standing(caller, expired, may_authenticate=False)
        return Standing(caller)

    def authenticate(self, connection_id: str, before: Caller, credential: str) -> Caller:
        """Make a connection the caller's behind a credential; one that is somebody's stays theirs.

        Raises `Unauthenticated`, `NotOwner`.
        """
        caller = self.callers.by_credential(credential)
        if before != NOBODY and not caller.is_as(before):
            raise NotOwner("The connection is somebody else's; open another one.")
        end = self._end_for(caller)
        if not self.directory.renew_connection(connection_id, before, caller, end):
            raise Unauthenticated("The connection was authenticated by another frame meanwhile.")
        return caller

    def _end_for(self, caller: Caller) -> int:
        known = caller.privilege is not Who.ANYONE
        lasts_s = CONNECTION_TTL_S if known else AUTHENTICATE_WITHIN_S
        return self.clock.now_ms() // 1000 + lasts_s
