"""What holds for a delivery whichever way it goes. Source: decision protocol D-6 to D-9, O-11."""

from __future__ import annotations

from threading import Barrier, Thread
from time import monotonic

import pytest

from contract.delivery.conftest import BODY, Says, Transport, says
from everturn.ports.decider import Answered, DeliveryFailed, WorkerAnswer
from everturn.protocol.decision import DecisionResponse
from everturn.protocol.limits import MAX_DECISION_BODY_BYTES

EMPTY = Answered(DecisionResponse())


def test_a_worker_gets_the_request_byte_for_byte_and_decides(transport: Transport) -> None:
    transport.worker.act = says({"state": {"grüße": 12345678901234567890}})

    answer = transport.deliver()

    assert answer == Answered(DecisionResponse(state={"grüße": 12345678901234567890}))
    assert transport.worker.bodies == [BODY]


def test_an_empty_decision_is_one(transport: Transport) -> None:
    assert transport.deliver() == EMPTY


@pytest.mark.parametrize(
    ("body", "error", "code"),
    [
        (b"", "the answer is empty", "invalid_json"),
        (b"{secret", None, "invalid_json"),
        (b'{"secret":1}', "/secret: unknown field", "schema_violation"),
        (b'["secret"]', "/: should be an object", "schema_violation"),
        (b'{"state":"\\ud800"}', "half a surrogate pair is no character", "invalid_json"),
        (b'{"state":1,"state":"secret"}', "an object has the same key twice", "invalid_json"),
    ],
)
def test_an_answer_that_cannot_be_read_is_told_by_its_place_and_counted(
    transport: Transport, body: bytes, error: str | None, code: str
) -> None:
    transport.worker.act = lambda _body: Says(body)

    answer = transport.deliver()

    assert isinstance(answer, DeliveryFailed)
    assert (answer.code, answer.retryable, answer.started) == (code, True, "unknown")
    assert answer.invalid
    assert answer.error == error if error else "secret" not in answer.error


def test_an_answer_over_the_limit_is_final(transport: Transport) -> None:
    transport.worker.act = lambda _body: Says(b" " * (MAX_DECISION_BODY_BYTES + 1))

    answer = transport.deliver()

    assert isinstance(answer, DeliveryFailed)
    assert (answer.error, answer.code) == ("the answer is larger than it may be", "too_large")
    assert (answer.retryable, answer.started, answer.invalid) == (False, "unknown", True)


def test_a_worker_without_room_has_started_nothing(transport: Transport) -> None:
    transport.worker.act = lambda _body: Says(refuses=True)

    answer = transport.deliver()

    assert isinstance(answer, DeliveryFailed)
    assert (answer.code, answer.retryable, answer.started) == ("rate_limited", True, "no")


def test_a_worker_whose_platform_fails_may_have_started(transport: Transport) -> None:
    transport.worker.act = lambda _body: Says(b'"secret"', breaks=True)

    answer = transport.deliver()

    assert isinstance(answer, DeliveryFailed)
    assert (answer.retryable, answer.started) == (True, "unknown")
    assert "secret" not in answer.error


def hanging(transport: Transport) -> Transport:
    """Have the worker hang until the test is over."""

    def act(_body: bytes) -> Says:
        transport.worker.over.wait(10)
        return Says()

    transport.worker.act = act
    return transport


def test_the_time_limit_spans_the_whole_delivery(transport: Transport) -> None:
    begun = monotonic()

    answer = hanging(transport).deliver(timeout_s=0.3)

    assert answer == DeliveryFailed(
        "the worker did not answer in time", "deadline_exceeded", True, "unknown"
    )
    assert 0.3 <= monotonic() - begun < 3


def test_a_cancelled_delivery_ends_at_once_and_may_have_started(transport: Transport) -> None:
    begun = monotonic()

    answer = hanging(transport).deliver(cancelled=lambda: bool(transport.worker.bodies))

    assert answer == DeliveryFailed("the delivery was cancelled", "cancelled", False, "unknown")
    assert monotonic() - begun < 3


def test_a_delivery_cancelled_before_it_began_sends_nothing(transport: Transport) -> None:
    answer = transport.deliver(cancelled=lambda: True)

    assert answer == DeliveryFailed("the delivery was cancelled", "cancelled", False, "no")
    assert transport.worker.bodies == []


def test_a_request_over_the_limit_is_not_sent(transport: Transport) -> None:
    answer = transport.deliver(b" " * (20 * 1024 * 1024 + 1))

    assert isinstance(answer, DeliveryFailed)
    assert (answer.code, answer.retryable, answer.started) == ("too_large", False, "no")
    assert transport.worker.bodies == []


def test_deliveries_at_once_do_not_wait_for_each_other(transport: Transport) -> None:
    together = Barrier(5, timeout=5)
    answers: list[WorkerAnswer] = []

    def act(_body: bytes) -> Says:
        together.wait()
        return Says()

    transport.worker.act = act
    threads = [Thread(target=lambda: answers.append(transport.deliver())) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)

    assert answers == [EMPTY] * 5
