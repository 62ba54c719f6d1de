"""Wake-ups on the queue and on the step machine, and the fake beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ParamValidationError, ReadTimeoutError

from contract.store.conftest import REGION, Aws, FakeTime
from everturn.errors import DefectError, QueueUnavailable
from everturn.ports.sessions import SessionKey
from everturn.ports.wake import FunctionRun
from everturn.protocol.ids import DecisionId
from everturn.protocol.limits import STEP_FUNCTIONS_PAYLOAD_BYTES
from everturn.protocol.wake import WAKE, Settles
from everturn.store import keys
from everturn.store.memory_directory import InMemoryWake, Sent
from everturn.store.wake import SqsWake, dedup_id, run_name, timer_name
from sample_events import CREATED, NOON_MS

KEY = SessionKey("acme", "s1")
DUE_MS = NOON_MS + 60_500
DUE = "2026-01-01T12:01:00.500Z"
ARN = "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-x"
RUN = FunctionRun(ARN, {"attempts": 1, "messages": ["grüße"]}, "d1", 1, DUE_MS)


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


def test_a_run_is_one_execution_that_knows_what_to_send(queue: Queue) -> None:
    again = replace(RUN, attempt=2)
    for version, run in ((7, RUN), (9, RUN), (9, again)):
        queue.wake.after(KEY, CREATED, version, run)

    executions = {one["name"]: json.loads(one["input"]) for one in queue.executions()}

    name = run_name(KEY, CREATED, RUN)
    assert executions.keys() == {name, run_name(KEY, CREATED, again)}
    assert executions[name] == {
        "kind": "invoke",
        "until": DUE,
        "function": ARN,
        "request": {"attempts": 1, "messages": ["grüße"]},
        "message": {
            "step": "tool",
            "tenant": "acme",
            "session": "s1",
            "version": 7,
            "subject": "d1",
        },
        "settles": {"decision_id": "d1", "attempt": 1},
        "group": keys.group_id(KEY),
        "dedup": f"{CREATED}:{name}",
    }


def test_the_fake_knows_a_run_once_and_sends_what_becomes_of_it() -> None:
    wake = InMemoryWake()
    for _ in range(2):
        wake.after(KEY, CREATED, 7, RUN)
        wake.settle(wake.runs[0], answer={"state": 1})

    (sent,) = wake.sent

    settled = WAKE.validate_python(dict(sent.message)).settles
    assert len(wake.runs) == 1
    assert settled == Settles(decision_id=DecisionId("d1"), attempt=1, answer={"state": 1})
    assert sent.dedup == f"{CREATED}:{run_name(KEY, CREATED, RUN)}"


def test_the_fake_takes_no_more_than_the_machine() -> None:
    large = replace(RUN, request={"messages": "x" * STEP_FUNCTIONS_PAYLOAD_BYTES})

    with pytest.raises(DefectError):
        InMemoryWake().after(KEY, CREATED, 7, large)


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
    assert len(run_name(KEY, CREATED, RUN)) == 59
    assert len(dedup_id(CREATED, run_name(KEY, CREATED, RUN))) == 96
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
    wake = SqsWake(client, "url", client, "arn", FakeTime().pace())

    with pytest.raises(ours):
        wake.now(KEY, CREATED, "llm", 7, "7")
    with pytest.raises(ours):
        wake.at(KEY, CREATED, "timer", 7, DUE_MS, "call-1")
    with pytest.raises(ours):
        wake.after(KEY, CREATED, 7, RUN)
