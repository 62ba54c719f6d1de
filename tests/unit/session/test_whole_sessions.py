"""Whole sessions at random: whatever happens in whatever order, the core's promises hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from everturn.protocol.json_text import canonical
from everturn.rejections import TurnAlreadyActive
from everturn.session.commands import LeftOpen, ToolRefused
from everturn.session.events.decisions import DecisionErrored, DecisionQueued
from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.sessions import StepEnded, StepStarted, TurnCompleted
from everturn.session.events.tool_calls import ToolCallDispatched, ToolCallRequested
from everturn.session.evolve import fold
from everturn.session.facts import Route
from everturn.session.propose import (
    CallModel,
    DeliverToWorker,
    HandToMachine,
    NoteLastWords,
    propose,
)
from everturn.session.state import is_quiescent, status_of
from everturn.session.tree import forks
from everturn.session.window import BYTES_PER_TOKEN, LEAST_SHARE
from examples import per_cent
from unit.session.building import WITH_SLOW, Story, made, only, stamp, types, usage
from unit.session.logs import path_of
from unit.session.waiting import JOB, PENDING, SURE, answering, check_waits, declining

TOOLS = ["get_weather", "set_alarm", "send_email", "undeclared", "dig", "ship"]
UNSAFE = {"send_email", "undeclared", "ship"}
CALL_IDS = st.sampled_from(["", "call_0", "call_1", "no id at all", "c" * 201])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
CALLS = st.lists(
    st.builds(made, CALL_IDS, st.sampled_from(TOOLS), st.sampled_from(["", "{}", '{"a":'])),
    max_size=4,
)
WINDOW_TOKENS = 100


def is_complete(path: list[dict[str, Any]]) -> bool:
    """Return whether every tool call of a path has its result on it."""
    called = [one["id"] for m in path for one in m.get("tool_calls") or ()]
    return sorted(called) == sorted(m["tool_call_id"] for m in path if m["role"] == "tool")


class WholeSessions(RuleBasedStateMachine):
    """Plays client, model, worker, clock, crashes and operator of one session."""

    def __init__(self) -> None:
        super().__init__()
        self.story = Story(route=Route("demo", "echo", context_window=WINDOW_TOKENS))

    @initialize(has_worker=st.booleans(), is_function=st.booleans(), small=st.booleans())
    def begin(self, has_worker: bool, is_function: bool, small: bool) -> None:
        window = WINDOW_TOKENS if small else None
        self.story = Story(
            config=WITH_SLOW,
            has_worker=has_worker,
            is_function=has_worker and is_function,
            route=Route("demo", "echo", context_window=window),
        )
        self.story.submit("begin")

    # what can happen

    @rule(content=st.text(min_size=1, max_size=300))
    def a_client_says_something(self, content: str) -> None:
        open_turn = self.story.session.turn
        if open_turn is None:
            self.story.submit(content)
            return
        with pytest.raises(TurnAlreadyActive) as refused:
            self.story.submit(content)
        assert refused.value.fields == {"turn_id": open_turn.id}

    @precondition(lambda self: self.story.session.turn is None)
    @rule(new=st.lists(st.text(min_size=1, max_size=30), max_size=2))
    def a_client_sends_its_view(self, new: list[str]) -> None:
        view = [*self.story.messages(), *({"role": "user", "content": text} for text in new)]
        self.story.submit(view=tuple(view))

    @precondition(lambda self: self.story.session.turn is None)
    @rule(data=st.data(), new=st.lists(st.text(min_size=1, max_size=30), max_size=2))
    def a_client_goes_elsewhere(self, data: st.DataObject, new: list[str]) -> None:
        """V-5: edits, regenerates, switches; the view is one that could be on a screen."""
        ends = [one for one in self.nodes() if is_complete(self.path_to(one))]
        chosen = data.draw(st.sampled_from([None, *ends]))
        assume(chosen or new)
        view = [*self.path_to(chosen), *({"role": "user", "content": text} for text in new)]
        self.story.submit(view=tuple(view))

        shown = [m.get("content") for m in self.story.messages()][: len(view)]
        assert shown == [m.get("content") for m in view]

    @precondition(lambda self: self.models())
    @rule(content=TEXTS, calls=CALLS, cut=st.booleans(), n=st.integers(0, 9))
    def the_model_answers(
        self, content: str, calls: list[dict[str, Any]], cut: bool, n: int
    ) -> None:
        finish = "length" if cut else ""
        self.story.answer(content, *calls, finish=finish, usage=usage(n), cost=f"0.000000{n}")

    @precondition(lambda self: self.models())
    @rule(retryable=st.booleans(), after_s=st.none() | st.integers(0, 90))
    def the_model_fails(self, retryable: bool, after_s: int | None) -> None:
        self.story.fail_model(retryable=retryable, retry_after_s=after_s)

    @precondition(lambda self: self.deliveries())
    @rule(data=st.data(), text=TEXTS, state=st.none() | st.integers())
    def the_worker_answers(self, data: st.DataObject, text: str, state: int | None) -> None:
        call_id = data.draw(st.sampled_from(self.deliveries()))
        self.story.worker(call_id, text, state=state, has_state=state is not None)

    @precondition(lambda self: self.deliveries())
    @rule(data=st.data(), retryable=st.booleans(), left=st.booleans())
    def the_worker_refuses(self, data: st.DataObject, retryable: bool, left: bool) -> None:
        call_id = data.draw(st.sampled_from(self.deliveries()))
        outcome = LeftOpen() if left else ToolRefused("no", retryable=retryable)
        self.story.worker(call_id, outcome)

    @precondition(lambda self: self.deliveries())
    @rule(data=st.data(), asks=st.booleans())
    def a_tool_waits(self, data: st.DataObject, asks: bool) -> None:
        call_id = data.draw(st.sampled_from(self.deliveries()))
        polled = self.story.delivery(call_id).trigger == "tool.poll"
        self.story.worker(call_id, SURE if asks else PENDING if polled else JOB)

    @precondition(lambda self: self.story.session.waits)
    @rule(data=st.data(), declines=st.booleans(), text=TEXTS)
    def a_user_answers(self, data: st.DataObject, declines: bool, text: str) -> None:
        wait = data.draw(st.sampled_from(self.story.session.waits))
        (declining if declines else answering)(self.story, wait.id, text)

        assert self.story.session.wait(wait.id) is None or wait.kind == "task"

    @precondition(lambda self: self.deliveries())
    @rule(data=st.data(), flags=st.tuples(st.booleans(), st.booleans(), st.booleans()))
    def a_delivery_fails(self, data: st.DataObject, flags: tuple[bool, bool, bool]) -> None:
        call_id = data.draw(st.sampled_from(self.deliveries()))
        retryable, sent, invalid = flags
        started = "unknown" if sent or invalid else "no"
        self.story.lose(call_id, retryable=retryable, started=started, invalid=invalid)

    @precondition(lambda self: self.handed())
    @rule(data=st.data())
    def the_driver_takes_a_delivery_back(self, data: st.DataObject) -> None:
        call_id = data.draw(st.sampled_from(self.handed()))
        self.story.deliver_directly(call_id)

        assert call_id not in self.handed()
        assert call_id in self.deliveries()

    @rule(after_s=st.sampled_from([0, 1, 3, 61, 181, 2000]))
    def time_passes(self, after_s: int) -> None:
        self.story.proceed(after_s)

        assert self.story.proceed() == ()

    @rule()
    def the_driver_vanishes(self) -> None:
        before = propose(self.story.session).effects

        self.story.take_over()

        kept = set(before) & set(propose(self.story.session).effects)
        assert kept == {one for one in before if isinstance(one, HandToMachine | NoteLastWords)}

    @rule()
    def the_operator_gives_up(self) -> None:
        assume(self.story.session.turn is not None)
        self.story.fail_turn()

    @precondition(lambda self: self.story.session.turn is not None)
    @rule()
    def somebody_stops_the_turn(self) -> None:
        """T-12: in one commit, and again it changes nothing."""
        self.story.cancel()

        assert self.story.session.turn is None
        assert self.story.last is not None
        assert self.story.decide(self.story.last).events == ()

    @precondition(lambda self: self.story.session.aborting)
    @rule(text=TEXTS)
    def the_last_words_are_noted(self, text: str) -> None:
        self.story.note_aborted(self.story.session.aborting[0].id, text, usage=usage(1))

    @rule(window=st.sampled_from([None, WINDOW_TOKENS, 3 * WINDOW_TOKENS]))
    def the_route_changes(self, window: int | None) -> None:
        self.story.route = Route("demo", "echo", context_window=window)

    @precondition(lambda self: self.story.last is not None)
    @rule()
    def a_settlement_is_repeated(self) -> None:
        """A repeated command changes nothing the second time; only a new input is a new input."""
        assert self.story.last is not None
        command = self.story.last
        name = type(command(stamp(), self.story.facts())).__name__
        settling = {"SettleModelCall", "AnswerDelivery", "FailDelivery", "FailTurn"}
        assume(name in settling | {"DeliverDirectly", "ResolveWait"})

        assert self.story.decide(command).events == ()

    # what must hold

    @invariant()
    def the_log_adds_up_to_the_state(self) -> None:
        assert fold(self.story.log) == self.story.session

    @invariant()
    def a_turn_ends_once_and_leaves_nothing_in_flight(self) -> None:
        session = self.story.session
        ended = Counter(event.turn_id for event in only(TurnCompleted, self.story.log))
        assert set(ended.values()) <= {1}
        if session.turn is None:
            assert (session.calls, session.decisions) == ((), ())
            effects = propose(session).effects
            assert [one for one in effects if not isinstance(one, NoteLastWords)] == []
        else:
            assert not is_quiescent(session)
            asking = any(wait.kind == "question" for wait in session.waits)
            assert status_of(session) == "active" or asking

    @invariant()
    def waits_are_those_of_open_calls(self) -> None:
        check_waits(self.story.session)

    @invariant()
    def steps_are_balanced(self) -> None:
        steps = [event for event in self.story.log if isinstance(event, StepStarted | StepEnded)]
        for opened, closed in zip(steps[::2], steps[1::2], strict=False):
            assert isinstance(opened, StepStarted)
            assert isinstance(closed, StepEnded)
            assert (opened.step, opened.call_id, opened.attempt) == (
                closed.step,
                closed.call_id,
                closed.attempt,
            )
        is_open = self.story.session.turn is not None and self.story.session.turn.step_call != ""
        assert len(steps) % 2 == is_open

    @invariant()
    def one_model_call_runs_and_the_slot_holds_one_delivery(self) -> None:
        effects = propose(self.story.session).effects
        calls = {call.id: call for call in self.story.session.calls}
        placed = [one for one in self.story.session.decisions if one.status != "queued"]
        slot = [one for one in placed if not calls[one.call_id].overlap]
        assert sum(isinstance(effect, CallModel) for effect in effects) <= 1
        assert len(slot) <= 1
        assert len(set(effects)) == len(effects)

    @invariant()
    def a_call_that_must_not_be_repeated_starts_once(self) -> None:
        unsafe = {
            event.id
            for event in self.story.log
            if event.type == "tool.call.requested" and event.name in UNSAFE
        }
        dispatched = only(ToolCallDispatched, self.story.log)
        assert {event.attempt for event in dispatched if event.id in unsafe} <= {1}
        asked = {
            one.id: one.call_id
            for one in only(DecisionQueued, self.story.log)
            if one.trigger_type == "tool.execute"
        }
        for event in only(DecisionErrored, self.story.log):
            if event.retryable and event.private.may_have_started:
                assert asked.get(event.id) not in unsafe

    @invariant()
    def every_call_of_an_ended_turn_has_its_result_on_the_path(self) -> None:
        if self.story.session.turn is not None:
            return
        messages = self.story.messages()
        called = [one["id"] for m in messages for one in m.get("tool_calls") or ()]
        answered = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
        assert sorted(called) == sorted(answered)
        requested = [event.id for event in only(ToolCallRequested, self.story.log)]
        assert len(set(requested)) == len(requested)

    @invariant()
    def requests_fit_the_window_and_move_only_when_it_is_full(self) -> None:
        asked = only(ModelCallRequested, self.story.log)
        if not asked:
            return
        newest = asked[-1].private.boundary
        tokens = self._capacity_at(asked[-1])
        path = [*path_of(self.story.values, head_id=newest.head_id)]
        shown = [node for node in path if node.seq >= newest.from_seq]
        starts = self._turn_starts()
        size = sum(node.size_bytes for node in shown)
        turns = sum(node.seq in starts for node in shown)
        assert shown
        assert size <= tokens * BYTES_PER_TOKEN or turns <= 1
        since = self.story.log.index(asked[max(-2, -len(asked))])
        if any(True for _ in forks(enumerate(self.story.log[since:]))):
            return  # another path, with a window of its own
        if len(asked) > 1 and newest.from_seq != asked[-2].private.boundary.from_seq:
            before = asked[-2].private.boundary.from_seq
            unmoved = sum(node.size_bytes for node in path if node.seq >= before)
            assert newest.from_seq > before
            assert unmoved > self._room_at(asked[-1])

    # helpers

    def nodes(self) -> list[str]:
        return [event.id for event in only(MessageNew, self.story.log)]

    def path_to(self, node_id: str | None) -> list[dict[str, Any]]:
        if node_id is None:
            return []
        return [dict(node.message) for node in path_of(self.story.values, head_id=node_id)]

    def models(self) -> bool:
        return any(isinstance(e, CallModel) for e in propose(self.story.session).effects)

    def deliveries(self) -> list[str]:
        effects = propose(self.story.session).effects
        kinds = (DeliverToWorker, HandToMachine)
        return [effect.call_id for effect in effects if isinstance(effect, kinds)]

    def handed(self) -> list[str]:
        effects = propose(self.story.session).effects
        return [effect.call_id for effect in effects if isinstance(effect, HandToMachine)]

    def _capacity_at(self, asked: ModelCallRequested) -> int:
        at = self.story.log.index(asked)
        contexts = [value for value in self.story.values[:at] if value["type"] == "request.context"]
        return contexts[-1].get("context_window") or 32_000

    def _room_at(self, asked: ModelCallRequested) -> int:
        """Return the bytes that messages may have beside the request's header."""
        whole = self._capacity_at(asked) * BYTES_PER_TOKEN
        header = self.story.values[asked.private.header_seq - 1]["header"]
        return max(whole - len(canonical(header)), whole // LEAST_SHARE)

    def _turn_starts(self) -> list[int]:
        """Return where turns wrote their first message."""
        names = types(self.story.log)
        turns = [seq for seq, name in enumerate(names, start=1) if name == "turn.started"]
        users = [
            seq
            for seq, value in enumerate(self.story.values, start=1)
            if value["type"] == "message.new" and value["private"]["source"]["kind"] == "user"
        ]
        ends = [*turns[1:], len(names) + 1]
        firsts = [
            next((user for user in users if turn < user < end), 0)
            for turn, end in zip(turns, ends, strict=True)
        ]
        return [first for first in firsts if first]


WholeSessions.TestCase.settings = settings(
    max_examples=per_cent(60),
    stateful_step_count=40,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestWholeSessions = WholeSessions.TestCase
