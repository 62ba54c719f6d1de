"""Which bodies of a log a reader of runs needs: the others are left where they are.

A worker's states, prompts and settings may be in the bucket, each a request; no frame shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from everturn.ports.sessions import Logged
from everturn.session.events.model_calls import ModelCallCompleted, ModelCallRequested
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.stored import Event

TOLD: Final = frozenset(
    {
        "llm.call.completed",
        "llm.call.aborted",
        "tool.call.requested",
        "tool.call.completed",
        "tool.call.errored",
        "sub_agent.turn_completed",
        "sub_agent.errored",
    }
)
"""Events whose bodies stand in frames; the end of a turn is read apart."""


def without_bodies(
    commits: Iterable[Logged], but: Callable[[int, Event], bool]
) -> tuple[Logged, ...]:
    """Return commits whose bodies elsewhere are forgotten, but those of some events."""
    return tuple(
        replace(
            commit,
            events=tuple(
                event if but(seq, event) or not event.refs else _bare(event)
                for seq, event in commit.numbered()
            ),
        )
        for commit in commits
    )


def told_of(run_id: str, commits: Iterable[Logged]) -> tuple[Logged, ...]:
    """Return commits with those bodies only that frames of a run show."""
    return without_bodies(commits, lambda _, event: event.turn_id == run_id and event.type in TOLD)


def ended_with(run_id: str, commits: Sequence[Logged]) -> tuple[Logged, ...]:
    """Return commits of a whole turn with those bodies only that its outcome is made of."""
    wanted: dict[str, int] = {}
    for commit in commits:
        for seq, event in commit.numbered():
            match event:
                case TurnCompleted() | ModelCallCompleted() if event.turn_id == run_id:
                    wanted[event.type] = seq
                    wanted |= {f"{seq} {at}": one for at, one in enumerate(_places(event))}
                case ModelCallRequested() if event.turn_id == run_id:
                    wanted["header"] = event.private.header_seq
                case _:
                    pass
    kept = set(wanted.values())
    return without_bodies(commits, lambda seq, _: seq in kept)


def header_before(run_id: str, commits: Sequence[Logged]) -> int | None:
    """Return the request header of a turn's last model call, where it stands before the turn."""
    found = None
    for commit in commits:
        for event in commit.events:
            if isinstance(event, ModelCallRequested) and event.turn_id == run_id:
                found = event.private.header_seq
    return found if found and commits and found < commits[0].first_seq else None


def _places(event: Event) -> list[int]:
    return [ref.place.seq for ref in event.refs.values() if ref.place]


def _bare(event: Event) -> Event:
    return event.model_copy(update={"refs": {}})
