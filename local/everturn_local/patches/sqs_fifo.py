"""SQS queues safe for several consumers, FIFO order and deduplication as AWS has them.

Upstream gaps (moto 5.2.5): after a visibility timeout of a batch the last message of a group comes
first; a deduplication id is forgotten with its message, and ignores DeduplicationScope; a long poll
on blocked groups spins; two consumers can receive one message; sequence numbers are random.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import moto.sqs.models as moto_models
from moto.sqs.models import Message, Queue, SQSBackend

from everturn_local.clock import LocalClock
from everturn_local.patches.replacing import replaced

DEDUPLICATION_MS = 300_000
"""Source: Amazon SQS Developer Guide, "Using the message deduplication ID"."""
LOOK_AGAIN_S = 5.0
"""Longest sleep of a long poll without looking at the queue again."""

Deduplication = tuple[str, str | None]


class _SeenIds:
    """Deduplication ids of one queue and when each was first sent."""

    def __init__(self) -> None:
        self._first_sent_ms: dict[Deduplication, float] = {}

    def admits(self, key: Deduplication, now_ms: float) -> bool:
        """Note `key`; False when it was sent in the last five minutes."""
        for old, sent_ms in list(self._first_sent_ms.items()):
            if now_ms - sent_ms < DEDUPLICATION_MS:
                break
            del self._first_sent_ms[old]
        if key in self._first_sent_ms:
            return False
        self._first_sent_ms[key] = now_ms
        return True


def _forget_expired(queue: Queue) -> None:
    """Unblock the groups whose messages became visible again, all of them at once."""
    for message in list(queue.pending_messages):
        if message.visible:
            queue.pending_messages.discard(message)


def _seconds_to_next_change(queue: Queue, now_ms: float) -> float:
    """How long until a hidden message appears by itself."""
    appearing = [
        at for message in queue._messages for at in (message.visible_at, message.delayed_until)
    ]
    later = [at - now_ms for at in appearing if at >= now_ms]
    return min([LOOK_AGAIN_S, *((gap_ms + 1) / 1000 for gap_ms in later)])


def _under_lock(method: Callable[..., Any]) -> Callable[..., Any]:
    """Run a backend method alone on its queue and wake the long polls after it."""

    def locked(self: SQSBackend, queue_name: str, *args: Any, **named: Any) -> Any:
        queue = self.get_queue(queue_name)
        with queue._messages_lock:
            try:
                return method(self, queue_name, *args, **named)
            finally:
                queue._messages_lock.notify_all()

    return locked


def _adder(clock: LocalClock) -> Callable[[Queue, Message], None]:
    numbers = itertools.count(1)
    seen: WeakKeyDictionary[Queue, _SeenIds] = WeakKeyDictionary()

    def add_message(self: Queue, message: Message) -> None:
        with self._messages_lock:
            if self.fifo_queue:
                scoped = self.deduplication_scope == "messageGroup"  # type: ignore[attr-defined]
                group = message.group_id if scoped else None
                now_ms = clock.now_ms()
                key = (message.deduplication_id or message.id, group)
                if not seen.setdefault(self, _SeenIds()).admits(key, now_ms):
                    return
                message.sequence_number = f"{next(numbers):020d}"
            self._messages.append(message)
            self._messages_lock.notify_all()

    return add_message


def _receiver(clock: LocalClock) -> Callable[..., list[Message]]:
    receive = SQSBackend.receive_message

    def receive_message(
        self: SQSBackend,
        queue_name: str,
        count: int,
        wait_seconds_timeout: int,
        *args: Any,
        **named: Any,
    ) -> list[Message]:
        queue = self.get_queue(queue_name)
        until = time.monotonic() + int(wait_seconds_timeout or 0)
        with queue._messages_lock:
            while True:
                _forget_expired(queue)
                messages = receive(self, queue_name, count, 0, *args, **named)
                left_s = until - time.monotonic()
                if messages or left_s <= 0:
                    return messages
                change_s = _seconds_to_next_change(queue, clock.now_ms())
                queue._messages_lock.wait(min(left_s, change_s))

    return receive_message


def wake_receivers() -> None:
    """Make every long poll look at its queue again, for example after a skip of the clock."""
    for regions in moto_models.sqs_backends.values():
        for backend in list(regions.values()):
            for queue in list(backend.queues.values()):
                with queue._messages_lock:
                    queue._messages_lock.notify_all()


@contextmanager
def sqs_fifo(clock: LocalClock) -> Iterator[None]:
    """Correct order, deduplication and long polls; queue time is `clock`'s.

    Replaces moto's own event source mappings of queues: they would fire inside SendMessage.
    """
    with (
        replaced(moto_models, "unix_time_millis", clock.now_ms),
        replaced(Queue, "add_message", _adder(clock)),
        replaced(SQSBackend, "receive_message", _receiver(clock)),
        replaced(SQSBackend, "delete_message", _under_lock(SQSBackend.delete_message)),
        replaced(
            SQSBackend,
            "change_message_visibility",
            _under_lock(SQSBackend.change_message_visibility),
        ),
        replaced(SQSBackend, "purge_queue", _under_lock(SQSBackend.purge_queue)),
    ):
        yield
