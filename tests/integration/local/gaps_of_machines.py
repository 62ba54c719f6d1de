"""What moto does wrong with state machines, one function a gap: true when the gap is there."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from botocore.exceptions import ClientError
from moto.stepfunctions.parser.asl.component.state import state as moto_state
from moto.stepfunctions.parser.asl.eval import variable_store

from integration.local.plain_moto import FOREVER, PASS, a_client, a_queue, run_machine


def jsonata_has_no_evaluator() -> bool:
    state = {"Type": "Pass", "Output": {"sum": "{% $states.input.a + 1 %}"}, "End": True}
    described = run_machine({"States": {"S": state}}, {"a": 1}, within_s=1.5)
    return bool(json.loads(described.get("output", "null")) != {"sum": 2})


def bound_quotes_break_expressions() -> bool:

    module: Any = variable_store
    bound = module.encode_jsonata_variable_declarations({"$said": 'he said "no"'})
    return '"he said "no""' in bound


def other_alphabets_count_two_or_threefold() -> bool:
    module: Any = moto_state
    return not module.is_within_size_quota({"text": "é" * 100_000})


def a_task_may_be_given_more_than_256_kb() -> bool:
    _, url = a_queue()
    given = {"QueueUrl": url, "MessageBody": "x" * 300_000, "MessageGroupId": "g"}
    state = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "End": True}
    described = run_machine({"States": {"S": {**state, "Arguments": given}}})
    return bool(described.get("error") != "States.DataLimitExceeded")


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
