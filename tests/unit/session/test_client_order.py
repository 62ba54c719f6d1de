"""Tools of the client that are to be run one after another, beside those that only read."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.session.commands import RaiseInterrupt, ResumeInterrupt, SettleCall
from everturn.session.formats import format_of
from everturn.session.propose import propose
from everturn.session.slots import has_room
from everturn.session.state import CallStatus
from unit.session.building import CONFIG, Story, made

WRITES: dict[str, Any] = {"name": "write", "handler": "client", "overlap": False}
READS: dict[str, Any] = {"name": "read", "handler": "client", "overlap": True}
USUAL: dict[str, Any] = {"name": "either", "handler": "client"}


def asked(*names: str) -> Story:
    """Return a session whose model asked for these tools of the client, in this order."""
    story = Story(config={**CONFIG, "tools": [WRITES, READS, USUAL]})
    story.submit()
    story.answer("", *(made(f"c{n}", name) for n, name in enumerate(names, start=1)))
    return story


def told(story: Story) -> list[str]:
    """Return the calls that the client was told of and has not answered."""
    tools = [call for call in story.session.calls if call.kind == "tool_call"]
    return [call.id for call in tools if call.status is CallStatus.PENDING]


def answer(story: Story, call_id: str) -> None:
    """Have the client answer, and a driver look."""
    action = {"type": "tool.result", "id": call_id, "result": "done"}
    story.do(lambda at, facts: SettleCall(at, facts, action, ("client",)))
    if propose(story.session).is_ready:
        story.proceed()


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (("write", "write", "write"), [["c1"], ["c2"], ["c3"]]),
        (("read", "read", "write", "read"), [["c1", "c2"], ["c2"], ["c3"], ["c4"]]),
        (("write", "read", "either"), [["c1"], ["c2", "c3"], ["c3"]]),
        (("either", "either"), [["c1", "c2"], ["c2"]]),
    ],
)
def test_what_writes_waits_for_those_before_it_and_holds_up_those_behind(
    names: tuple[str, ...], steps: list[list[str]]
) -> None:
    story = asked(*names)
    seen = []

    while told(story):
        seen.append(told(story))
        answer(story, told(story)[0])

    assert seen == steps
    assert len(story.requests()) == 2


def test_nobody_is_woken_for_a_call_whose_turn_has_not_come() -> None:
    story = asked("write", "write")
    first, second = story.session.calls

    assert not propose(story.session).is_ready
    assert has_room(story.session, first)
    assert not has_room(story.session, second)
    assert second.deadline_ms is None
    assert format_of(story.session) == 3


def test_a_call_that_is_not_of_the_session_any_more_has_room() -> None:
    story = asked("write", "write")
    gone, _ = story.session.calls
    answer(story, gone.id)

    assert has_room(story.session, gone)


def test_a_call_whose_turn_comes_in_a_pause_waits_for_its_end() -> None:
    """P-6."""
    story = asked("write", "write")
    story.do(lambda at, facts: RaiseInterrupt(at, facts, "int-1", "machine", "stop"))

    answer(story, "c1")
    waits = propose(story.session).is_ready
    story.do(lambda at, facts: ResumeInterrupt(at, facts, "int-1", "machine", None))
    story.proceed()

    assert not waits
    assert told(story) == ["c2"]
