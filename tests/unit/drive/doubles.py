"""Hand-written doubles of the ports that a driver works with; time is in the test's hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from everturn.drive.lease import Lease
from everturn.errors import QueueUnavailable
from everturn.llm.chunks import Chunk, Finished, TextDelta, UsageReported
from everturn.ports.decider import Answered, WorkerAnswer, WorkerTarget
from everturn.ports.model import NOTHING_BESIDE, Beside, Model
from everturn.ports.sessions import SessionKey
from everturn.protocol.decision import DECISION_RESPONSE
from everturn.protocol.llm import LlmRequest, Usage
from everturn.protocol.wire import parse, to_json
from everturn.push.frames import DeltaPush, EventPush, Push
from everturn.push.lanes import Lanes
from everturn.push.outcome import PushOutcome, Sent
from everturn.store.memory_directory import InMemoryWake
from transcripts.ledger import LEDGER

NOON_MS = 1_767_268_800_000
"""2026-01-01T12:00:00Z."""


class FrozenClock:
    """`Clock` that moves when it is told to; no id is drawn twice."""

    def __init__(self, now_ms: int = NOON_MS) -> None:
        self.now = now_ms
        self._drawn = 0

    def now_ms(self) -> int:
        return self.now

    def entropy(self) -> bytes:
        self._drawn += 1
        return self._drawn.to_bytes(16, "big")

    def move(self, ms: int) -> None:
        self.now += ms

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1000)


class SteppingClock(FrozenClock):
    """`Clock` that moves a little whenever it is read."""

    def __init__(self, step_ms: int = 1) -> None:
        super().__init__()
        self.step_ms = step_ms

    def now_ms(self) -> int:
        self.now += self.step_ms
        return self.now


class NoQueue(InMemoryWake):
    """`Wake` that takes no message."""

    def now(self, key: SessionKey, created: str, step: str, version: int, dedup: str) -> None:
        raise QueueUnavailable(f"no {step} for {key.session} {version} {created} {dedup}")


Step = Sequence[Chunk | BaseException]


class ScriptedModel:
    """`Model` that plays its steps, one a call; `close` fails on steps left over."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.requests: list[tuple[LlmRequest, int]] = []
        self.beside: list[Beside] = []
        self.between: Callable[[], None] = lambda: None

    def stream(
        self,
        request: LlmRequest,
        *,
        attempt: int,
        cancelled: Callable[[], bool],
        failed_tool_calls: frozenset[str] = frozenset(),
        beside: Beside = NOTHING_BESIDE,
    ) -> Iterator[Chunk]:
        del cancelled
        self.beside.append(beside)
        LEDGER.note(to_json(request), failed_tool_calls)
        self.requests.append((request, attempt))
        for one in self._steps.pop(0):
            if isinstance(one, BaseException):
                raise one
            yield one
            self.between()

    def close(self) -> None:
        assert self._steps == []


class WatchedModel:
    """`Model` that passes requests on to another, and notes them."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def stream(self, request: LlmRequest, **how: Any) -> Iterator[Chunk]:
        LEDGER.note(to_json(request), how.get("failed_tool_calls", frozenset()))
        return self._model.stream(request, **how)


def says(text: str) -> Step:
    """Return the step of a model that says `text`, a word a chunk."""
    words = [TextDelta(0, f"{word} ") for word in text.split()]
    return [*words, UsageReported(Usage(input_tokens=3, output_tokens=2)), Finished("stop")]


def answered(*actions: dict[str, Any], **more: Any) -> Answered:
    """Return a worker's answer with these actions."""
    return Answered(parse(DECISION_RESPONSE, {"actions": list(actions), **more}))


def result(value: Any) -> Answered:
    """Return the answer of a worker whose tool came to `value`."""
    return answered({"type": "tool.result", "result": value})


class ScriptedDecider:
    """`Decider` that plays one answer a delivery; a callable is asked with the request."""

    def __init__(self, *answers: WorkerAnswer | BaseException) -> None:
        self._answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.targets: list[WorkerTarget] = []
        self.timeouts_s: list[float] = []
        self.answer: Callable[[dict[str, Any]], WorkerAnswer] | None = None

    def deliver(
        self,
        target: WorkerTarget,
        body: bytes,
        *,
        decision_id: str,
        attempt: int,
        timeout_s: float,
        idempotency_key: str | None,
        cancelled: Callable[[], bool],
        on_delta: Callable[[str], None] | None = None,
    ) -> WorkerAnswer:
        del decision_id, attempt, idempotency_key, cancelled, on_delta
        request = json.loads(body)
        LEDGER.note_question(request)
        self.requests.append(request)
        self.targets.append(target)
        self.timeouts_s.append(timeout_s)
        if self.answer is not None:
            return self.answer(request)
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class RecordingLanes(Lanes):
    """`Lanes` that keep what was pushed instead of sending it."""

    def __init__(self) -> None:
        super().__init__(_taken, on_end=lambda _connection, _why: None)
        self.pushed: list[tuple[str, Push]] = []
        self.expired: list[str] = []
        self.closed = False

    def push(self, connection_id: str, push: Push) -> bool:
        self.pushed.append((connection_id, push))
        return True

    def expire(self, connection_id: str) -> None:
        self.expired.append(connection_id)

    def flush(self, timeout_s: float) -> bool:
        del timeout_s
        return True

    def close(self) -> None:
        self.closed = True

    def seqs(self, connection_id: str = "c1") -> list[int]:
        """Return the numbers of the events that a connection was pushed."""
        return [
            push.seq
            for connection, push in self.pushed
            if connection == connection_id and isinstance(push, EventPush)
        ]

    def said(self, connection_id: str = "c1") -> str:
        """Return the text of the deltas that a connection was pushed."""
        return "".join(
            push.delta.text or ""
            for connection, push in self.pushed
            if connection == connection_id and isinstance(push, DeltaPush)
        )


def _taken(_connection_id: str, _frame: bytes) -> PushOutcome:
    return Sent()


def lease(renew: Callable[[int], None] = lambda _seconds: None, lease_s: int = 120) -> Lease:
    """Return a lease that was taken."""
    taken = Lease(renew, lease_s)
    taken.take()
    return taken


def refused_renewal(_seconds: int) -> None:
    raise PermissionError("the receipt handle has expired")
