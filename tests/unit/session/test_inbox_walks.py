"""Runs and messages that wait, at random: each turn opens once, in its place, in its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.session.events.mail import InboxDequeued, InboxDiscarded
from everturn.session.events.sessions import TurnCompleted, TurnStarted
from everturn.session.events.stored import from_json, to_json
from everturn.session.evolve import fold
from everturn.session.state import has_next
from examples import per_cent
from unit.session.asking_runs import WITH_TOOLS, WITHOUT_TOOLS, ask, begin, drop, edit, enqueue
from unit.session.building import Story, only
from unit.session.deciding import Deciding, echo

OPS = ("run", "item", "quiet", "edit", "drop", "stop", "stop waiting", "go on")
MOVES = st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 99)), max_size=14)


class Queue:
    """A session, and beside it what a plain list would make of the same moves."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.waiting: list[str] = []
        """Turns that wait, oldest first."""

        self.quiet: set[str] = set()
        self.begun: list[str] = []
        self.words: dict[str, str] = {}
        """What each turn begins with."""

    def play(self, op: str, n: int) -> None:
        """Make one move."""
        name, held = f"t{len(self.words)}", self.waiting
        match op:
            case "run":
                is_free = self.story.session.turn is None and not held
                config: Mapping[str, Any] = WITH_TOOLS if n % 2 else WITHOUT_TOOLS
                ask(self.story, name, f"run {name}", config)
                self.words[name] = f"run {name}"
                (self.begun if is_free else held).append(name)
            case "item" | "quiet":
                enqueue(self.story, name, f"item {name}", id="m-same", wakes=op == "item")
                self.words[name] = f"item {name}"
                held.append(name)
                self.quiet |= {name} if op == "quiet" else set()
            case "edit" if held:
                at = n % len(held)
                text = f"edit {len(self.story.log)}"
                edit(self.story, self.story.session.inbox[at].id, text)
                self.words[held[at]] = text
            case "drop" if held:
                drop(self.story, self.story.session.inbox[n % len(held)].id)
                del held[n % len(held)]
            case "stop waiting" if held:
                self.story.cancel(held.pop(n % len(held)), keep_inbox=True)
            case "stop" if self.story.session.turn is not None:
                self.story.cancel(keep_inbox=True)
            case "go on":
                self.go_on()
            case _:
                pass

    def go_on(self) -> None:
        """Have the open turn end and the next one open, as long as there is one that wakes."""
        for aborting in self.story.session.aborting:
            self.story.note_aborted(aborting.id)
        if isinstance(self.story, Deciding):
            self.story.run()
            self._take(everything=True)
            return
        if self.story.session.turn is not None:
            self.story.answer("Done.")
        self.story.proceed()
        self._take(everything=False)

    def _take(self, *, everything: bool) -> None:
        while set(self.waiting) - self.quiet:
            self.begun.append(self.waiting.pop(0))
            if not everything:
                return

    def check(self) -> None:
        """Hold the session against the list."""
        story = self.story
        assert [one.turn_id for one in story.session.inbox] == self.waiting
        assert [one.turn_id for one in only(TurnStarted, story.log)] == self.begun
        ended = [one.turn_id for one in only(TurnCompleted, story.log)]
        gone = [one.turn_id for one in only(InboxDiscarded, story.log)]
        assert len({*ended, *gone}) == len(ended) + len(gone)
        assert not set(gone) & set(self.begun)
        taken = [one.turn_id for one in only(InboxDequeued, story.log)]
        assert [one for one in self.begun if one in taken] == taken
        assert fold([from_json(to_json(one)) for one in story.log]) == story.session

    def said(self) -> list[Any]:
        return [one["content"] for one in self.story.messages() if one["role"] == "user"]


@pytest.mark.parametrize("kind", [Story, Deciding])
@settings(deadline=None, max_examples=per_cent(50))
@given(moves=MOVES)
def test_turns_open_in_the_order_of_their_coming_each_with_its_own_words(
    kind: type[Story], moves: list[tuple[str, int]]
) -> None:
    """IB-2 to IB-5; the same id given again and again never stands for an earlier message."""
    queue = Queue(kind())
    begin(queue.story)
    if isinstance(queue.story, Deciding):
        queue.story.worker_ = echo
        queue.story.run()

    for op, n in moves:
        queue.play(op, n)
        queue.check()

    for _ in queue.words:
        queue.go_on()
    queue.check()
    assert not has_next(queue.story.session)
    heard, begun = queue.said(), [queue.words[one] for one in queue.begun]
    if kind is Story:
        assert heard == begun
    ends = only(TurnCompleted, queue.story.log)
    stopped = {queue.words[one.turn_id] for one in ends if one.outcome == "cancelled"}
    assert [one for one in heard if one not in stopped] == [
        one for one in begun if one not in stopped
    ]
    ids = [one["id"] for one in queue.story.messages()]
    assert len(set(ids)) == len(ids)
