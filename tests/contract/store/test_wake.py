"""Wake-ups on the queue and on the step machine, and the fake beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ParamValidationError, ReadTimeoutError

from contract.store.conftest import REGION, Aws
from contract.store.samples import CREATED, NOON_MS
from everturn.errors import DefectError, QueueUnavailable
from everturn.ports.sessions import SessionKey
from everturn.protocol.wake import WAKE
from everturn.store import keys
from everturn.store.memory_directory import InMemoryWake, Sent
from everturn.store.wake import SqsWake, dedup_id, timer_name

KEY = SessionKey("acme", "s1")
DUE_MS = NOON_MS + 60_500
DUE = "2026-01-01T12:01:00.500Z"


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue and a machine, and the wake that uses them."""

    wake: SqsWake
    sqs: Any
    sfn: Any
    url: str
    machine: str

    def messages(self) -> list[dict[str, Any]]:
        answer = self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=["All"]
        )
        found: list[dict[str, Any]] = answer.get("Messages", [])
        return found

    def executions(self) -> list[dict[str, Any]]:
        listed = self.sfn.list_executions(stateMachineArn=self.machine)["executions"]
        return [self.sfn.describe_execution(executionArn=one["executionArn"]) for one in listed]


@pytest.fixture
def queue(aws: Aws) -> Queue:
    sqs = boto3.client("sqs", region_name=REGION)
    sfn = boto3.client("stepfunctions", region_name=REGION)
    name = f"{aws.table}.fifo"
    url = sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"})["QueueUrl"]
    states = {"StartAt": "Done", "States": {"Done": {"Type": "Pass", "End": True}}}
    machine = sfn.create_state_machine(
        name=aws.table,
        definition=json.dumps(states),
        roleArn="arn:aws:iam::123456789012:role/step",
    )["stateMachineArn"]
    return Queue(SqsWake(sqs, url, sfn, machine), sqs, sfn, url, machine)


def test_a_wake_up_is_one_message_in_its_sessions_group(queue: Queue) -> None:
    queue.wake.now(KEY, CREATED, "llm", 7, "7")
    queue.wake.now(KEY, CREATED, "llm", 7, "7")

    (message,) = queue.messages()

    assert json.loads(message["Body"]) == {
        "step": "llm",
        "tenant": "acme",
        "session": "s1",
        "version": 7,
    }
    assert WAKE.validate_json(message["Body"]).version == 7
    assert message["Attributes"]["MessageGroupId"] == keys.group_id(KEY)
    assert message["Attributes"]["MessageDeduplicationId"] == f"{CREATED}:7"


def test_a_timer_is_one_execution(queue: Queue) -> None:
    queue.wake.at(KEY, CREATED, "timer", 7, DUE_MS, "call-1")
    queue.wake.at(KEY, CREATED, "timer", 9, DUE_MS, "call-1")
    queue.wake.at(KEY, CREATED, "timer", 9, DUE_MS, "call-2")

    executions = {one["name"]: json.loads(one["input"]) for one in queue.executions()}

    name = timer_name(KEY, CREATED, "call-1", DUE)
    assert len(executions) == 2
    assert executions[name] == {
        "kind": "wait",
        "until": DUE,
        "message": {
            "step": "timer",
            "tenant": "acme",
            "session": "s1",
            "version": 7,
            "due": DUE,
            "subject": "call-1",
        },
        "group": keys.group_id(KEY),
        "dedup": f"{CREATED}:{name}",
    }


def test_the_fake_keeps_what_the_queue_would_deliver() -> None:
    wake = InMemoryWake()
    for _ in range(2):
        wake.now(KEY, CREATED, "llm", 7, "7")
        wake.at(KEY, CREATED, "timer", 7, DUE_MS, "call-1")

    now, later = wake.sent

    body = {"step": "llm", "tenant": "acme", "session": "s1", "version": 7}
    assert now == Sent(body, keys.group_id(KEY), f"{CREATED}:7")
    assert later.message == body | {"step": "timer", "due": DUE, "subject": "call-1"}
    assert later.dedup == f"{CREATED}:{timer_name(KEY, CREATED, 'call-1', DUE)}"
    assert later.due_ms == DUE_MS


def test_names_fit_their_limits() -> None:
    name = timer_name(KEY, CREATED, "call-1", DUE)

    assert len(name) == 57
    assert len(dedup_id(CREATED, name)) == 94
    assert dedup_id(CREATED, "x" * 91) == f"{CREATED}:{'x' * 91}"
    assert dedup_id(CREATED, "x" * 92) == f"{CREATED}:{keys.digest32('x' * 92)}"
    assert dedup_id(CREATED, "a b") == f"{CREATED}:{keys.digest32('a b')}"


class Refusing:
    """A client that raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def send_message(self, **request: Any) -> None:
        del request
        raise self._error

    start_execution = send_message


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "Any")


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (refused("ThrottlingException"), QueueUnavailable),
        (refused("ExecutionLimitExceeded"), QueueUnavailable),
        (refused("AccessDenied"), DefectError),
        (ParamValidationError(report="QueueUrl"), DefectError),
        (ReadTimeoutError(endpoint_url="https://sqs"), QueueUnavailable),
    ],
)
def test_errors_of_the_queue_become_ours(error: Exception, ours: type[Exception]) -> None:
    client: Any = Refusing(error)
    wake = SqsWake(client, "url", client, "arn")

    with pytest.raises(ours):
        wake.now(KEY, CREATED, "llm", 7, "7")
    with pytest.raises(ours):
        wake.at(KEY, CREATED, "timer", 7, DUE_MS, "call-1")
