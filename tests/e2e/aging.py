"""Makes sessions old without playing them, and weighs what their commits write."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from e2e.client import Client
from e2e.waiting import until
from everturn_local.capacity import item_size_bytes
from everturn_local.runtime import LocalRuntime
from everturn_local.usage import Usage


def age(tenant: str, session_id: str, upto_seq: int) -> int:
    """Append whole turns to an idle session until it has that many events; return how many it has.

    Commits are decided by the core and written by the store, one for each side of a turn, as a
    client and a driver would have made them; no function takes part.
    """
    aged = _Aged(tenant, session_id)
    while aged.seq < upto_seq:
        aged.turn()
    return aged.seq


class _Aged:
    """Uses the engine as the runtime imported it: each start imports it afresh."""

    def __init__(self, tenant: str, session_id: str) -> None:
        adapters = importlib.import_module("everturn.wiring.adapters")
        use_cases = importlib.import_module("everturn.wiring.use_cases")
        self._sessions = importlib.import_module("everturn.ports.sessions")
        self._commands = importlib.import_module("everturn.session.commands")
        self._events = importlib.import_module("everturn.session.events.sessions")
        self._facts = importlib.import_module("everturn.session.facts")
        self._decide = importlib.import_module("everturn.session.decide.entry").decide
        self._due = importlib.import_module("everturn.session.propose").due_epoch_s
        self._clock = importlib.import_module("everturn.wiring.clients").CLOCK
        self._store = adapters.store()
        self._key = self._sessions.SessionKey(tenant, session_id)
        head = self._store.head(self._key)
        loaded = use_cases.session_reader().load(self._key, head)
        self._head, self._known = head, loaded.facts

    @property
    def seq(self) -> int:
        """The number of the last event."""
        seq: int = self._head.session.seq
        return seq

    def turn(self) -> None:
        """Append one turn: a short question and a short answer."""
        session = self._head.session
        said = {"role": "user", "content": f"question {session.turns}"}
        self._append(
            lambda stamp, facts: self._commands.SubmitInput(
                stamp,
                facts,
                session.session_id,
                session.agent_id,
                self._events.Owner(id=session.owner_id),
                stamp.uuid(2),
                "client.message",
                (said,),
            )
        )
        (call,) = self._head.session.calls
        answered = self._commands.ModelAnswered(
            {"role": "assistant", "content": f"answer {session.turns}"}, "stop"
        )
        self._append(
            lambda stamp, facts: self._commands.SettleModelCall(
                stamp, facts, call.id, call.attempt, answered
            )
        )

    def _append(self, make: Callable[[Any, Any], Any]) -> None:
        head = self._head
        stamp = self._facts.Stamp(self._clock.now_ms(), self._clock.entropy())
        decided = self._decide(head.session, make(stamp, self._known))
        session = decided.session
        self._head = self._store.append(
            self._sessions.NewCommit(
                key=self._key,
                before=head,
                after=session,
                events=decided.events,
                commit_id=stamp.uuid(0),
                at_ms=stamp.now_ms,
                by=f"driver:{head.owner.epoch}",
                owner=head.owner,
                due_epoch_s=self._due(session, stamp.now_ms, 1200, head.due_epoch_s),
            )
        )
        path = tuple(node for node in decided.path if node.seq >= session.window.from_seq)
        self._known = replace(self._known, path=path)


@dataclass(frozen=True, slots=True)
class Written:
    """What a turn wrote."""

    units: float
    """Of DynamoDB, all transactions together."""

    transactions: int
    commit_bytes: tuple[int, ...]
    """Of the log items, in their order."""

    object_bytes: int
    """Sent to the bucket."""


def written_by(
    runtime: LocalRuntime, client: Client, session_id: str, act: Callable[[], object]
) -> Written:
    """Do something that a driver finishes; return what that wrote, once the driver has left."""
    seq = client.session(session_id)["seq"]
    before = runtime.meter.snapshot()

    def used() -> Usage:
        return runtime.meter.snapshot().minus(before)

    act()
    until(lambda: used().total(operation="lambda.driver").requests)
    transactions = used().total(category="main", operation="dynamodb.TransactWriteItems")
    return Written(
        units=transactions.write_units,
        transactions=transactions.requests,
        commit_bytes=commit_bytes(runtime, client.tenant, session_id, seq),
        object_bytes=used().total(operation="s3.PutObject").bytes_in,
    )


def commit_bytes(
    runtime: LocalRuntime, tenant: str, session_id: str, after_seq: int
) -> tuple[int, ...]:
    """Return the sizes of a session's log items behind event `after_seq`."""
    pages = runtime.clients.dynamodb.get_paginator("query").paginate(
        TableName=runtime.physical["Table"],
        KeyConditionExpression="pk = :pk AND sk BETWEEN :low AND :high",
        ExpressionAttributeValues={
            ":pk": {"S": f"SESSION#{tenant}#{session_id}"},
            ":low": {"S": f"LOG#{after_seq + 1:012d}"},
            ":high": {"S": "LOG#999999999999"},
        },
    )
    return tuple(item_size_bytes(item) for page in pages for item in page["Items"])
