"""`everturn redrive` in memory: what it lifts, wakes and moves, and that a second run is safe."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from everturn.commands.redrive import DeadLetters, Done, Redrive, Redriven
from everturn.errors import QueueUnavailable, StoreUnavailable, StoreUnreadable
from everturn.ports.sessions import Quarantine, SessionKey
from everturn.ports.wake import Wake
from everturn.protocol.wake import DeadLetter
from unit.commands.test_quarantine import Broken
from unit.drive.doubles import NOON_MS, FrozenClock, NoQueue
from unit.drive.world import KEY, TENANT, World

WHY = Quarantine("contradiction", NOON_MS)
OTHER = SessionKey(TENANT, "s2")


def world_with(*sessions: str) -> tuple[World, Broken]:
    """Return a world whose sessions have an open turn each, and nobody who was told."""
    store = Broken()
    world = World(clock=FrozenClock(), store=store)
    for session in sessions:
        world.submit("[[say:Hi]]", session=session)
    world.wake.sent.clear()
    return world, store


def redrive(world: World, *, dry_run: bool = False, wake: Wake | None = None) -> Redrive:
    return Redrive(world.store, wake or world.wake, world.clock, dry_run=dry_run)


def test_a_quarantined_session_is_lifted_and_goes_on() -> None:
    world, store = world_with("s1")
    store.quarantine(KEY, None, WHY)

    lines = list(redrive(world).sessions([KEY], all_quarantined=False))
    head = world.head()
    world.advance()

    assert lines == [Redriven(Done.LIFTED, KEY, "contradiction")]
    assert (head.quarantined, head.version, head.due_epoch_s) == (None, 3, NOON_MS // 1000)
    assert world.texts()[-1] == ("assistant", "Hi")
    assert world.head().due_epoch_s is None


def test_all_that_are_quarantined_are_found_and_named_ones_are_not_done_twice() -> None:
    world, store = world_with("s1", "s2", "s3")
    for key in (KEY, OTHER):
        store.quarantine(key, None, WHY)

    lines = list(redrive(world).sessions([KEY], all_quarantined=True))

    assert lines == [Redriven(Done.LIFTED, key, "contradiction") for key in (KEY, OTHER)]
    assert list(store.quarantined()) == []
    assert [sent.message["session"] for sent in world.wake.sent] == ["s1", "s2"]


def test_a_dry_run_says_the_same_and_does_nothing() -> None:
    world, store = world_with("s1", "s2")
    store.quarantine(KEY, None, WHY)
    before = (world.head(), world.head("s2"))

    lines = list(redrive(world, dry_run=True).sessions([KEY, OTHER], all_quarantined=True))

    assert lines == [Redriven(Done.LIFTED, KEY, "contradiction"), Redriven(Done.WOKEN, OTHER)]
    assert (world.head(), world.head("s2")) == before
    assert world.wake.sent == []


def test_what_is_not_quarantined_is_woken_if_it_has_a_turn() -> None:
    world, _ = world_with("s1", "s2")
    world.submit("[[say:Hi]]", session="s3")
    world.advance()
    world.wake.sent.clear()
    keys = [OTHER, SessionKey(TENANT, "s3"), SessionKey(TENANT, "s4")]

    lines = list(redrive(world).sessions(keys, all_quarantined=False))

    assert [line.done for line in lines] == [Done.WOKEN, Done.IDLE, Done.UNKNOWN]
    assert [sent.message["session"] for sent in world.wake.sent] == ["s2"]


def test_a_session_without_a_turn_is_lifted_and_nobody_is_woken() -> None:
    world, store = world_with()
    world.submit("[[say:Hi]]")
    world.advance()
    world.wake.sent.clear()
    store.quarantine(KEY, None, WHY)

    lines = list(redrive(world).sessions([KEY], all_quarantined=False))

    assert lines == [Redriven(Done.LIFTED, KEY, "contradiction")]
    assert (world.head().quarantined, world.head().due_epoch_s) == (None, None)
    assert world.wake.sent == []


def test_a_head_that_cannot_be_read_here_is_lifted_and_left_to_the_drivers() -> None:
    world, store = world_with("s1")
    store.quarantine(KEY, None, WHY)
    store.head_error = StoreUnreadable("HEAD cannot be read")

    lines = list(redrive(world).sessions([KEY], all_quarantined=False))

    assert lines == [Redriven(Done.LIFTED, KEY, "contradiction")]
    assert store.stored().quarantined is None
    assert len(world.wake.sent) == 1


def test_a_wake_up_that_cannot_be_sent_is_told_and_made_up_for_by_the_sweep() -> None:
    world, store = world_with("s1", "s2")
    store.quarantine(KEY, None, WHY)

    lines = list(redrive(world, wake=NoQueue()).sessions([KEY, OTHER], all_quarantined=False))

    failed = [Redriven(Done.FAILED, key, "QueueUnavailable") for key in (KEY, OTHER)]
    assert lines == failed
    assert store.due(NOON_MS // 1000, 10) == (KEY,)


# ---- dead letters


@dataclass
class Pile:
    """A dead-letter queue that gives out two at a time."""

    waiting: list[DeadLetter]
    moved: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    refuse: frozenset[str] = frozenset()

    def port(self) -> DeadLetters:
        return DeadLetters(self.receive, self.give_back, self.let_go)

    def receive(self) -> list[DeadLetter]:
        batch, self.waiting = self.waiting[:2], self.waiting[2:]
        return batch

    def give_back(self, letter: DeadLetter) -> None:
        if letter.message_id in self.refuse:
            raise QueueUnavailable("throttled")
        self.moved.append(letter.message_id)

    def let_go(self, letter: DeadLetter) -> None:
        if letter.message_id == "never":
            raise StoreUnavailable("no answer")
        self.released.append(letter.message_id)


def letter(name: str, session: str | None = "s1") -> DeadLetter:
    wake = f'{{"step":"llm","tenant":"{TENANT}","session":"{session}","version":1}}'
    return DeadLetter(name, "group", wake if session else "{", f"receipt of {name}")


def test_dead_letters_go_back_and_what_is_none_stays() -> None:
    world, _ = world_with()
    pile = Pile([letter("a"), letter("b", None), letter("c", "s2")])

    lines = list(redrive(world).letters(pile.port()))

    assert lines == [
        Redriven(Done.MOVED, KEY, "llm"),
        Redriven(Done.UNREADABLE, None, "b"),
        Redriven(Done.MOVED, OTHER, "llm"),
    ]
    assert (pile.moved, pile.released) == (["a", "c"], ["b"])


def test_only_those_of_the_named_sessions_go_back() -> None:
    world, _ = world_with()
    pile = Pile([letter("a"), letter("b", None), letter("c", "s2")])

    lines = list(redrive(world).letters(pile.port(), [OTHER]))

    assert lines == [Redriven(Done.MOVED, OTHER, "llm")]
    assert (pile.moved, pile.released) == (["c"], ["a", "b"])


def test_a_dry_run_moves_no_letter() -> None:
    world, _ = world_with()
    pile = Pile([letter("a"), letter("never")])

    lines = list(redrive(world, dry_run=True).letters(pile.port()))

    assert [line.done for line in lines] == [Done.MOVED, Done.MOVED]
    assert (pile.moved, pile.released) == ([], ["a"])


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_letter_that_cannot_be_moved_hides_no_other(first: str) -> None:
    world, _ = world_with()
    pile = Pile([letter("a"), letter("b")], refuse=frozenset({first}))

    lines = list(redrive(world).letters(pile.port()))

    assert sorted(line.done for line in lines) == [Done.FAILED, Done.MOVED]
    assert pile.released == [first]


def test_a_pile_that_never_ends_is_left_to_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everturn.commands.redrive.BATCHES", 1)
    world, _ = world_with()
    pile = Pile([letter("a"), letter("b"), letter("c")])

    lines = list(redrive(world).letters(pile.port()))

    assert [line.done for line in lines] == [Done.MOVED, Done.MOVED]
    assert [one.message_id for one in pile.waiting] == ["c"]
