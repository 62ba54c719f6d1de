"""What moto does wrong with queues and functions, one function a gap: true when it is there."""

from __future__ import annotations

import json
import time

from integration.local.plain_moto import a_client, a_queue, receive, send


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
