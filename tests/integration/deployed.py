"""The template's resources in moto, in this process, and its functions as Lambda would load them.

As a script it is one cold start: `deployed.py FUNCTION SAMPLE` invokes a function once, with the
variables that the template gives it and those that Lambda does, and prints the result.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from moto import mock_aws
from moto.apigatewaymanagementapi.models import apigatewaymanagementapi_backends

from everturn_local.clients import Clients
from everturn_local.stack import Endpoints, Stack, create_stack
from everturn_local.template import ACCOUNT, Deployment, Template, load_template
from everturn_local.topology import Topology, read_topology

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "events"
REGION = "us-east-1"
TENANT = "acme"
SESSION = "0198f3a2-5c1e-7d40-9b1a-000000000001"
TURN = "0198f3a2-5c1e-7d40-9b1a-000000000002"
CONNECTION = "L0SM9cOFvHcCIhw="
API_KEY = "evt_sample-key-of-acme"

LAMBDA_GIVES = {
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_ACCESS_KEY_ID": "sample",
    "AWS_SECRET_ACCESS_KEY": "sample",  # moto takes any
    "PATH": os.environ.get("PATH", ""),
}


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler is told about its invocation."""

    function_name: str
    aws_request_id: str = "0198f3a2-5c1e-7d40-9b1a-00000000a001"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:sample"
    remaining_ms: int = 900_000

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


class Deployed:
    """The stack, and ways to look into it that owe nothing to the functions' own wiring."""

    def __init__(self, template: Template, stack: Stack, clients: Clients) -> None:
        self.template = template
        self.stack = stack
        self.clients = clients
        self.topology: Topology = read_topology(template)

    @property
    def table(self) -> str:
        return self.stack.physical["Table"]

    @property
    def queue_url(self) -> str:
        return self.stack.physical["Queue"]

    @cached_property
    def store(self) -> Any:
        from everturn.store.blobs import S3Blobs  # noqa: PLC0415  # after the variables are set
        from everturn.store.dynamo import DynamoSessionStore  # noqa: PLC0415

        blobs = S3Blobs(self.clients.s3, self.stack.physical["Bucket"])
        return DynamoSessionStore(self.table, self.clients.dynamodb, blobs)

    @cached_property
    def directory(self) -> Any:
        from everturn.store.blobs import S3Blobs  # noqa: PLC0415
        from everturn.store.directory import DynamoDirectory  # noqa: PLC0415

        blobs = S3Blobs(self.clients.s3, self.stack.physical["Bucket"])
        return DynamoDirectory(self.table, self.clients.dynamodb, blobs)

    def environment(self, function: str) -> Mapping[str, str]:
        """Return the variables that the template gives a function."""
        return self.stack.environments[self.topology.function(function).logical_id]

    def messages(self) -> list[dict[str, Any]]:
        """Receive the wake-ups that wait in the queue; they stay invisible from then on."""
        got = self.clients.sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in got.get("Messages", [])]

    def frames(self) -> list[dict[str, Any]]:
        """Return the frames that were posted to the sample's connection."""
        backend = apigatewaymanagementapi_backends[ACCOUNT][REGION]
        text = backend.connections[quote(CONNECTION)].data.decode()
        decoder, frames, at = json.JSONDecoder(), [], 0
        while at < len(text):
            frame, at = decoder.raw_decode(text, at)
            frames.append(frame)
        return frames

    def seed(self) -> None:
        """Write what the samples refer to: a key, an agent, an input in the past, a reader."""
        from everturn.commands.agents import Agents  # noqa: PLC0415
        from everturn.ports.callers import Caller  # noqa: PLC0415
        from everturn.ports.directory import ApiKey  # noqa: PLC0415
        from everturn.ports.sessions import SessionKey  # noqa: PLC0415
        from everturn.ports.streams import Watcher  # noqa: PLC0415
        from everturn.protocol.api_keys import hash_of  # noqa: PLC0415

        self.directory.put_api_key(hash_of(API_KEY), ApiKey(TENANT, "sample"))
        agents = Agents(
            self.directory,
            clock(),
            networks="any",
            catalogue_of=lambda _tenant: models().catalogue(),
            forget=lambda _tenant, _agent: None,
        )
        retry = {
            "timeout_secs": 60,
            "max_retries": 3,
            "backoff_base_secs": 60,
            "backoff_max_secs": 60,
        }
        agent = {
            "model": "demo:demo",
            "decides": "engine",
            "worker": "http://127.0.0.1:9/nobody",
            "retry": retry,
            "tools": [{"name": "convert", "description": "Converts.", "effect": "read"}],
        }
        agents.put(TENANT, "helper", agent)
        self.directory.put_connection(CONNECTION, Caller(TENANT), 4_000_000_000)
        self.store.add_watcher(SessionKey(TENANT, SESSION), Watcher(CONNECTION, "live"))

    def spoil(self, sk: str, name: str, value: dict[str, Any]) -> None:
        """Overwrite an attribute of one of the session's items."""
        self.clients.dynamodb.update_item(
            TableName=self.table,
            Key={"pk": {"S": f"SESSION#{TENANT}#{SESSION}"}, "sk": {"S": sk}},
            UpdateExpression="SET #name = :value",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": value},
        )

    def submit(self, text: str, *, ago_s: int = 0) -> None:
        """Record an input as of some time ago, and wake nobody."""
        from everturn.commands.attempts import Attempts  # noqa: PLC0415
        from everturn.commands.reading import SessionReader  # noqa: PLC0415
        from everturn.commands.submit_input import SubmitInput  # noqa: PLC0415
        from everturn.ports.callers import Caller  # noqa: PLC0415
        from everturn.protocol.client_input import read_input  # noqa: PLC0415
        from everturn.store.memory_directory import InMemoryWake  # noqa: PLC0415

        reader = SessionReader(
            self.store, self.directory, self.directory.agent, lambda _tenant: models().catalogue()
        )
        submit = SubmitInput(
            self.store,
            reader,
            InMemoryWake(),
            clock(ago_s),
            by="http_api",
            runnable_s=1200,
            check_route=lambda _tenant, _facts: None,
            attempts=lambda: Attempts(lambda: 0.0, lambda _s: None),
        )
        message = {"role": "user", "content": text}
        client_input = {
            "type": "client.message",
            "agent_id": "helper",
            "turn_id": TURN,
            "message": message,
        }
        submit(Caller(TENANT), read_input({"session_id": SESSION, "input": client_input}))


def models() -> Any:
    """Return the demo model's registry."""
    from everturn.llm.demo.model import DEMO_ROUTE, DemoModel  # noqa: PLC0415
    from everturn.llm.registry import ModelRegistry, Served  # noqa: PLC0415

    registry = ModelRegistry()
    registry.register(Served(DEMO_ROUTE, lambda: DemoModel(lambda _s: False)))
    return registry


def clock(ago_s: int = 0) -> Any:
    """Return a clock that stood still so long ago."""
    from unit.drive.doubles import FrozenClock  # noqa: PLC0415  # after the variables are set

    return FrozenClock(time.time_ns() // 1_000_000 - ago_s * 1000)


@contextmanager
def deployed() -> Iterator[Deployed]:
    """Create the template's resources in moto for the time of the block."""
    template = load_template(
        ROOT / "template.yaml",
        Deployment("everturn", REGION, {"SampleWorker": "true", "WorkerNetworks": "any"}),
    )
    with mock_aws():
        clients = Clients(REGION)
        endpoints = Endpoints(f"https://live.execute-api.{REGION}.amazonaws.com", "live")
        yield Deployed(template, create_stack(template, clients, endpoints), clients)


def load_handler(function: str) -> Any:
    """Return the handler of a function, its folder on the path as Lambda has it."""
    folder = ROOT / "functions" / function
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location(f"{function}_app", folder / "app.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module.lambda_handler


def sample(name: str) -> dict[str, Any]:
    """Return a sample event."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


def queued(event: dict[str, Any], stack: Deployed, queue: str = "Queue") -> dict[str, Any]:
    """Return a queue's event with its message really in the queue and really received."""
    record = event["Records"][0]
    url = stack.stack.physical[queue]
    stack.clients.sqs.send_message(
        QueueUrl=url,
        MessageBody=record["body"],
        MessageGroupId=record["attributes"]["MessageGroupId"],
        MessageDeduplicationId=record["attributes"]["MessageDeduplicationId"],
    )
    received = stack.clients.sqs.receive_message(QueueUrl=url)["Messages"][0]
    return {"Records": [{**record, "receiptHandle": received["ReceiptHandle"]}]}


def forget_wiring() -> None:
    """Make the engine's process-wide adapters anew when they are next asked for."""
    from everturn import settings  # noqa: PLC0415  # after the variables are set
    from everturn.wiring import adapters, clients, surfaces, use_cases  # noqa: PLC0415

    for module in (settings, clients, adapters, use_cases, surfaces):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def cold_start(function: str, name: str) -> Any:
    """Invoke a function in a process that never saw the engine, nor any other variable."""
    os.environ.update(LAMBDA_GIVES)
    with deployed() as stack:
        stack.seed()
        if name != "http_api":
            stack.submit("[[say:Hello from afar]]", ago_s=0 if function == "driver" else 3600)
        event = sample(name)
        if function == "driver":
            event = queued(event, stack)
        for module in [each for each in sys.modules if each.split(".")[0] == "everturn"]:
            del sys.modules[module]
        os.environ.clear()
        os.environ.update(LAMBDA_GIVES | dict(stack.environment(function)))
        return load_handler(function)(event, Context(function))


if __name__ == "__main__":
    print(json.dumps(cold_start(*sys.argv[1:])))
