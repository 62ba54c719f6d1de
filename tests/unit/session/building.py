"""Sessions for tests: builders of facts and commands, and a story that plays whole sessions.

A story keeps the log as a store would: what is decided passes through JSON, and what the next
command rests on is read from the log again. Each step checks what must always hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from everturn.session.budget import Budget
from everturn.session.commands import (
    AnswerDelivery,
    CancelSession,
    CancelTurn,
    Command,
    DeliverDirectly,
    Deliveries,
    FailDelivery,
    FailTurn,
    LeftOpen,
    ModelAnswered,
    ModelFailure,
    NoteAborted,
    Proceed,
    SettleModelCall,
    SubmitInput,
    TakeOver,
    ToolAnswered,
    ToolRefused,
)
from everturn.session.decide.entry import Decided, decide
from everturn.session.events.children import SubAgentRequested
from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import ModelCallRequested, RequestHeader
from everturn.session.events.sessions import Owner
from everturn.session.events.shape import Usage
from everturn.session.events.stored import Event, from_json, to_json
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.evolve import fold
from everturn.session.facts import Destination, Facts, Pinned, Place, Route, Stamp
from everturn.session.request import digest
from everturn.session.state import SESSION, Call, Decision, Session
from everturn.session.tree import NeedsBranches, NeedsDestination, branches_of
from everturn.session.waiting import Held
from transcripts.ledger import LEDGER
from unit.session.destinations import destination_at
from unit.session.logs import filled, orders_in, path_of, rebuilt, waiting_in
from unit.session.transcript import assert_well_formed

NOON_MS = 1_767_268_800_000
"""2026-01-01T12:00:00Z."""

ROUTE = Route("demo", "echo", context_window=200_000)

CONFIG: dict[str, Any] = {
    "model": "demo:echo",
    "system": "You answer briefly.",
    "tools": [
        {
            "name": "get_weather",
            "description": "Tells the weather.",
            "input": {"type": "object", "properties": {"city": {"type": "string"}}},
            "effect": "read",
        },
        {"name": "set_alarm", "effect": "idempotent_write"},
        {"name": "send_email", "effect": "non_idempotent_write"},
        {"name": "look_around", "handler": "client"},
    ],
}

WITH_SLOW: dict[str, Any] = {
    **CONFIG,
    "tools": [
        *CONFIG["tools"],
        {"name": "dig", "effect": "read", "timeout_secs": 600},
        {"name": "ship", "effect": "non_idempotent_write", "timeout_secs": 600},
    ],
}
"""The same with two tools that may take ten minutes."""

HELLO = {"role": "user", "content": "Hello."}


def pinned(
    config: Mapping[str, Any] = CONFIG, *, has_worker: bool = True, is_function: bool = False
) -> Pinned:
    """Return a pinned agent."""
    return Pinned(config, digest(config), has_worker, is_function)


def stamp(n: int = 0, now_ms: int = NOON_MS) -> Stamp:
    """Return the time and the randomness of the n-th command."""
    return Stamp(now_ms, n.to_bytes(16, "big"))


def made(call_id: str, name: str = "get_weather", arguments: str = "{}") -> dict[str, Any]:
    """Return a tool call as a model makes it."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def said(content: str = "", *calls: Mapping[str, Any], finish: str = "", **more: Any) -> Any:
    """Return a model's answer."""
    message: dict[str, Any] = {"role": "assistant"}
    if content:
        message["content"] = content
    if calls:
        message["tool_calls"] = list(calls)
    reason = finish or ("tool_calls" if calls else "stop")
    return ModelAnswered(message, reason, **more)


def types(events: Sequence[Event]) -> list[str]:
    """Return the events' names."""
    return [event.type for event in events]


def only(kind: type[Any], events: Sequence[Event]) -> list[Any]:
    """Return the events of one kind."""
    return [event for event in events if isinstance(event, kind)]


Make = Callable[[Stamp, Facts], Command]


@dataclass
class Story:
    """One session from its first command on."""

    config: Mapping[str, Any] = field(default_factory=lambda: CONFIG)
    has_worker: bool = True
    is_function: bool = False
    """The worker is a Lambda function, whose slow tools the step machine runs."""

    route: Route = ROUTE
    routes: Mapping[str, Route] = field(default_factory=dict)
    policy: Deliveries = field(default_factory=Deliveries)
    session: Session = field(default_factory=Session)
    log: list[Event] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)
    now_ms: int = NOON_MS
    taken: frozenset[str] = frozenset()
    budgets: tuple[Budget, ...] = ()
    """Of the owner and the tenant."""

    commands: int = 0
    last: Make | None = None

    def facts(self) -> Facts:
        """Return what a reader of the log would hand to the next command."""
        path = path_of(self.values, self.session.window.from_seq)
        agent = pinned(self.config, has_worker=self.has_worker, is_function=self.is_function)
        if self.session.agent_seq:
            version = self.values[self.session.agent_seq - 1]
            private, config = version["private"], version["agent"]
            layered = tuple(private.get("layered", ()))
            agent = replace(agent, config=config, sha256=private["sha256"], layered=layered)
        return Facts(
            agent,
            self.route,
            path,
            self.taken | self.indexed(),
            routes=self.routes,
            inbox=waiting_in(self.values),
            orders=orders_in(self.values),
            budgets=self.budgets,
        )

    def indexed(self) -> frozenset[str]:
        """Return the ids that the store would refuse to give again."""
        kinds = (MessageNew, ToolCallRequested, SubAgentRequested)
        cut_off = {
            made["id"]
            for value in self.values
            if value["type"] == "llm.call.completed" and value.get("finish_reason") == "length"
            for made in value["message"].get("tool_calls") or ()
        }
        return frozenset(cut_off) | frozenset(
            event.id for event in self.log if isinstance(event, kinds)
        )

    def decide(self, make: Make) -> Decided:
        """Return what a command would lead to; nothing is kept. What it asks for is looked up."""
        facts = self.facts()
        while True:
            try:
                return decide(self.session, make(stamp(self.commands, self.now_ms), facts))
            except NeedsBranches as need:
                known = branches_of(self.numbered())
                begun = {number: known[number] for number in need.numbers}
                facts = replace(facts, branches={**facts.branches, **begun})
            except NeedsDestination as need:
                named = need.place.id if need.place else ""
                facts = replace(
                    facts, destinations={**facts.destinations, named: self.destination(need.place)}
                )

    def numbered(self) -> list[tuple[int, Event]]:
        """Return the log with its numbers, bodies in place."""
        return [(seq, from_json(value)) for seq, value in enumerate(self.values, start=1)]

    def destination(self, place: Place | None) -> Destination:
        """Return what holds at a place of the tree, from the whole log."""
        return destination_at(self.session, self.numbered(), place, self.facts().agent, self.route)

    def do(self, make: Make) -> tuple[Event, ...]:
        """Decide, store, read again, check; return the events."""
        decided = self.decide(make)
        self.commands += 1
        self.last = make
        stored = [to_json(event) for event in decided.events]
        events = tuple(from_json(value) for value in stored)
        assert events == decided.events
        assert fold(events, self.session) == decided.session
        self.values = filled(events, self.values)
        self.log += events
        self.session = SESSION.validate_json(SESSION.dump_json(decided.session))
        assert self.session == decided.session
        from_seq = decided.path[0].seq if decided.path else 1
        assert path_of(self.values, from_seq) == decided.path
        for asked in only(ModelCallRequested, events):
            self.check_request(asked)
        return events

    def check_request(self, asked: ModelCallRequested) -> None:
        """Rebuild a request from the log; it is the committed one, and providers take it."""
        request = rebuilt(self.values, asked)
        assert request.sha256 == asked.private.request_sha256
        assert list(request.repairs) == list(asked.private.repairs)
        LEDGER.check(request.body, request.failed)
        said = [one for one in request.body["messages"] if one["role"] != "system"]
        is_ours = asked.messages is None and said and said[0]["role"] == "user"
        if is_ours:  # explicit messages, and a user who was not recorded, are the worker's affair
            assert_well_formed(request.body)

    def requests(self) -> list[dict[str, Any]]:
        """Return the body of every model request so far."""
        asked = only(ModelCallRequested, self.log)
        return [rebuilt(self.values, one).body for one in asked]

    def headers(self) -> list[RequestHeader]:
        """Return every request header of the log."""
        return only(RequestHeader, self.log)

    def messages(self) -> list[dict[str, Any]]:
        """Return the whole path."""
        return [dict(node.message) for node in path_of(self.values)]

    def last_kind(self) -> str:
        """Return the name of the last command, nothing for none."""
        return type(self.last(stamp(), self.facts())).__name__ if self.last else ""

    # the commands

    def submit(self, content: str = "Hello.", turn_id: str = "", **more: Any) -> tuple[Event, ...]:
        """Send one message, or with `view` a whole conversation."""
        return self.do(self.submitting(content, turn_id, **more))

    def submitting(self, content: str = "Hello.", turn_id: str = "", **more: Any) -> Make:
        """Return the command of `submit`."""
        given: dict[str, Any] = {
            "session_id": "s1",
            "agent_id": "helper",
            "owner": Owner(id="default"),
            "turn_id": turn_id or f"t{self.session.turns + 1}",
            "input_type": "client.messages" if "view" in more else "client.message",
            "view": ({"role": "user", "content": content},),
        }
        if "view" in more:
            more["known"] = more.get("known", self.known(more["view"]))
        return lambda at, facts: SubmitInput(stamp=at, facts=facts, **(given | more))

    def known(self, view: Sequence[Mapping[str, Any]]) -> tuple[Place, ...]:
        """Return where the messages of a view stand, as the store's index has it."""
        wanted = {message.get("id") for message in view}
        return tuple(
            Place(event.id, seq, event.private.branch, event.private.depth)
            for seq, event in enumerate(self.log, start=1)
            if isinstance(event, MessageNew) and event.id in wanted
        )

    @property
    def model_call(self) -> Call:
        """The open model call."""
        return next(call for call in self.session.calls if call.kind == "llm_call")

    def delivery(self, call_id: str) -> Decision:
        """Return the decision that carries a call to the worker."""
        return next(one for one in self.session.decisions if one.call_id == call_id)

    def answer(
        self, content: str = "", *calls: Mapping[str, Any], **more: Any
    ) -> tuple[Event, ...]:
        """Have the running model call answered."""
        call = self.model_call
        answer = said(content, *calls, **more)
        return self.do(
            lambda at, facts: SettleModelCall(at, facts, call.id, call.attempt, answer, self.policy)
        )

    def fail_model(self, error: str = "overloaded", **more: Any) -> tuple[Event, ...]:
        """Have the running model call fail."""
        call = self.model_call
        given: dict[str, Any] = {"code": "provider_error", "retryable": True}
        failure = ModelFailure(error, **(given | more))
        return self.do(
            lambda at, facts: SettleModelCall(
                at, facts, call.id, call.attempt, failure, self.policy
            )
        )

    def worker(
        self,
        call_id: str,
        outcome: ToolAnswered | ToolRefused | ModelAnswered | ModelFailure | LeftOpen | Held | str,
        **more: Any,
    ) -> tuple[Event, ...]:
        """Have the worker answer the delivery of a call; a string is a tool's result."""
        given = ToolAnswered(outcome) if isinstance(outcome, str) else outcome
        one = self.delivery(call_id)
        more = {"deliveries": self.policy, **more}
        return self.do(
            lambda at, facts: AnswerDelivery(at, facts, one.id, one.attempt, given, **more)
        )

    def lose(self, call_id: str, error: str = "connection refused", **more: Any) -> Any:
        """Have the delivery of a tool call fail; `started="no"` says that nothing was sent."""
        one = self.delivery(call_id)
        given: dict[str, Any] = {
            "code": "provider_error",
            "retryable": True,
            "started": "unknown",
        }
        given |= more
        return self.do(
            lambda at, facts: FailDelivery(
                at, facts, one.id, one.attempt, error, deliveries=self.policy, **given
            )
        )

    def cancel(self, turn_id: str = "", **more: Any) -> tuple[Event, ...]:
        """Have somebody stop a turn, by default the open one."""
        wanted = turn_id or (self.session.turn.id if self.session.turn else "")
        return self.do(lambda at, facts: CancelTurn(at, facts, wanted, **more))

    def cancel_session(self, **more: Any) -> tuple[Event, ...]:
        """Have somebody end the session for good."""
        return self.do(lambda at, facts: CancelSession(at, facts, **more))

    def note_aborted(self, call_id: str, text: str = "", **more: Any) -> tuple[Event, ...]:
        """Have the last words of a voided model call recorded."""
        return self.do(lambda at, facts: NoteAborted(at, facts, call_id, text, **more))

    def deliver_directly(self, call_id: str) -> tuple[Event, ...]:
        """Have the driver take back a delivery that the step machine cannot make."""
        one = self.delivery(call_id)
        return self.do(
            lambda at, facts: DeliverDirectly(at, facts, one.id, one.attempt, self.policy)
        )

    def proceed(self, after_s: float = 0) -> tuple[Event, ...]:
        """Let time pass, then do what is due."""
        self.now_ms += round(after_s * 1000)
        return self.do(lambda at, facts: Proceed(at, facts, self.policy))

    def take_over(self) -> tuple[Event, ...]:
        """Have the driver vanish and another one take over."""
        return self.do(lambda at, facts: TakeOver(at, facts, self.policy))

    def fail_turn(self, error: str = "given up", code: str = "engine_failure") -> Any:
        """Have the turn failed from outside."""
        return self.do(lambda at, facts: FailTurn(at, facts, error, code))


def usage(n: int) -> Usage:
    """Return counts that differ from one another."""
    return Usage(
        input_tokens=n,
        output_tokens=2 * n,
        cache_read_tokens=3 * n,
        cache_write_tokens=4 * n,
        reasoning_tokens=n,
    )
