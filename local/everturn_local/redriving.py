"""`everturn redrive`: the engine's use case on AWS, or on the local runtime's endpoint.

It must not decide what is done. Credentials, region and AWS_ENDPOINT_URL are boto3's affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import boto3

from everturn.commands.redrive import DeadLetters, Redrive, Redriven
from everturn.ports.sessions import SessionKey
from everturn.store.blobs import NoBlobs
from everturn.store.dead_letters import SqsDeadLetters
from everturn.store.dynamo import DynamoSessionStore
from everturn.store.wake import SqsWake
from everturn.wiring.clients import AWS, CLOCK, late


def redrive(
    table: str,
    queue_url: str,
    dead_url: str,
    sessions: Sequence[SessionKey],
    *,
    all_quarantined: bool,
    dry_run: bool,
) -> Iterator[Redriven]:
    """Yield what was done, sessions first, then dead letters where their queue is named.

    Raises `EverturnError` where the table or a queue cannot be listed.
    """
    sqs = boto3.client("sqs", config=AWS)
    store = DynamoSessionStore(table, boto3.client("dynamodb", config=AWS), NoBlobs())
    wake = SqsWake(sqs, queue_url, late("stepfunctions"), "")
    use_case = Redrive(store, wake, CLOCK, dry_run=dry_run)
    yield from use_case.sessions(sessions, all_quarantined=all_quarantined)
    if dead_url:
        queue = SqsDeadLetters(sqs, dead_url, queue_url)
        letters = DeadLetters(queue.receive, queue.give_back, queue.let_go)
        only = None if all_quarantined or not sessions else sessions
        yield from use_case.letters(letters, only)


def session_named(name: str) -> SessionKey:
    """Return the session of `TENANT/SESSION`. Raises `ValueError`."""
    tenant, slash, session = name.partition("/")
    if not (tenant and slash and session):
        raise ValueError(f"{name} is not TENANT/SESSION")
    return SessionKey(tenant, session)
