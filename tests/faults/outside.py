"""What functions call outside AWS's table and queue: a model, a worker, open connections.

It must not decide when anybody dies.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from everturn.llm.assemble import Assembler
from everturn.llm.catalogue import ModelFacts, Route
from everturn.llm.demo.model import DemoModel
from everturn.llm.failure import FailureCode, ModelFailed, consequence
from everturn.ports.decider import Answered, DeliveryFailed, WorkerAnswer
from everturn.protocol.decision import DECISION_RESPONSE
from everturn.protocol.llm import LlmRequest
from everturn.protocol.wire import to_json
from everturn.push.frames import DeltaPush, EventPush, Push, delta_frame, event_frame
from everturn.push.outcome import Gone, PushOutcome, Sent
from everturn.session.decide.questions import EXECUTES
from faults.process import Process
from faults.scenario import MODEL
from faults.stepwise import Stepwise
from unit.drive.doubles import FrozenClock, RecordingLanes, answered, result

CHUNK_MS = 100
"""How long the model takes for a piece of its answer."""

WORK_MS = 400
"""How long the worker takes for a tool."""


BROKEN: Final = Route(
    "broken", "Broken", (ModelFacts("broken", "m", "M", context_window_tokens=32_000),)
)
"""Its model says something, and then has no key."""

SAYS_BEFORE: Final = 2
"""How many pieces that is."""


class DyingModel:
    """The demo model, with a point before and after each of its chunks; it may be broken."""

    def __init__(
        self, process: Process, stepwise: Stepwise, clock: FrozenClock, *, breaks: bool = False
    ) -> None:
        self._breaks = breaks
        self._process = process
        self._stepwise = stepwise
        self._clock = clock
        self._model = DemoModel(clock.sleep)

    def stream(self, request: Any, **how: Any) -> Iterator[Any]:
        """Play the script."""
        self._process.point("before the model streams")
        for number, chunk in enumerate(self._model.stream(request, **how)):
            if self._breaks and number == SAYS_BEFORE:
                raise ModelFailed("there is no key", FailureCode.AUTH)
            yield chunk
            self._clock.move(CHUNK_MS)
            self._process.point("after a chunk")
            self._stepwise.turnstile()


@dataclass
class Workers:
    """The worker behind the tools; it knows what it was asked, and what it really started."""

    script: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What a tool's first requests meet, see `_reply`; after these it succeeds.

    `MODEL` stands for the model calls that the worker runs.
    """

    writes_home: bool = False
    """Children send a message to the session above all when they are done."""

    asked: Counter[str] = field(default_factory=Counter)
    started: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Tool and call to how often it was begun."""

    keys: defaultdict[str, set[Any]] = field(default_factory=lambda: defaultdict(set))
    """Idempotency keys of each call."""

    def answer(self, request: Mapping[str, Any]) -> WorkerAnswer:
        """Run a tool, or refuse to."""
        trigger = request["trigger"]
        if trigger["type"] not in EXECUTES:  # it decides: as the engine would
            return Answered(DECISION_RESPONSE.validate_python(self._decided(request)))
        is_poll = trigger["type"] == "tool.poll"
        name = f"{trigger['name']} poll" if is_poll else trigger.get("name", MODEL)
        script = self.script.get(name, ())
        self.asked[name] += 1
        reply = script[self.asked[name] - 1] if self.asked[name] <= len(script) else "result"
        if name == MODEL:
            return _model_answer(reply, trigger)
        self.keys[trigger["id"]].add(trigger.get("idempotency_key"))
        return self._reply(reply, name, trigger["id"])

    def _decided(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is proposed; at its end a child may write to the session above all."""
        proposed: Mapping[str, Any] = request["proposed"]
        is_end = request["trigger"]["type"] == "llm.finished" and request["ancestry"]
        if not self.writes_home or not is_end:
            return proposed
        note = {"role": "user", "content": "[[say:I have read it]]"}
        to_root = {"type": "message.send", "session_id": request["ancestry"][0], "message": note}
        return {**proposed, "actions": [to_root, *proposed["actions"]]}

    def returned(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the worker returns as a Lambda function."""
        answer = self.answer(request)
        assert isinstance(answer, Answered)
        returned: dict[str, Any] = to_json(answer.response)
        return returned

    def _reply(self, reply: str, name: str, call_id: str) -> WorkerAnswer:
        match reply.split():
            case ["429" | "503" as status, *after]:
                retry_after_s = float(after[0]) if after else None
                return DeliveryFailed(
                    "not now", "unavailable", True, "no", int(status), retry_after_s
                )
            case ["error"]:
                self.started[name, call_id] += 1
                return answered({"type": "tool.error", "error": "not now", "retryable": True})
            case ["later"]:
                self.started[name, call_id] += 1
                return Answered(DECISION_RESPONSE.validate_python({}))
            case ["result"]:
                self.started[name, call_id] += 1
                return result(f"{name.removesuffix(' poll')} ran")
            case _:
                return _held(reply, call_id)


def _held(reply: str, call_id: str) -> WorkerAnswer:
    """Return an answer that keeps the call open."""
    match reply.split():
        case ["ask"]:
            return answered({"type": "tool.ask", "question": "May I?"})
        case ["task", seconds]:
            interval = {"poll_interval_seconds": float(seconds)}
            return answered({"type": "tool.task", "task_id": call_id, **interval})
        case ["pending"]:
            return answered({"type": "tool.pending"})
        case _:
            raise AssertionError(f"the worker does not know {reply!r}")


def _model_answer(reply: str, trigger: Mapping[str, Any]) -> WorkerAnswer:
    """Return what a worker makes of a model call: the demo model's answer, cut off, or none."""
    if reply == "503":
        return DeliveryFailed("not now", "unavailable", True, "no", int(reply))
    if reply == "error":
        return answered({"type": "llm.error", "error": "no such model", "code": "provider_error"})
    request = LlmRequest.model_validate(trigger["request"])
    assembler = Assembler()
    try:
        for chunk in DemoModel(lambda _s: False).stream(
            request, attempt=trigger["attempt"], cancelled=lambda: False
        ):
            assembler.feed(chunk)
    except ModelFailed as error:
        means = consequence(error.code)
        failed = {"error": error.message, "code": means.error_code, "retryable": means.retryable}
        return answered({"type": "llm.error", **failed})
    made = assembler.answer()
    content = made.content and made.content[:9] if reply == "cut" else made.content
    response: dict[str, Any] = {"model": request.model, "content": content}
    response["finish_reason"] = "length" if reply == "cut" else made.finish_reason
    if made.tool_calls:
        response["tool_calls"] = [to_json(call) for call in made.tool_calls]
    return answered({"type": "llm.result", "response": response})


def _unseen(_piece: str) -> None:
    """Nobody asked for pieces."""


def _pieces(answer: WorkerAnswer) -> Iterator[str]:
    """Yield the deltas that a worker streams before its answer, as JSON."""
    for action in (answer.response.actions or ()) if isinstance(answer, Answered) else ():
        response = getattr(action, "response", None) or {}
        for word in re.findall(r"\S+\s*", response.get("content") or ""):
            yield json.dumps({"text": word})


@dataclass(frozen=True, slots=True)
class DyingDecider:
    """The way to the worker: points around each request, others may run while it is under way."""

    process: Process
    stepwise: Stepwise
    clock: FrozenClock
    workers: Workers

    def deliver(self, _target: Any, body: bytes, **about: Any) -> WorkerAnswer:
        """Ask the worker; a model's answer comes in pieces where they are wanted."""
        self.process.point("before worker.deliver")
        self.stepwise.turnstile()
        answer = self.process.outside(lambda: self.workers.answer(json.loads(body)))
        show: Callable[[str], None] = about.get("on_delta") or _unseen
        for piece in _pieces(answer):
            show(piece)
            self.clock.move(CHUNK_MS)
            self.process.point("after a chunk")
            self.stepwise.turnstile()
        self.clock.move(WORK_MS)
        self.stepwise.turnstile()
        self.process.point("after worker.deliver")
        return answer


class TakesFrames(Protocol):
    """A client at the other end of a connection."""

    def take(self, frame: dict[str, Any]) -> None:
        """Receive a frame."""
        ...


class OpenConnections:
    """The WebSocket connections that are open."""

    def __init__(self) -> None:
        self._open: dict[str, TakesFrames] = {}

    def open(self, connection_id: str, client: TakesFrames) -> None:
        """Connect a client."""
        self._open[connection_id] = client

    def close(self, connection_id: str) -> None:
        """Let go of a client, who may be gone."""
        self._open.pop(connection_id, None)

    def names(self) -> set[str]:
        """Return who is connected."""
        return set(self._open)

    def post(self, connection_id: str, frame: bytes) -> PushOutcome:
        """Send one frame."""
        client = self._open.get(connection_id)
        if client is None:
            return Gone()
        client.take(json.loads(frame))
        return Sent()


class DyingLanes(RecordingLanes):
    """Lanes without threads, a request each frame; lazy ones send only when they are flushed."""

    def __init__(
        self,
        post: Callable[[str, bytes], PushOutcome],
        gone: Callable[[str], None],
        *,
        lazy: bool,
    ) -> None:
        super().__init__()
        self._send_one = post
        self._gone = gone
        self._lazy = lazy
        self._waiting: list[tuple[str, bytes]] = []

    def push(self, connection_id: str, push: Push) -> bool:
        """Send, or keep for the flush."""
        self._waiting.append((connection_id, _frame(push)))
        if not self._lazy:
            self._send()
        return True

    def flush(self, timeout_s: float) -> bool:
        """Send what waits."""
        del timeout_s
        self._send()
        return True

    def _send(self) -> None:
        while self._waiting:
            connection_id, frame = self._waiting.pop(0)
            if isinstance(self._send_one(connection_id, frame), Gone):
                self._gone(connection_id)


def _frame(push: Push) -> bytes:
    match push:
        case EventPush():
            return event_frame(push)
        case DeltaPush():
            return delta_frame(push)
