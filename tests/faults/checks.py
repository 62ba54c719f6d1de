"""What must hold after a run, whoever died in it and whatever came twice.

It must not know a scenario by its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from everturn.commands.rebuild_request import RebuildRequest
from everturn.ports.sessions import Logged, SessionKey
from everturn.session.budget import spent_in
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.evolve import fold
from everturn.session.propose import propose
from faults.clients import Poller, Subscriber
from faults.cluster import Cluster
from faults.scenario import NOT_REPEATABLE
from transcripts.ledger import LEDGER
from unit.drive.kin import family_of
from unit.drive.world import KEY, TENANT

AFTER_THE_END: Final = {"session.done", "llm.call.aborted"}
"""Events that may follow the end of their turn."""

TOO_LATE: Final = {"LeaseLost", "StoreUnavailable"}
"""How a process ends that stalled for longer than it may."""


def violations(run: Cluster, undisturbed: Cluster) -> list[str]:
    """Say what of the invariants does not hold after `run`."""
    log = run.world.log()
    return [
        *_transcript(run, undisturbed),
        *_log(run, log),
        *_turns(run, log),
        *_work(run, undisturbed),
        *_rest(run, undisturbed),
        *_spending(run, log),
        *_children(run, undisturbed),
        *(line for client in run.subscribers for line in _followed(client, log)),
        *(line for client in run.pollers for line in _followed(client, log)),
        *run.wrong,
    ]


def _transcript(run: Cluster, undisturbed: Cluster) -> Iterator[str]:
    if told(run) != told(undisturbed):
        yield f"transcript {told(run)}"


def told(run: Cluster, session: str = KEY.session) -> list[tuple[str, Any]]:
    """Return the transcript, results of one batch in the order of their texts.

    The result of a write whose end nobody saw counts as its result, where a driver was struck that
    had sent it.
    """
    expected = f"{NOT_REPEATABLE} ran"
    is_sent_by_driver = NOT_REPEATABLE not in run.scenario.by_machine
    is_unsure = is_sent_by_driver and "driver" in run.fate.struck_roles()
    texts = [
        (role, expected if is_unsure and content == OUTCOME_UNKNOWN else content)
        for role, content in run.world.texts(session)
    ]
    batches = groupby(texts, key=lambda text: text[0] == "tool")
    return [one for is_tool, batch in batches for one in (sorted(batch) if is_tool else batch)]


def _log(run: Cluster, log: tuple[Logged, ...]) -> Iterator[str]:
    """The log is the truth: it folds to the head, and every model request stands in it."""
    events = [event for commit in log for event in commit.events]
    ids = Counter(event.id for event in events if event.type == "message.new")
    if fold(events) != run.world.head().session:
        yield "the log does not fold to the head"
    if [seq for seq, _ in _numbered(log)] != [*range(1, len(events) + 1)]:
        yield "the log is not numbered without gaps"
    for message, count in ids.items():
        if count > 1:
            yield f"message {message} stands {count} times"
    rebuild = RebuildRequest(run.world.store)
    for seq, event in _numbered(log):
        if event.type == "llm.call.requested":
            request = rebuild(KEY, seq)  # raises where it is not what was sent
            LEDGER.note(request.body, request.failed)


def _turns(run: Cluster, log: tuple[Logged, ...]) -> Iterator[str]:
    ends: dict[str, str] = {}
    of_messages = set()
    for seq, event in _numbered(log):
        turn_id = event.turn_id or ""
        if event.type == "turn.started" and event.reason == "message":
            of_messages.add(turn_id)
        if event.type == "turn.completed":
            if turn_id in ends:
                yield f"turn {turn_id} ended again at {seq}"
            ends[turn_id] = event.outcome
        elif turn_id in ends and event.type not in AFTER_THE_END:
            yield f"{event.type} of turn {turn_id} after its end"
    if run.world.head().quarantined is not None:
        ends[f"t{len(ends) + 1}"] = "quarantined"
    wanted = {f"t{n + 1}": run.scenario.end_of(n) for n in range(len(run.scenario.turns))}
    if {ends.pop(turn_id, "") for turn_id in of_messages} - {"done"}:
        yield "the turn of a message did not end"
    if ends != wanted:
        yield f"the turns ended as {ends}"


def _numbered(log: tuple[Logged, ...]) -> Iterator[tuple[int, Any]]:
    return (pair for commit in log for pair in commit.numbered())


def _work(run: Cluster, undisturbed: Cluster) -> Iterator[str]:
    """No write is started twice, and what may be repeated carries the same key each time."""
    for (tool, call_id), count in run.workers.started.items():
        if tool == NOT_REPEATABLE and count > 1:
            yield f"the write {call_id} was started {count} times"
    for tool in run.scenario.by_machine:
        if run.workers.asked[tool] != undisturbed.workers.asked[tool]:
            yield f"{tool}, which no driver ran, was asked for {run.workers.asked[tool]} times"
    for call_id, keys in run.workers.keys.items():
        if len(keys) > 1:
            yield f"attempts of {call_id} had the keys {sorted(map(str, keys))}"
    results = [content for role, content in run.world.texts() if role == "tool"]
    started = Counter(tool for tool, _ in run.workers.started)
    if results.count(f"{NOT_REPEATABLE} ran") > started[NOT_REPEATABLE]:
        yield "a write has a result and never ran"


def _rest(run: Cluster, undisturbed: Cluster) -> Iterator[str]:
    """Nothing is left to do, nobody is left waiting, and nothing is written any more."""
    head = run.world.head()
    if run.accepted != undisturbed.accepted:
        yield f"inputs {run.accepted} were accepted"
    if head.quarantined is None:
        proposals = propose(head.session)
        if head.session.turn or head.session.calls or head.session.decisions:
            yield "something is still open"
        if proposals.effects or proposals.next_due_ms is not None:
            yield "something is still to be run, and nobody will"
    if head.due_epoch_s is not None:
        yield "the sweep would still look after it"
    if run.ended_seq != head.session.seq:
        yield f"events after {run.ended_seq}, when all was over"
    if run.woken_by_sweep and not run.scenario.swept and not _waited_long(run):
        yield "the sweep had to find it"
    watching = {one.connection_id for one in run.world.store.watch(KEY).watchers}
    if gone := watching - run.connections.names():
        yield f"{sorted(gone)} are gone and still pushed to"
    expected = undisturbed.failures.keys() | (TOO_LATE if run.fate.stall_at else set())
    if new := run.failures.keys() - expected:
        yield f"functions ended with {sorted(new)}"


def _spending(run: Cluster, log: tuple[Logged, ...]) -> Iterator[str]:
    """What the log records as spent is counted once, whatever came twice."""
    budget = run.world.budgets.one(TENANT, None)
    recorded = spent_in(event for commit in log for event in commit.events)
    if budget is not None and budget.spent != recorded:
        yield f"{budget.spent} is counted of {recorded}"


def _children(run: Cluster, undisturbed: Cluster) -> Iterator[str]:
    """Every child came to what it came to undisturbed, once, and nothing of it is left to do."""
    found, expected = _children_of(run), _children_of(undisturbed)
    if found != expected:
        yield f"children came to {found}"


def _children_of(run: Cluster) -> list[dict[str, Any]]:
    _, *below = family_of(run.world.store, KEY)
    return [_came_to(run, key) for key in below]


def _came_to(run: Cluster, key: SessionKey) -> dict[str, Any]:
    """Return what there is to say of a child, whatever its id."""
    head, log = run.world.store.head(key), run.world.log(key.session)
    if head is None:
        return {}
    events = [event for commit in log for event in commit.events]
    session, proposals = head.session, propose(head.session)
    return {
        "told": told(run, key.session),
        "ends": [event.outcome for event in events if event.type == "turn.completed"],
        "is_cancelled": session.is_cancelled,
        "folds": fold(events) == session,
        "numbered": [seq for seq, _ in _numbered(log)] == [*range(1, len(events) + 1)],
        "open": [session.turn, session.calls, session.decisions, session.inbox, session.outbox],
        "to_do": [proposals.effects, proposals.next_due_ms, head.due_epoch_s],
    }


def _waited_long(run: Cluster) -> bool:
    """Return whether a message was out of sight for so long that the sweep may look after it."""
    return any("queue.extend" in place or "recovery:" in place for place in run.fate.places)


def _followed(client: Subscriber | Poller, log: tuple[Logged, ...]) -> Iterator[str]:
    """A reader that keeps the rules knows every event in order, and no wrong piece of an answer."""
    follower = client.follower
    known = [(event["seq"], event["payload"]["type"]) for event in follower.events]
    if known != [(seq, event.type) for seq, event in _numbered(log)]:
        yield f"a reader knows {len(known)} events, up to {follower.seq}"
    if follower.has_gap:
        yield f"a reader waits for what comes before {sorted(follower.early)}"
    for (call_id, attempt), text in follower.said.items():
        whole = _answer(call_id, attempt, log)
        if whole is not None and not whole.startswith(text):
            yield f"attempt {attempt} of {call_id} was heard to say {text!r}"


def _answer(call_id: str, attempt: int, log: tuple[Logged, ...]) -> str | None:
    """Return what a call said in the end, or until it was broken off."""
    for _, event in _numbered(log):
        if event.type == "llm.call.completed" and event.id == call_id:
            return event.message.get("content") or ""
        if event.type == "llm.call.aborted" and (event.id, event.attempt) == (call_id, attempt):
            text: str = event.partial_text
            return text
    return None
