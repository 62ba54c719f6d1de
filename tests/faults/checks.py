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
from everturn.runs.frames import TERMINAL
from everturn.session.budget import spent_in
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.evolve import fold
from everturn.session.propose import propose
from everturn.session.state import Session
from faults.clients import Poller, Subscriber
from faults.cluster import Cluster
from faults.run_clients import Frame, RunReader
from faults.run_functions import names_of
from faults.scenario import NOT_REPEATABLE
from transcripts.ledger import LEDGER
from unit.drive.kin import family_of
from unit.drive.world import TENANT

AFTER_THE_END: Final = {"session.done", "llm.call.aborted"}
"""Events that may follow the end of their turn."""

ENDS_OF_RUNS: Final = {"done": "result", "failed": "error", "cancelled": "cancelled"}
"""A turn's end to the frame that tells it."""

PIECES: Final = {"assistant_delta", "thinking_delta"}
"""Frames of which one reader may see more than another: those of an attempt that is over."""

TOO_LATE: Final = {"LeaseLost", "StoreUnavailable"}
"""How a process ends that stalled for longer than it may."""


def violations(run: Cluster, undisturbed: Cluster) -> list[str]:
    """Say what of the invariants does not hold after `run`."""
    log = run.world.log(run.key.session)
    return [
        *_transcript(run, undisturbed),
        *_log(run, log),
        *_turns(run, log),
        *_work(run, undisturbed),
        *_rest(run, undisturbed),
        *_strangers(run),
        *_spending(run, log),
        *_children(run, undisturbed),
        *(line for client in run.subscribers for line in _followed(client, log)),
        *(line for client in run.pollers for line in _followed(client, log)),
        *(line for client in run.run_readers for line in _read_along(run, client)),
        *run.wrong,
    ]


def _transcript(run: Cluster, undisturbed: Cluster) -> Iterator[str]:
    if told(run) != told(undisturbed):
        yield f"transcript {told(run)}"


def told(run: Cluster, session: str = "") -> list[tuple[str, Any]]:
    """Return the transcript, results of one batch in the order of their texts.

    The result of a write whose end nobody saw counts as its result, where a driver was struck that
    had sent it.
    """
    expected = f"{NOT_REPEATABLE} ran"
    is_sent_by_driver = NOT_REPEATABLE not in run.scenario.by_machine
    is_unsure = is_sent_by_driver and "driver" in run.fate.struck_roles()
    texts = [
        (role, expected if is_unsure and content == OUTCOME_UNKNOWN else content)
        for role, content in run.world.texts(session or run.key.session)
    ]
    batches = groupby(texts, key=lambda text: text[0] == "tool")
    return [one for is_tool, batch in batches for one in (sorted(batch) if is_tool else batch)]


def _log(run: Cluster, log: tuple[Logged, ...]) -> Iterator[str]:
    """The log is the truth: it folds to the head, and every model request stands in it."""
    events = [event for commit in log for event in commit.events]
    ids = Counter(event.id for event in events if event.type == "message.new")
    if fold(events) != run.world.head(run.key.session).session:
        yield "the log does not fold to the head"
    if [seq for seq, _ in _numbered(log)] != [*range(1, len(events) + 1)]:
        yield "the log is not numbered without gaps"
    for message, count in ids.items():
        if count > 1:
            yield f"message {message} stands {count} times"
    rebuild = RebuildRequest(run.world.store)
    for seq, event in _numbered(log):
        if event.type == "llm.call.requested":
            request = rebuild(run.key, seq)  # raises where it is not what was sent
            LEDGER.note(request.body, request.failed)


def _turns(run: Cluster, log: tuple[Logged, ...]) -> Iterator[str]:
    ends: dict[str, str] = {}
    names = names_of(run.functions, run.key)
    of_messages = set()
    for seq, event in _numbered(log):
        turn_id = names.get(event.turn_id or "", event.turn_id or "")
        if event.type == "turn.started" and event.reason == "message":
            of_messages.add(turn_id)
        if event.type == "turn.completed":
            if turn_id in ends:
                yield f"turn {turn_id} ended again at {seq}"
            ends[turn_id] = event.outcome
        elif turn_id in ends and event.type not in AFTER_THE_END:
            yield f"{event.type} of turn {turn_id} after its end"
    if run.world.head(run.key.session).quarantined is not None:
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
    results = [content for role, content in run.world.texts(run.key.session) if role == "tool"]
    started = Counter(tool for tool, _ in run.workers.started)
    if results.count(f"{NOT_REPEATABLE} ran") > started[NOT_REPEATABLE]:
        yield "a write has a result and never ran"


def _rest(run: Cluster, undisturbed: Cluster) -> Iterator[str]:
    """Nothing is left to do, nobody is left waiting, and nothing is written any more."""
    head = run.world.head(run.key.session)
    if run.accepted != undisturbed.accepted:
        yield f"inputs {run.accepted} were accepted"
    if head.quarantined is None:
        proposals = propose(head.session)
        if any(_open(head.session)):
            yield "something is still open"
        if proposals.effects or proposals.next_due_ms is not None:
            yield "something is still to be run, and nobody will"
    if head.due_epoch_s is not None:
        yield "the sweep would still look after it"
    if run.ended_seq != head.session.seq:
        yield f"events after {run.ended_seq}, when all was over"
    if run.woken_by_sweep and not run.scenario.swept and not _waited_long(run):
        yield "the sweep had to find it"
    watching = {one.connection_id for one in run.world.store.watch(run.key).watchers}
    if gone := watching - run.connections.names():
        yield f"{sorted(gone)} are gone and still pushed to"
    expected = undisturbed.failures.keys() | (TOO_LATE if run.fate.stall_at else set())
    if new := run.failures.keys() - expected:
        yield f"functions ended with {sorted(new)}"


def _strangers(run: Cluster) -> Iterator[str]:
    family = {*family_of(run.world.store, run.key)}
    if strange := [key.session for key in run.world.store.keys(TENANT) if key not in family]:
        yield f"the sessions {strange} were made as well"


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
    _, *below = family_of(run.world.store, run.key)
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
        "open": [*_open(session), session.outbox],
        "to_do": [proposals.effects, proposals.next_due_ms, head.due_epoch_s],
    }


def _open(session: Session) -> list[Any]:
    return [session.turn, session.calls, session.decisions, session.inbox]


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


def _read_along(run: Cluster, client: RunReader) -> Iterator[str]:
    """A run's frames rise, nothing comes twice, the end comes once: as all is read at once."""
    numbers = [seq for seq, _, _ in client.frames]
    if numbers != sorted(set(numbers)):
        yield f"the frames of run {client.number} came as {numbers}"
    ids = [data["toolUseId"] for _, kind, data in client.frames if kind == "local_tool_call"]
    if len(ids) != len(set(ids)):
        yield f"a client was asked to run {ids}"
    ends = [kind for _, kind, _ in client.frames if kind in TERMINAL]
    if ends != [ENDS_OF_RUNS[run.scenario.end_of(client.number)]]:
        yield f"run {client.number} was told to end as {ends}"
    whole = [(one.seq, one.type, one.data) for one in run.doors.told(client.run)]
    heard, said = _whole_frames(client.frames), _whole_frames(whole)
    if heard != said:
        yield f"of run {client.number} was told {heard}, and there is {said}"


def _whole_frames(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame[1] not in PIECES]
