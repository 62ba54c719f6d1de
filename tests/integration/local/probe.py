"""The running fixture stack as a test sees it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Container, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from everturn_local.runtime import LocalRuntime

TEMPLATE = Path(__file__).parent / "fixtures" / "template.yaml"
REAL_TEMPLATE = Path(__file__).parents[3] / "template.yaml"
IMPORTS = {"shared-thing": "imported"}

T = TypeVar("T")


def until(read: Callable[[], T], accept: Callable[[T], bool], within_s: float = 8.0) -> T:
    """Read until the value is accepted; gives the last value when time is up."""
    end = time.monotonic() + within_s
    while True:
        value = read()
        if accept(value) or time.monotonic() > end:
            return value
        time.sleep(0.005)


def has(length: int) -> Callable[[Sized], bool]:
    """Accept a value of that length."""
    return lambda value: len(value) == length


def contains(element: str) -> Callable[[Container[str]], bool]:
    """Accept what has that element."""
    return lambda value: element in value


def stays(read: Callable[[], T], for_s: float) -> T:
    """The value after `for_s`, for what must not happen."""
    return until(read, lambda _: False, for_s)


@dataclass(frozen=True)
class Probe:
    """A runtime, and short ways to use its stack."""

    runtime: LocalRuntime

    def send(self, group: str, n: int, **body: Any) -> None:
        """Send one message to the worker's queue."""
        self.runtime.clients.sqs.send_message(
            QueueUrl=self.runtime.physical["Queue"],
            MessageBody=json.dumps({"group": group, "n": n, **body}),
            MessageGroupId=group,
            MessageDeduplicationId=f"{group}-{n}",
        )

    def items(self, pk: str) -> list[dict[str, Any]]:
        """Items that the stub functions wrote under `pk`, oldest first."""
        answer = self.runtime.clients.dynamodb.query(
            TableName=self.runtime.physical["Table"],
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
        )
        return list(answer["Items"])

    def texts(self, pk: str, name: str) -> list[str]:
        """One string attribute of those items."""
        return [item[name]["S"] for item in self.items(pk) if name in item]

    def seen(self, group: str) -> list[str]:
        """What the worker noted of a group's messages."""
        return self.texts(f"seen#{group}", "what")

    def put(self, pk: str, sk: str, **attributes: str) -> None:
        """Write one item into the stack's table."""
        self.runtime.clients.dynamodb.put_item(
            TableName=self.runtime.physical["Table"],
            Item={
                "pk": {"S": pk},
                "sk": {"S": sk},
                **{name: {"S": value} for name, value in attributes.items()},
            },
        )


@contextmanager
def running_stack(**options: Any) -> Iterator[Probe]:
    """The fixture stack, started with `options` of `LocalRuntime`."""
    with LocalRuntime(TEMPLATE, imports=IMPORTS, **options) as runtime:
        yield Probe(runtime)
