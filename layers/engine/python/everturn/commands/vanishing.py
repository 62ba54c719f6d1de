"""A session that is deleted while it is read: half of it is gone, and that is no defect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from everturn.commands.reading import no_such_session
from everturn.errors import DefectError
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey


@contextmanager
def vanishing(store: SessionStore, key: SessionKey) -> Iterator[None]:
    """Let the body read a session that it has found. Raises `UnknownSession` if it goes meanwhile.

    One request more, where the body fails on what it reads.
    """
    try:
        yield
    except DefectError as error:
        if store.incarnation(key) is not None:
            raise
        raise no_such_session() from error
