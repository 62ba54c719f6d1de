"""Lambda functions that are registered with a runtime and belong to no template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from everturn_local.intrinsics import TemplateError
from everturn_local.runtime import LocalRuntime
from everturn_local.worker_functions import ALLOWED, function_arn, load_worker, specs_of
from integration.local.probe import IMPORTS, TEMPLATE

REGION = "us-east-1"


def echo(event: Any, context: Any) -> Any:
    if event == "fail":
        raise LookupError("on purpose")
    return {"event": event, "arn": context.invoked_function_arn, "name": context.function_name}


def test_a_registered_function_is_invoked_by_name_and_by_arn() -> None:
    with LocalRuntime(TEMPLATE, imports=IMPORTS, worker_functions={"mine": echo}) as runtime:
        arn = runtime.function_arn("mine")
        client = boto3.client("lambda")

        answers = [
            client.invoke(FunctionName=name, Payload=b'{"n": 1}')
            for name in ("mine", arn, f"{arn}:prod")
        ]
        failed = client.invoke(FunctionName=arn, Payload=b'"fail"')

        told = [json.load(answer["Payload"]) for answer in answers]
        error = json.load(failed["Payload"])
    assert told == [{"event": {"n": 1}, "arn": arn, "name": "mine"}] * 3
    assert (failed["FunctionError"], error["errorType"]) == ("Unhandled", "LookupError")


def test_a_throttled_function_does_not_run() -> None:
    seen: list[Any] = []
    functions = {"mine": lambda event, _context: seen.append(event)}
    with LocalRuntime(TEMPLATE, imports=IMPORTS, worker_functions=functions) as runtime:
        client = boto3.client("lambda", config=Config(retries={"total_max_attempts": 1}))
        runtime.faults.throttles = lambda name: name == "mine"

        with pytest.raises(client.exceptions.TooManyRequestsException):
            client.invoke(FunctionName=runtime.function_arn("mine"), Payload=b"{}")

    assert seen == []


@pytest.mark.parametrize("name", ["tools", "worker", ""])
def test_a_name_that_the_stack_would_not_call_is_refused(name: str) -> None:
    environment = {ALLOWED: function_arn("worker-", REGION)}

    with pytest.raises(TemplateError, match="the name must begin with worker-"):
        specs_of([name], REGION, environment)


def test_a_handler_is_loaded_from_a_file_with_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_the_tools.py").write_text("WORD = 'hello'")
    file = tmp_path / "tools.py"
    file.write_text(
        "from neighbour_of_the_tools import WORD\n"
        "def handler(event, context):\n    return [WORD, event]\n"
    )

    name, handler = load_worker(f"worker-tools={file}:handler")

    context: Any = None
    assert (name, handler(1, context)) == ("worker-tools", ["hello", 1])


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("worker-tools", "is not NAME=path/to/file.py:handler"),
        ("worker-tools=tools.py", "is not NAME=path/to/file.py:handler"),
        ("=tools.py:handler", "is not NAME=path/to/file.py:handler"),
        ("worker-tools=tools.txt:handler", "is not NAME=path/to/file.py:handler"),
        ("worker-tools=nowhere.py:handler", "there is no file nowhere.py"),
        (f"worker-tools={__file__}:no_such_thing", "has no attribute"),
    ],
)
def test_what_names_no_handler_is_refused(argument: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_worker(argument)
