"""What moto does wrong, one function a gap: true when the gap is there.

Run as a program it tries all of them on plain moto and prints the answers as JSON.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.stepfunctions.parser.asl.eval import variable_store

REGION = "us-east-1"
Gap = Callable[[], bool]


_SESSION = boto3.Session("local", "local", region_name=REGION)


def a_client(service: Any) -> Any:
    """A client; all share a session, which reads its models only once."""
    return _SESSION.client(service)


@contextmanager
def plain_cloud() -> Iterator[None]:
    """An empty cloud in the modes that the local runtime uses."""
    os.environ["AWS_DEFAULT_REGION"] = REGION
    config: Any = {
        "lambda": {"use_docker": False},
        "stepfunctions": {"execute_state_machine": True},
    }
    with mock_aws(config=config):
        yield


def a_table(stream: bool = False) -> Any:
    """A client and one table `t` with keys pk and sk, and a sparse index `by_kind`."""
    dynamodb = a_client("dynamodb")
    extra: Any = {}
    if stream:
        extra = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}}
    dynamodb.create_table(
        TableName="t",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
            {"AttributeName": "kind", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_kind",
                "KeySchema": [
                    {"AttributeName": "kind", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        **extra,
    )
    return dynamodb


def item(sk: str, **attributes: Any) -> dict[str, Any]:
    """An item of partition `p`."""
    return {"pk": {"S": "p"}, "sk": {"S": sk}, **attributes}


def put(sk: str, **more: Any) -> dict[str, Any]:
    """A transaction's Put of an item without attributes."""
    return {"Put": {"TableName": "t", "Item": item(sk), **more}}


def several_threads_win_one_transaction() -> bool:
    """Two threads meet between reading and writing, where that is possible."""

    dynamodb = a_table()
    meeting = threading.Barrier(2)
    get_item = Table.get_item

    def get_and_meet(self: Table, *args: Any) -> Any:
        found = get_item(self, *args)
        try:
            meeting.wait(0.3)
        except threading.BrokenBarrierError:
            return found
        return found

    def attempt(_: int) -> bool:
        condition = {"ConditionExpression": "attribute_not_exists(pk)"}
        try:
            dynamodb.transact_write_items(TransactItems=[put("race", **condition)])
        except ClientError:
            return False
        return True

    Table.get_item = get_and_meet  # type: ignore[method-assign, assignment]
    try:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(attempt, range(2))) == [True, True]
    finally:
        Table.get_item = get_item  # type: ignore[method-assign]


def a_cancelled_transaction_swaps_the_table() -> bool:

    dynamodb = a_table()
    table = dynamodb_backends["123456789012"][REGION].tables["t"]
    cancelled(dynamodb)
    return dynamodb_backends["123456789012"][REGION].tables["t"] is not table


def cancelled(dynamodb: Any) -> None:
    """Run a transaction of two puts whose second condition fails."""
    missing = put("b", ConditionExpression="attribute_exists(pk)")
    with contextlib.suppress(dynamodb.exceptions.TransactionCanceledException):
        dynamodb.transact_write_items(TransactItems=[put("a"), missing])


def a_failed_update_leaves_keys_behind() -> bool:
    dynamodb = a_table()
    with contextlib.suppress(ClientError):
        dynamodb.update_item(
            TableName="t",
            Key=item("new"),
            UpdateExpression="SET body = :body",
            ExpressionAttributeValues={":body": {"S": "x" * 420_000}},
        )
    return "Item" in dynamodb.get_item(TableName="t", Key=item("new"))


def a_request_token_is_ignored() -> bool:
    dynamodb = a_table()
    request: Any = {
        "TransactItems": [put("once", ConditionExpression="attribute_not_exists(pk)")],
        "ClientRequestToken": "the-same-token",
    }
    dynamodb.transact_write_items(**request)
    try:
        dynamodb.transact_write_items(**request)
    except ClientError:
        return True
    return False


def a_transaction_may_exceed_4_mb() -> bool:
    dynamodb = a_table()
    actions: Any = [
        {"Put": {"TableName": "t", "Item": item(str(n), body={"S": "x" * 390_000})}}
        for n in range(11)
    ]
    try:
        dynamodb.transact_write_items(TransactItems=actions)
    except ClientError:
        return False
    return True


def a_batch_may_exceed_25_items() -> bool:
    dynamodb = a_table()
    requests: Any = [{"PutRequest": {"Item": item(str(n))}} for n in range(26)]
    try:
        dynamodb.batch_write_item(RequestItems={"t": requests})
    except ClientError:
        return False
    return True


def records_of(act: Callable[[Any], None]) -> list[tuple[str, str]]:
    """(event, sort key) of the stream records that `act` causes, read by an iterator before it."""
    dynamodb = a_table(stream=True)
    streams = a_client("dynamodbstreams")
    arn = dynamodb.describe_table(TableName="t")["Table"]["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")[
        "ShardIterator"
    ]
    act(dynamodb)
    records = streams.get_records(ShardIterator=iterator)["Records"]
    return [(each["eventName"], each["dynamodb"]["Keys"]["sk"]["S"]) for each in records]


def an_unchanged_item_gets_a_record() -> bool:
    def twice(dynamodb: Any) -> None:
        dynamodb.put_item(TableName="t", Item=item("a"))
        dynamodb.put_item(TableName="t", Item=item("a"))

    return records_of(twice) != [("INSERT", "a")]


def a_creating_update_gets_two_records() -> bool:
    def upsert(dynamodb: Any) -> None:
        dynamodb.update_item(
            TableName="t",
            Key=item("a"),
            UpdateExpression="SET n = :n",
            ExpressionAttributeValues={":n": {"N": "1"}},
        )

    return records_of(upsert) != [("INSERT", "a")]


def an_iterator_dies_with_a_cancelled_transaction() -> bool:
    def cancel_then_write(dynamodb: Any) -> None:
        cancelled(dynamodb)
        dynamodb.put_item(TableName="t", Item=item("after"))

    return records_of(cancel_then_write) != [("INSERT", "after")]


def a_query_sorts_the_whole_table() -> bool:

    dynamodb = a_table()
    for number in range(300):
        dynamodb.put_item(TableName="t", Item={"pk": {"S": f"p{number}"}, "sk": {"S": "s"}})
    compared = []
    less = DynamoType.__lt__

    def counting(self: DynamoType, other: DynamoType) -> bool:
        compared.append(1)
        return less(self, other)

    DynamoType.__lt__ = counting  # type: ignore[method-assign]
    try:
        dynamodb.query(
            TableName="t",
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": "p7"}},
        )
    finally:
        DynamoType.__lt__ = less  # type: ignore[method-assign]
    return len(compared) > 100


def consumed_capacity_is_constant() -> bool:
    dynamodb = a_table()
    answer = dynamodb.put_item(
        TableName="t", Item=item("a", body={"S": "x" * 5000}), ReturnConsumedCapacity="TOTAL"
    )
    return bool(answer["ConsumedCapacity"]["CapacityUnits"] == 1.0)


def a_queue(**attributes: Any) -> tuple[Any, str]:
    """A client and the URL of a FIFO queue."""
    sqs = a_client("sqs")
    url = sqs.create_queue(QueueName="q.fifo", Attributes={"FifoQueue": "true", **attributes})[
        "QueueUrl"
    ]
    return sqs, url


def send(sqs: Any, url: str, body: str, group: str = "g", dedup: str | None = None) -> None:
    """Send one message."""
    sqs.send_message(
        QueueUrl=url,
        MessageBody=body,
        MessageGroupId=group,
        MessageDeduplicationId=dedup or body,
    )


def receive(sqs: Any, url: str, **options: Any) -> list[dict[str, Any]]:
    """Receive up to ten messages."""
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], **options
    )
    return list(answer.get("Messages", []))


def a_timed_out_batch_comes_back_in_another_order() -> bool:
    sqs, url = a_queue()
    for body in "abc":
        send(sqs, url, body)
    receive(sqs, url, VisibilityTimeout=1)
    time.sleep(1.1)
    return [each["Body"] for each in receive(sqs, url)] != ["a", "b", "c"]


def a_deleted_message_is_not_deduplicated() -> bool:
    sqs, url = a_queue()
    send(sqs, url, "a")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=receive(sqs, url)[0]["ReceiptHandle"])
    send(sqs, url, "a")
    return receive(sqs, url) != []


def deduplication_ignores_groups() -> bool:
    sqs, url = a_queue(DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")
    send(sqs, url, "a", group="one", dedup="same")
    send(sqs, url, "b", group="two", dedup="same")
    return len(receive(sqs, url)) != 2


def a_long_poll_on_a_blocked_group_spins() -> bool:
    sqs, url = a_queue()
    send(sqs, url, "a")
    receive(sqs, url, VisibilityTimeout=30)
    send(sqs, url, "b")
    before = time.thread_time()
    receive(sqs, url, WaitTimeSeconds=1)
    return time.thread_time() - before > 0.3


def sequence_numbers_do_not_grow() -> bool:
    sqs, url = a_queue()
    for number in range(8):
        send(sqs, url, str(number))
    numbers = [int(each["Attributes"]["SequenceNumber"]) for each in receive(sqs, url)]
    return numbers != sorted(numbers)


def a_lambda_invocation_only_echoes() -> bool:
    role = a_client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")
    client = a_client("lambda")
    client.create_function(
        FunctionName="f",
        Runtime="python3.11",
        Role=role["Role"]["Arn"],
        Handler="app.lambda_handler",
        Code={"ZipFile": b"pass"},
    )
    answer = client.invoke(FunctionName="f", Payload=b'{"n": 1}')
    return bool(json.loads(answer["Payload"].read()) == {"n": 1})


def until(read: Callable[[], Any], accept: Callable[[Any], bool], within_s: float = 8.0) -> Any:
    """Read until the value is accepted; gives the last value when time is up."""
    end = time.monotonic() + within_s
    while True:
        value = read()
        if accept(value) or time.monotonic() > end:
            return value
        time.sleep(0.01)


def run_machine(
    definition: dict[str, Any], execution_input: Any = None, within_s: float = 5.0, **named: str
) -> dict[str, Any]:
    """Create a machine, run it and give its description when it ended or time is up."""
    states = a_client("stepfunctions")
    machine = states.create_state_machine(
        name="m",
        roleArn="arn:aws:iam::123456789012:role/r",
        definition=json.dumps({"QueryLanguage": "JSONata", "StartAt": "S", **definition}),
    )["stateMachineArn"]
    execution = states.start_execution(
        stateMachineArn=machine, name="e", input=json.dumps(execution_input or {}), **named
    )["executionArn"]
    described: dict[str, Any] = until(
        lambda: states.describe_execution(executionArn=execution),
        lambda each: each["status"] != "RUNNING",
        within_s,
    )
    return described


def jsonata_has_no_evaluator() -> bool:
    state = {"Type": "Pass", "Output": {"sum": "{% $states.input.a + 1 %}"}, "End": True}
    described = run_machine({"States": {"S": state}}, {"a": 1}, within_s=1.5)
    return bool(json.loads(described.get("output", "null")) != {"sum": 2})


def bound_quotes_break_expressions() -> bool:

    module: Any = variable_store
    bound = module.encode_jsonata_variable_declarations({"$said": 'he said "no"'})
    return bool(bound != '$said:="he said \\"no\\"";')


def cloudformation_creates_machines_that_do_not_run() -> bool:
    state = {"Type": "Pass", "End": True}
    machine = {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {
            "StateMachineName": "made",
            "RoleArn": "arn:aws:iam::123456789012:role/r",
            "DefinitionString": json.dumps({"StartAt": "S", "States": {"S": state}}),
        },
    }
    a_client("cloudformation").create_stack(
        StackName="s", TemplateBody=json.dumps({"Resources": {"M": machine}})
    )
    states = a_client("stepfunctions")
    return not states.list_state_machines()["stateMachines"]


PASS: dict[str, Any] = {"States": {"S": {"Type": "Pass", "End": True}}}
FOREVER: dict[str, Any] = {"States": {"S": {"Type": "Wait", "Seconds": 60, "End": True}}}


def a_bad_execution_name_is_accepted() -> bool:
    states = a_client("stepfunctions")
    arn = run_machine(PASS)["stateMachineArn"]
    try:
        states.start_execution(stateMachineArn=arn, name="two words")
    except ClientError:
        return False
    return True


def unnamed_executions_collide() -> bool:
    states = a_client("stepfunctions")
    arn = run_machine(PASS)["stateMachineArn"]
    try:
        first = states.start_execution(stateMachineArn=arn, input='{"n": 1}')
        second = states.start_execution(stateMachineArn=arn, input='{"n": 2}')
    except ClientError:
        return True
    return bool(first["executionArn"] == second["executionArn"])


def a_timestamp_is_read_as_local_time() -> bool:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    try:
        due = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
        state = {"Type": "Wait", "Timestamp": due, "End": True}
        described = run_machine({"States": {"S": state}}, within_s=0.5)
        return bool(described["status"] != "RUNNING")
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


def a_stop_loses_its_cause() -> bool:
    states = a_client("stepfunctions")
    arn = run_machine(FOREVER, within_s=0.2)["executionArn"]
    states.stop_execution(executionArn=arn, error="Gone", cause="on purpose")
    time.sleep(0.1)
    described = states.describe_execution(executionArn=arn)
    found = (described["status"], described.get("error"), described.get("cause"))
    return bool(found != ("ABORTED", "Gone", "on purpose"))


def instances_are_kept_for_ever() -> bool:

    dynamodb = a_table()
    tracked: list[Any] = vars(Item)["instances_tracked"]
    before = len(tracked)
    for _ in range(5):
        dynamodb.put_item(TableName="t", Item=item("the same"))
    return len(tracked) - before >= 5


GAPS: tuple[Gap, ...] = (
    several_threads_win_one_transaction,
    a_cancelled_transaction_swaps_the_table,
    a_failed_update_leaves_keys_behind,
    a_request_token_is_ignored,
    a_transaction_may_exceed_4_mb,
    a_batch_may_exceed_25_items,
    an_unchanged_item_gets_a_record,
    a_creating_update_gets_two_records,
    an_iterator_dies_with_a_cancelled_transaction,
    a_query_sorts_the_whole_table,
    consumed_capacity_is_constant,
    a_timed_out_batch_comes_back_in_another_order,
    a_deleted_message_is_not_deduplicated,
    deduplication_ignores_groups,
    a_long_poll_on_a_blocked_group_spins,
    sequence_numbers_do_not_grow,
    a_lambda_invocation_only_echoes,
    jsonata_has_no_evaluator,
    bound_quotes_break_expressions,
    cloudformation_creates_machines_that_do_not_run,
    a_bad_execution_name_is_accepted,
    unnamed_executions_collide,
    a_timestamp_is_read_as_local_time,
    a_stop_loses_its_cause,
    instances_are_kept_for_ever,
)


def open_gaps() -> dict[str, bool]:
    """Every gap tried, each on a cloud of its own."""
    answers = {}
    for gap in GAPS:
        with plain_cloud():
            answers[gap.__name__] = gap()
    return answers


if __name__ == "__main__":
    logging.disable()  # the interpreter reports the gaps as well
    sys.stdout.write(json.dumps(open_gaps()))
