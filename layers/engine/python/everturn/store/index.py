"""What a commit's events add to the session's indexes: ids, turns, versions.

It must not know how the table spells any of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from everturn.errors import IdsTaken
from everturn.ports.sessions import NodePlace, TurnRecord, VersionKind
from everturn.session.events.children import SubAgentRequested
from everturn.session.events.mail import InboxDiscarded
from everturn.session.events.messages import AgentUpdated, MessageNew, StateUpdated
from everturn.session.events.model_calls import ModelCallCompleted
from everturn.session.events.runs import RunRequested, SessionDescribed
from everturn.session.events.sessions import SessionDone, TurnCompleted, TurnContinued
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.evolve import evolve
from everturn.session.facts import Begun
from everturn.session.state import Session
from everturn.session.tree import branches_of


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where a tool call was asked for, or stands in a reply that was cut off and is never run."""

    id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Version:
    """A version of what holds on a path from a place on."""

    kind: VersionKind
    branch: int
    depth: int
    seq: int


@dataclass(frozen=True, slots=True)
class Index:
    """What one commit adds. Source: storage-and-commits, "Items"."""

    nodes: tuple[NodePlace, ...]
    calls: tuple[CallPlace, ...]
    turns: tuple[TurnRecord, ...]
    versions: tuple[Version, ...]
    branches: tuple[tuple[int, Begun], ...] = ()
    """Branches that begin, with their numbers."""

    runs: tuple[tuple[str, int], ...] = ()
    """Turns that were asked for as runs, with the events that say so."""

    description: Mapping[str, Any] | None = None
    """What the session was made as."""


def index_of(before: Session, events: Sequence[Event]) -> Index:
    """Return what `events` add after `before`; of several versions of one place the last stands.

    Raises `IdsTaken` where one id is given twice.
    """
    nodes: list[NodePlace] = []
    calls: list[CallPlace] = []
    turns: dict[str, TurnRecord] = {}
    versions: dict[tuple[str, int, int], Version] = {}
    state = before
    for seq, event in enumerate(events, start=before.seq + 1):
        match event:
            case MessageNew(private=private):
                nodes.append(NodePlace(event.id, seq, private.branch, private.depth))
            case ToolCallRequested() | SubAgentRequested():
                calls.append(CallPlace(event.id, seq))
            case ModelCallCompleted(finish_reason="length") if state.decides == "engine":
                made = (event.message or {}).get("tool_calls") or ()
                calls += [CallPlace(one["id"], seq) for one in made]
            case AgentUpdated(anchor=None) if before.seq == 0:
                pass  # the first version needs no item: it is in the log's first commit
            case AgentUpdated() | StateUpdated():
                version = _version(event, seq)
                versions[version.kind, version.branch, version.depth] = version
            case _:
                turns |= _turn_of(state, event, seq, turns)
        state = evolve(state, event)
    _must_differ(node.id for node in nodes)
    _must_differ(call.id for call in calls)
    return Index(
        tuple(nodes),
        tuple(calls),
        tuple(turns.values()),
        tuple(versions.values()),
        tuple(branches_of(enumerate(events, start=before.seq + 1)).items()),
        tuple(
            (event.turn_id or "", seq)
            for seq, event in enumerate(events, start=before.seq + 1)
            if isinstance(event, RunRequested)
        ),
        next((one.description for one in events if isinstance(one, SessionDescribed)), None),
    )


def _version(event: AgentUpdated | StateUpdated, seq: int) -> Version:
    branch, depth = (event.anchor.branch, event.anchor.depth) if event.anchor else (0, 0)
    return Version("agent" if isinstance(event, AgentUpdated) else "state", branch, depth, seq)


def _turn_of(
    session: Session, event: Event, seq: int, turns: Mapping[str, TurnRecord]
) -> dict[str, TurnRecord]:
    """Return what an event says about a turn, under the turn's id; `turns` is what is known."""
    turn_id = event.turn_id or ""
    match event:
        case InboxDiscarded():  # it never opened, and consists of its end
            waited = [one for one in session.inbox if one.turn_id == turn_id and one.is_users]
            if not waited:
                return {}  # of another session, which does not ask for it: there may be many
            is_run = any(one.run_seq for one in waited)
            return {turn_id: TurnRecord(turn_id, 0, seq, seq, "cancelled", is_run=is_run)}
        case TurnContinued(alias=alias) if turn_id:
            return {alias: TurnRecord(alias, alias_of=turn_id)}
        case TurnCompleted():
            ended = _ended(session, event, seq)
            return {ended.turn_id: ended}
        case SessionDone() if turns:
            *_, last = turns.values()
            return {last.turn_id: replace(last, last_seq=seq)}
        case _:
            return {}


def _ended(session: Session, event: TurnCompleted, seq: int) -> TurnRecord:
    """Return the record of an ended turn; one that never opened consists of its end."""
    parked = [one for one in session.parked if one.id == event.turn_id]
    turn = parked[0] if parked else session.turn
    if turn and event.turn_id in (None, turn.id):
        return TurnRecord(
            turn.id,
            turn.number,
            turn.first_seq,
            seq,
            event.outcome,
            is_run=turn.run_seq > 0,
        )
    return TurnRecord(event.turn_id or "", 0, seq, seq, event.outcome)


def _must_differ(ids: Iterable[str]) -> None:
    twice = frozenset(one for one, count in Counter(ids).items() if count > 1)
    if twice:
        raise IdsTaken(f"a commit gives {len(twice)} ids twice", ids=twice)
