"""Each patch closes its gap, and each gap is still there without it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models import DynamoDBBackend
from moto.sqs.models import SQSBackend

from everturn_local.bell import Bell
from everturn_local.clock import LocalClock
from everturn_local.patches.dynamodb_answers import dynamodb_answers
from everturn_local.patches.dynamodb_lock import dynamodb_lock
from everturn_local.patches.dynamodb_observed import dynamodb_observed, take_observed
from everturn_local.patches.dynamodb_query import dynamodb_query
from everturn_local.patches.dynamodb_streams import dynamodb_streams
from everturn_local.patches.dynamodb_transactions import (
    dynamodb_tokens,
    dynamodb_transaction_limits,
    dynamodb_undo,
)
from everturn_local.patches.everything import patched_dynamodb
from everturn_local.patches.instances import untracked_instances
from everturn_local.patches.lambda_invoke import Invoked, lambda_invoke
from everturn_local.patches.sqs_fifo import sqs_fifo
from everturn_local.patches.states_executions import (
    states_from_cloudformation,
    states_names,
    states_stops,
    states_waits,
)
from everturn_local.patches.states_jsonata import evaluate, states_jsonata
from everturn_local.patches.states_tasks import states_sizes
from integration.local import gaps, plain_moto
from integration.local import gaps_of_machines as machines
from integration.local import gaps_of_queues as queues
from integration.local import gaps_of_tables as tables
from integration.local.gaps import Gap

Patch = Callable[[], AbstractContextManager[None]]


def answered() -> AbstractContextManager[None]:
    """Lambda answered by a function of this test."""
    return lambda_invoke(
        lambda _name, payload, _asynchronous: Invoked(b"[" + payload + b"]", failed=False)
    )


def streams() -> AbstractContextManager[None]:
    """Streams without anybody who listens."""
    return dynamodb_streams(Bell())


def fifo_queues() -> AbstractContextManager[None]:
    """Queues on real time."""
    return sqs_fifo(LocalClock())


@contextmanager
def undone_streams() -> Iterator[None]:
    """Both patches that a stream's iterator needs to survive a cancelled transaction."""
    with dynamodb_undo(), streams():
        yield


def waits() -> AbstractContextManager[None]:
    """Waits on real time."""
    return states_waits(LocalClock())


@contextmanager
def stops() -> Iterator[None]:
    """Stops that reach waits on the same clock."""
    clock = LocalClock()
    with states_waits(clock), states_stops(clock):
        yield


CLOSED: tuple[tuple[Gap, Patch], ...] = (
    (tables.several_threads_win_one_transaction, dynamodb_lock),
    (tables.a_cancelled_transaction_swaps_the_table, dynamodb_undo),
    (tables.a_failed_update_leaves_keys_behind, dynamodb_undo),
    (tables.a_request_token_is_ignored, dynamodb_tokens),
    (tables.a_transaction_may_exceed_4_mb, dynamodb_transaction_limits),
    (tables.a_batch_may_exceed_25_items, dynamodb_transaction_limits),
    (tables.an_unchanged_item_gets_a_record, streams),
    (tables.a_creating_update_gets_two_records, streams),
    (tables.an_iterator_dies_with_a_cancelled_transaction, undone_streams),
    (tables.a_query_sorts_the_whole_table, dynamodb_query),
    (tables.an_attribute_is_searched_for_every_type, dynamodb_answers),
    (queues.a_timed_out_batch_comes_back_in_another_order, fifo_queues),
    (queues.a_deleted_message_is_not_deduplicated, fifo_queues),
    (queues.deduplication_ignores_groups, fifo_queues),
    (queues.a_long_poll_on_a_blocked_group_spins, fifo_queues),
    (queues.sequence_numbers_do_not_grow, fifo_queues),
    (queues.a_lambda_invocation_only_echoes, answered),
    (machines.jsonata_has_no_evaluator, states_jsonata),
    (machines.bound_quotes_break_expressions, states_jsonata),
    (machines.other_alphabets_count_two_or_threefold, states_sizes),
    (machines.a_task_may_be_given_more_than_256_kb, states_sizes),
    (machines.cloudformation_creates_machines_that_do_not_run, states_from_cloudformation),
    (machines.a_bad_execution_name_is_accepted, states_names),
    (machines.unnamed_executions_collide, states_names),
    (machines.a_timestamp_is_read_as_local_time, waits),
    (machines.a_stop_loses_its_cause, stops),
    (tables.instances_are_kept_for_ever, untracked_instances),
)


def name_of(value: object) -> str:
    """A readable test id."""
    return getattr(value, "__name__", "")


@pytest.fixture(scope="module", autouse=True)
def trying() -> Iterator[subprocess.Popen[str]]:
    """A fresh interpreter that tries all gaps on plain moto while the other tests run."""
    command = [sys.executable, "-m", gaps.__name__]
    tests = Path(gaps.__file__).parents[2]
    with subprocess.Popen(command, cwd=tests, stdout=subprocess.PIPE, text=True) as tried:  # noqa: S603
        yield tried


@pytest.fixture(scope="module")
def upstream(trying: subprocess.Popen[str]) -> dict[str, bool]:
    """Which gaps plain moto has."""
    answers: dict[str, bool] = json.loads(trying.communicate()[0])
    return answers


@pytest.mark.parametrize(("gap", "patch"), CLOSED, ids=name_of)
def test_a_patch_closes_its_gap(gap: Gap, patch: Patch) -> None:
    with plain_moto.plain_cloud(), patch():
        found = gap()

    assert not found


def test_a_request_token_with_another_request_is_refused() -> None:
    with plain_moto.plain_cloud(), dynamodb_tokens():
        dynamodb = plain_moto.a_table()
        token = "token-of-two-requests"
        dynamodb.transact_write_items(TransactItems=[plain_moto.put("a")], ClientRequestToken=token)

        with pytest.raises(ClientError) as refused:
            dynamodb.transact_write_items(
                TransactItems=[plain_moto.put("b")], ClientRequestToken=token
            )

    assert refused.value.response["Error"]["Code"] == "IdempotentParameterMismatchException"


def test_a_cancelled_transaction_restores_every_item_and_names_the_reasons() -> None:
    with plain_moto.plain_cloud(), patched_dynamodb():
        dynamodb = plain_moto.a_table(stream=True)
        before = plain_moto.item("a", n={"N": "1"})
        dynamodb.put_item(TableName="t", Item=before)
        update = {
            "TableName": "t",
            "Key": plain_moto.item("a"),
            "UpdateExpression": "SET n = :n",
            "ExpressionAttributeValues": {":n": {"N": "2"}},
        }
        failing = {
            "ConditionExpression": "attribute_not_exists(pk)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        dynamodb.put_item(TableName="t", Item=plain_moto.item("there"))

        with pytest.raises(ClientError) as cancelled:
            dynamodb.transact_write_items(
                TransactItems=[
                    {"Update": update},
                    plain_moto.put("new"),
                    plain_moto.put("there", **failing),
                ]
            )

        items = dynamodb.scan(TableName="t")["Items"]
    reasons = cancelled.value.response["CancellationReasons"]
    assert items == [before, plain_moto.item("there")]
    assert [each["Code"] for each in reasons] == ["None", "None", "ConditionalCheckFailed"]
    assert reasons[2]["Item"] == plain_moto.item("there")


def query_answers() -> list[Any]:
    """Many queries of one table: ranges, pages, both directions, and a sparse index."""
    dynamodb = plain_moto.a_table()
    for number in range(12):
        kind = {"kind": {"S": f"kind-{number % 2}"}} if number % 3 else {}
        dynamodb.put_item(TableName="t", Item=plain_moto.item(f"LOG#{number:02d}", **kind))
        dynamodb.put_item(TableName="t", Item={"pk": {"S": f"q{number}"}, "sk": {"S": "x"}})
    asked: list[Any] = []
    for index, condition, values in (
        (None, "pk = :p", {":p": "p"}),
        (None, "pk = :p AND begins_with(sk, :s)", {":p": "p", ":s": "LOG#0"}),
        (None, "pk = :p AND sk BETWEEN :a AND :b", {":p": "p", ":a": "LOG#03", ":b": "LOG#08"}),
        (None, "pk = :p AND sk > :a", {":p": "p", ":a": "LOG#09"}),
        (None, "pk = :p", {":p": "missing"}),
        ("by_kind", "kind = :k", {":k": "kind-1"}),
        ("by_kind", "kind = :k AND sk < :s", {":k": "kind-0", ":s": "LOG#09"}),
    ):
        for forward in (True, False):
            pages = dynamodb.get_paginator("query").paginate(
                TableName="t",
                **({"IndexName": index} if index else {}),
                KeyConditionExpression=condition,
                ExpressionAttributeValues={name: {"S": value} for name, value in values.items()},
                ScanIndexForward=forward,
                PaginationConfig={"PageSize": 3},
            )
            asked.append([each["sk"]["S"] for page in pages for each in page["Items"]])
    return asked


def test_queries_answer_as_before_with_ranges_pages_order_and_indexes() -> None:
    with plain_moto.plain_cloud():
        plain = query_answers()
    with plain_moto.plain_cloud(), dynamodb_query(), dynamodb_observed():
        patched = query_answers()

    assert patched == plain
    assert [len(found) for found in patched] == [12, 12, 10, 10, 6, 6, 2, 2, 0, 0, 4, 4, 3, 3]


def test_what_a_request_wrote_and_read_is_observed() -> None:
    with plain_moto.plain_cloud(), dynamodb_observed():
        dynamodb = plain_moto.a_table()
        take_observed()
        dynamodb.put_item(TableName="t", Item=plain_moto.item("a", body={"S": "x" * 100}))
        dynamodb.query(
            TableName="t",
            KeyConditionExpression="pk = :p",
            ExpressionAttributeValues={":p": {"S": "p"}},
            ProjectionExpression="sk",
        )
        writes, read_bytes = take_observed()

    size = len("pk" + "p" + "sk" + "a" + "body") + 100
    assert [(each.old_bytes, each.new_bytes) for each in writes] == [(None, size)]
    assert read_bytes == size


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2", 3),
        ("$exists(missing)", False),
        ('$parse("[1, 2]")', [1, 2]),
        ("$range(0, 6, 3)", [0, 3, 6]),
        ("$partition([1, 2, 3], 2)", [[1, 2], [3]]),
        ("$hash('a', 'SHA-256')[0]", evaluate("$hash('a', 'SHA-256')")),
        (
            "{'list': [1, 2, null], 'text': 'he said \"no\"'}",
            {"list": [1, 2, None], "text": 'he said "no"'},
        ),
        ("$merge([{'a': 1}, {'b': 2}])", {"a": 1, "b": 2}),
    ],
)
def test_jsonata_gives_plain_json(expression: str, value: Any) -> None:
    assert evaluate(expression) == value


def test_a_failing_expression_fails_the_execution() -> None:
    state = {"Type": "Pass", "Output": "{% $error('no') %}", "End": True}
    with plain_moto.plain_cloud(), states_jsonata():
        described = plain_moto.run_machine({"States": {"S": state}})

    assert described["status"] == "FAILED"


def test_threads_that_start_one_name_start_one_execution() -> None:

    with plain_moto.plain_cloud(), states_names(), stops():
        arn = plain_moto.run_machine(plain_moto.FOREVER, within_s=0.1)["stateMachineArn"]
        states = plain_moto.a_client("stepfunctions")
        named = {"stateMachineArn": arn, "name": "once", "input": '{"n": 1}'}
        with ThreadPoolExecutor(8) as pool:
            started = list(pool.map(lambda _: states.start_execution(**named), range(8)))
        executions = states.list_executions(stateMachineArn=arn)["executions"]

        for each in executions:
            states.stop_execution(executionArn=each["executionArn"])

    assert len({each["executionArn"] for each in started}) == 1
    assert sorted(each["name"] for each in executions) == ["e", "once"]


def test_time_that_is_skipped_ends_a_wait() -> None:
    clock = LocalClock()
    with plain_moto.plain_cloud(), states_waits(clock):
        running = plain_moto.run_machine(plain_moto.FOREVER, within_s=0.1)
        clock.skip(61)
        states = plain_moto.a_client("stepfunctions")
        ended = plain_moto.until(
            lambda: states.describe_execution(executionArn=running["executionArn"])["status"],
            lambda status: status != "RUNNING",
        )

    assert (running["status"], ended) == ("RUNNING", "SUCCEEDED")


def test_two_consumers_never_receive_one_message() -> None:

    with plain_moto.plain_cloud(), fifo_queues():
        sqs, url = plain_moto.a_queue(DeduplicationScope="messageGroup")
        for number in range(40):
            plain_moto.send(sqs, url, str(number), group=str(number))

        with ThreadPoolExecutor(8) as pool:
            batches = list(pool.map(lambda _: plain_moto.receive(sqs, url), range(16)))

    bodies = [each["Body"] for batch in batches for each in batch]
    assert sorted(bodies, key=int) == [str(number) for number in range(40)]


def test_a_message_that_is_sent_ends_a_long_poll_at_once() -> None:

    with plain_moto.plain_cloud(), fifo_queues():
        sqs, url = plain_moto.a_queue()
        threading.Timer(0.2, plain_moto.send, (sqs, url, "late")).start()
        started = time.monotonic()
        bodies = [each["Body"] for each in plain_moto.receive(sqs, url, WaitTimeSeconds=5)]
        took_s = time.monotonic() - started

    assert bodies == ["late"]
    assert took_s < 4


def test_patches_leave_moto_as_it_was() -> None:

    before = (DynamoDBBackend.transact_write_items, SQSBackend.receive_message)
    with fifo_queues(), patched_dynamodb():
        inside = (DynamoDBBackend.transact_write_items, SQSBackend.receive_message)

    after = (DynamoDBBackend.transact_write_items, SQSBackend.receive_message)
    assert before == after
    assert before != inside


@pytest.mark.parametrize("gap", gaps.GAPS, ids=name_of)
def test_moto_still_has_the_gap(gap: Gap, upstream: dict[str, bool]) -> None:
    assert upstream[gap.__name__], f"moto closed the gap {gap.__name__}: its patch can go"
