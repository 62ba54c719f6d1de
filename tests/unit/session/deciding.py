"""A session whose worker decides, for tests: a story with a worker and a model that are scripted.

Every question passes the wire models, every answer does, and the proposals are what a worker that
returns them would say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from everturn.commands.readings import readings_of, with_routes
from everturn.llm.formats.bodies import to_body
from everturn.protocol.decision import DECISION_REQUEST
from everturn.protocol.wire import to_json as wire_json
from everturn.session.commands import (
    AnswerDecision,
    Command,
    DeferDecision,
    FailDelivery,
    ModelAnswered,
    ModelFailure,
    SettleCall,
    SettleModelCall,
)
from everturn.session.decide.questions import EXECUTES
from everturn.session.events.messages import AgentUpdated
from everturn.session.events.stored import Event, from_json
from everturn.session.facts import Facts, Pinned, Stamp
from everturn.session.mail_commands import NoteSent, NoteStart
from everturn.session.propose import (
    CallModel,
    DeliverToWorker,
    Effect,
    HandToMachine,
    NoteLastWords,
    SendOut,
    StartSubAgent,
    propose,
)
from everturn.session.question import Asking, Readers, question
from everturn.session.records import Records
from everturn.session.request import digest
from everturn.tools.schema import check_input
from published import check_question
from unit.session.building import Story, said
from unit.session.logs import orders_in, path_of, waiting_in
from worker_answers import read_response

Worker = Callable[[dict[str, Any]], dict[str, Any] | None]
"""A `DecisionRequest` -> a `DecisionResponse`; `None` for "I will answer later"."""

MOST_ROUNDS = 200


def echo(request: dict[str, Any]) -> dict[str, Any]:
    """Answer what the engine proposes."""
    proposed: dict[str, Any] = request["proposed"]
    return proposed


def running(*results: str, also: Worker = echo) -> Worker:
    """Return a worker that runs tools with these results and leaves the rest to `also`."""
    left = list(results)

    def answer(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] != "tool.execute" or request["proposed"]:
            return also(request)
        return {"actions": [{"type": "tool.result", "result": left.pop(0)}]}

    return answer


def carried(at: Stamp, facts: Facts, effect: StartSubAgent | SendOut) -> Command:
    """Return what a driver notes once it did its part in another session."""
    if isinstance(effect, StartSubAgent):
        return NoteStart(at, facts, effect.call_id, effect.attempt)
    return NoteSent(at, facts, effect.entry, "delivered")


@dataclass
class Deciding(Story):
    """One session of a worker-decided agent."""

    worker_: Worker = echo
    replies: list[ModelAnswered | ModelFailure] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Every question that was put, in order."""

    targets: dict[str, str] = field(default_factory=dict)
    """Sessions that no message may be sent to, and why."""

    def events(self) -> dict[int, Event]:
        """Return the log by number, bodies in place."""
        return {seq: from_json(value) for seq, value in enumerate(self.values, start=1)}

    def facts(self) -> Facts:
        """Return what a reader of the whole log would hand to the next command."""
        events = self.events()
        newest = events.get(self.session.agent_seq)
        if not self.log:
            agent = Pinned(self.config, digest(self.config), True, decides="worker")
        elif isinstance(newest, AgentUpdated):
            private = newest.private
            agent = Pinned(newest.agent, private.sha256, True, layered=private.layered)
        else:
            agent = Pinned({}, "", True)
        taken = self.taken | self.indexed()
        path = path_of(self.values)
        return Facts(
            agent,
            self.route,
            path,
            taken,
            events,
            inbox=waiting_in(self.values),
            orders=orders_in(self.values),
            budgets=self.budgets,
        )

    def submit(self, content: str = "Hello.", turn_id: str = "", **more: Any) -> tuple[Event, ...]:
        """Send an input, and let everything happen that follows from it."""
        events = self.do(self.submitting(content, turn_id, decides="worker", **more))
        return (*events, *self.run())

    def run(self) -> tuple[Event, ...]:
        """Play driver, worker and model until nothing is left to do."""
        events: list[Event] = []
        for _ in range(MOST_ROUNDS):
            proposals = propose(self.session)
            if proposals.is_ready:
                events += self.proceed()
            elif proposals.effects:
                events += self.act(proposals.effects[0])
            else:
                return tuple(events)
        raise AssertionError("the session never comes to rest")

    def act(self, effect: Effect) -> tuple[Event, ...]:
        """Do one effect as model or worker are scripted."""
        match effect:
            case CallModel(call_id=call_id, attempt=attempt):
                reply = self.replies.pop(0) if self.replies else said("All is well.")
                return self.do(
                    lambda at, facts: SettleModelCall(
                        at, facts, call_id, attempt, reply, self.policy
                    )
                )
            case NoteLastWords(call_id=call_id):
                return self.note_aborted(call_id, "Half a")
            case StartSubAgent() | SendOut():
                return self.do(lambda at, facts: carried(at, facts, effect))
            case DeliverToWorker() | HandToMachine():
                decision_id, attempt = effect.decision_id, effect.attempt
                decision = self.session.decision(decision_id)
                executes = decision is not None and decision.trigger in EXECUTES
                if executes and decision and self.session.call(decision.call_id) is None:
                    return self.lose_question(decision_id, code="call_settled", retryable=False)
                request = self.question(decision_id)
                self.asked.append(request)
                response = self.worker_(request)
                if response is None:
                    return self.do(lambda at, facts: DeferDecision(at, facts, decision_id, attempt))
                return self.respond(decision_id, response, attempt=attempt)

    def question(self, decision_id: str) -> dict[str, Any]:
        """Return the body of a delivery, as the wire has it."""
        decision = self.session.decision(decision_id)
        assert decision is not None
        readers = Readers(lambda schema, text: wire_json(check_input(schema, text)), to_body)
        asking = Asking(self.session, decision, {"id": "default"}, Records(self.events()), readers)
        request = question(asking)
        DECISION_REQUEST.validate_python(request)
        check_question(request)
        return request

    def respond(
        self, decision_id: str, response: dict[str, Any], attempt: int | None = None, **more: Any
    ) -> tuple[Event, ...]:
        """Answer a question, out of band where no attempt is named."""
        checked = wire_json(read_response(response, decides="worker"))
        decision = self.session.decision(decision_id)
        readings = readings_of(checked, decision, self.session, self.facts(), self.targets.get)
        return self.do(
            lambda at, facts: AnswerDecision(
                at,
                with_routes(facts, checked, lambda _config: self.route),
                decision_id,
                checked,
                **{"readings": readings, "attempt": attempt, "deliveries": self.policy, **more},
            )
        )

    def lose_question(self, decision_id: str, **more: Any) -> tuple[Event, ...]:
        """Have a delivery fail."""
        decision = self.session.decision(decision_id)
        assert decision is not None
        given: dict[str, Any] = {
            "error": "no",
            "code": "http_status",
            "retryable": True,
            "started": "unknown",
        }
        return self.do(
            lambda at, facts: FailDelivery(
                at, facts, decision_id, decision.attempt, deliveries=self.policy, **(given | more)
            )
        )

    def settle(self, action: dict[str, Any], *handlers: str, **more: Any) -> tuple[Event, ...]:
        """End a call from outside, as an API key does by default."""
        by = handlers or ("worker", "client")
        return self.do(lambda at, facts: SettleCall(at, facts, action, by, **more))

    def triggers(self) -> list[str]:
        """Return the types of the questions that were put."""
        return [request["trigger"]["type"] for request in self.asked]
