"""Agent-runs: how a run stands, whose it is, and that its stream is whole from every cursor."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.read_run import RunStreamed
from everturn.errors import StoreUnreadable
from everturn.ports.callers import Caller, Who
from everturn.ports.sessions import Head, Logged, Quarantine, SessionKey, TurnRecord
from everturn.ports.streams import Delta
from everturn.rejections import SessionQuarantined, UnknownRun
from everturn.session.commands import CancelSession
from everturn.session.events.sessions import Owner
from everturn.store.memory import InMemorySessionStore
from unit.commands.running import SPEC, Elsewhere, RunCase, types
from unit.drive.doubles import result
from unit.drive.world import MACHINE

ADA = Caller("acme", Who.FRONTEND, owner=Owner(id="ada"), scopes=("runs:read",))
BOB = Caller("acme", Who.FRONTEND, owner=Owner(id="bob"), scopes=("runs:read",))
PUT_ASIDE = Quarantine("unreadable_head", 7)


def finished(case: RunCase) -> str:
    """Return a run that called both kinds of tools, and is over."""
    script = '[[call:look {"at": 1}]][[call:ask {"message": "PTO?"}]][[turn]][[say:Bye]]'
    run = case.start(script, metadata={"customer": "acme"}, name="first")
    case.world.decider.answer = lambda _request: result("42")
    case.world.advance()
    (asked,) = [one for one in case.frames(run) if one.type == "local_tool_call"]
    case.answer(run, asked.data["toolUseId"], "20 days")
    case.world.advance()
    return run


def test_a_run_is_told_from_its_start_to_its_end() -> None:
    case = RunCase()

    frames = case.all_frames(finished(case))

    told = [kind for kind in types(frames) if kind != "assistant_delta"]
    assert told == [
        "started",
        "assistant_message",
        "tool_call",
        "local_tool_call",
        "tool_result",
        "local_tool_result_in",
        "assistant_message",
        "result",
    ]
    assert (frames[-1].data["text"], frames[-1].data["turns"]) == ("Bye", 2)
    assert frames[-1].data["model"]["id"] == "demo:demo"


def test_a_run_is_the_same_from_every_cursor_however_little_is_read_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = RunCase()
    run = finished(case)
    frames = case.all_frames(run)
    monkeypatch.setattr("everturn.commands.run_reading.COMMITS_PER_READ", 1)
    monkeypatch.setattr("everturn.commands.run_reading.LOOK_BACK", 1)
    monkeypatch.setattr("everturn.commands.run_reading.PAGE_EVENTS", 1)

    for at, frame in enumerate(frames[:-1]):
        rest: list[Any] = []
        while not rest or rest[-1] != frames[-1]:
            rest += case.frames(run, (rest or [frame])[-1].seq)
        assert rest == frames[at + 1 :]


def test_what_each_call_streamed_comes_with_it_and_nothing_that_others_did() -> None:
    case = RunCase()
    run = finished(case)
    first, second = (
        seq
        for commit in case.world.log(case.key.session)
        for seq, event in commit.numbered()
        if event.type == "llm.call.dispatched"
    )
    for seq, turn in ((first, run), (first + 1, "other"), (second - 1, run), (second, run)):
        case.store.put_delta(case.key, Delta(seq, 1, "m", 1, turn, {"text": str(seq)}), 0)

    frames = case.all_frames(run)

    told = [frame.data.get("text") for frame in frames if frame.type.startswith("assistant")]
    assert told == [str(first), "", str(second), "Bye"]


def test_going_on_costs_no_more_late_in_a_run_than_early() -> None:
    class Counting(InMemorySessionStore):
        """Counts the commits that are read."""

        read = 0

        def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
            found = super().page(key, after_seq, limit)
            self.read += len(found)
            return found

    store = Counting()
    case = RunCase(store)
    run = case.start("[[call:look {}]][[turn]]" * 20 + "[[say:Bye]]")
    case.world.decider.answer = lambda _request: result("42")
    case.world.advance()
    frames = case.all_frames(run)
    store.read = 0

    rest = case.frames(run, frames[-2].seq)

    assert rest == (frames[-1],)
    assert store.read < 10 < len(case.world.log(case.key.session))


def test_a_run_is_shown_as_it_stands() -> None:
    case = RunCase()
    first = case.start("[[say:one]]", metadata={"customer": "acme"}, name="first")
    second = case.start("[[say:two]]", session=case.key.session)
    read = case.read()
    running, queued = read.get(MACHINE, first), read.get(MACHINE, second)

    case.world.advance()

    over = case.read().get(MACHINE, first)
    nothing = dict.fromkeys(["finalText", "error", "failureReason", "tokens", "turns", "model"])
    assert running == {
        "runId": first,
        "sessionId": case.key.session,
        "name": "first",
        "status": "running",
        "spec": SPEC,
        "metadata": {"customer": "acme"},
        **nothing,
    }
    assert (queued["status"], queued["metadata"], "name" in queued) == ("queued", {}, False)
    assert (over["status"], over["finalText"], over["turns"]) == ("succeeded", "one", 1)
    assert over["model"]["provider"] == "demo"
    assert over["tokens"]["outputTokens"] > 0


def test_a_run_that_is_cancelled_while_it_waits_ends_like_any_other() -> None:
    case = RunCase()
    case.start("[[say:one]]")
    run = case.start("[[say:two]]", session=case.key.session)

    case.answers().cancel(MACHINE, run)

    assert [(one.type, one.data) for one in case.frames(run)] == [("cancelled", {"reason": "user"})]
    assert case.read().get(MACHINE, run)["status"] == "cancelled"


def test_the_end_of_a_session_ends_its_runs() -> None:
    case = RunCase()
    runs = [case.start("Hello")]
    runs.append(case.start("again", session=case.key.session))

    case.world.changer()(
        MACHINE,
        case.key.session,
        lambda stamp, facts, _session: CancelSession(stamp, facts, "user"),
    )

    ended = [case.all_frames(run)[-1] for run in runs]
    assert [(one.type, one.data) for one in ended] == [
        ("cancelled", {"reason": "session_ended"})
    ] * 2


def test_a_run_is_there_for_its_owner_and_its_tenants_keys_alone() -> None:
    case = RunCase()
    run = case.start("Hello", caller=ADA)

    assert types(case.read().stream(ADA, run, 0)) == ["started"]
    assert case.read().get(MACHINE, run)["status"] == "running"
    for other in (BOB, Caller("rival")):
        with pytest.raises(UnknownRun):
            case.read().stream(other, run, 0)
        with pytest.raises(UnknownRun):
            case.read().get(other, run)


def test_a_run_that_never_was_is_unknown() -> None:
    case = RunCase()

    with pytest.raises(UnknownRun):
        case.read().stream(MACHINE, "none", 0)


def test_a_run_goes_with_its_session() -> None:
    case = RunCase()
    run = case.start("Hello")
    key, created = case.key, case.head.created
    after = case.frames(run)[-1].seq
    place = case.runs.place("acme", run)
    assert place is not None

    def delete(_seconds: float) -> None:
        case.store.mark_deleted(key, created, "mark", 0)

    with pytest.raises(UnknownRun):
        case.read(delete).stream(MACHINE, run, after)
    case.store.erase(key, created, lambda: False)
    case.store.release_id(key, created, 0)
    case.world.submit("Hello", session=key.session)
    case.runs = Elsewhere(case.store, place)
    with pytest.raises(UnknownRun):
        case.read().get(MACHINE, run)


def test_a_session_that_is_deleted_while_its_run_is_read_is_gone() -> None:
    class Vanishing(InMemorySessionStore):
        """Is deleted between head and log."""

        def materialise(self, key: SessionKey, logged: Any) -> tuple[Logged, ...]:
            raise StoreUnreadable(f"half of {len(logged)} commits of {key} is gone")

        def incarnation(self, _key: SessionKey) -> None:
            return None

    case = RunCase()
    run = case.start("Hello")
    case.store.__class__ = Vanishing

    with pytest.raises(UnknownRun):
        case.frames(run)
    with pytest.raises(UnknownRun):
        case.read().get(MACHINE, run)


def test_a_turn_that_is_neither_open_nor_over_nor_waiting_is_no_run() -> None:
    class Forgetful(InMemorySessionStore):
        """Has lost what it kept of ended turns."""

        def head_and_turn(
            self, key: SessionKey, turn_id: str
        ) -> tuple[Head | None, TurnRecord | None]:
            return super().head_and_turn(key, turn_id)[0], None

    case = RunCase(Forgetful())
    run = case.start("[[say:Hi]]")
    case.world.advance()

    with pytest.raises(UnknownRun):
        case.frames(run)


def test_a_run_whose_session_is_put_aside_ends_for_its_client_and_can_go_on_later() -> None:
    case = RunCase()
    run = case.start("[[say:Hi]]")
    first = case.frames(run)[-1].seq
    case.store.quarantine(case.key, case.head, PUT_ASIDE)

    everything, (told,) = case.frames(run), case.frames(run, first)
    shown = case.read().get(MACHINE, run)
    again = case.read().stream(MACHINE, run, told.seq)

    assert types(everything) == ["started"]
    assert told.type == "error"
    assert (told.data["code"], told.data["retryable"]) == ("session_quarantined", False)
    assert (shown["status"], shown["failureReason"]["code"]) == ("failed", "session_quarantined")
    assert again == RunStreamed()
    case.store.lift(case.key, None)
    case.world.advance()
    assert types(case.frames(run, told.seq))[-1] == "result"


def test_a_run_that_is_over_is_told_though_its_session_is_put_aside() -> None:
    case = RunCase()
    run = case.start("[[say:Hi]]")
    case.world.advance()
    case.store.quarantine(case.key, case.head, PUT_ASIDE)

    assert types(case.all_frames(run))[-1] == "result"
    assert case.read().get(MACHINE, run)["status"] == "succeeded"


def test_a_run_whose_session_cannot_be_read_ends_for_keys_and_is_unknown_to_owners() -> None:
    class Unreadable(InMemorySessionStore):
        """Holds what nobody understands."""

        def head_and_turn(
            self, key: SessionKey, turn_id: str
        ) -> tuple[Head | None, TurnRecord | None]:
            raise SessionQuarantined(f"{key} {turn_id}", reason="unreadable_head", at="")

    case = RunCase(Unreadable())
    run = case.start("Hello", caller=ADA)

    (told,) = case.frames(run)

    assert (told.type, told.data["code"]) == ("error", "session_quarantined")
    assert case.frames(run, told.seq) == ()
    with pytest.raises(UnknownRun):
        case.read().stream(ADA, run, 0)


def test_a_run_that_was_asked_for_with_nothing_has_an_empty_spec() -> None:
    case = RunCase()
    run = case.start("Hello")
    place = case.runs.place("acme", run)
    assert place is not None
    wrong = type(place)(run, place.session, place.seq + 1, place.created)
    case.runs = Elsewhere(case.store, wrong)

    assert case.read().get(MACHINE, run)["spec"] == {}
