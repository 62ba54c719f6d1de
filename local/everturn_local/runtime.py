"""The local runtime: one stack on one machine, from its template. What it plays is elsewhere."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from everturn_local.bell import Bell
from everturn_local.bucket_cors import rules_of
from everturn_local.clients import Clients
from everturn_local.clock import LocalClock
from everturn_local.cloud import LocalCloud
from everturn_local.deliveries import Deliveries
from everturn_local.faults import Faults
from everturn_local.function_process import ProcessSandbox, child_environment
from everturn_local.functions import Functions, Sandbox
from everturn_local.gateway_http import INTEGRATION_TIMEOUT_S, HttpGateway
from everturn_local.gateway_websocket import WebSocketGateway
from everturn_local.handlers import (
    Handler,
    InProcessSandbox,
    forget_modules,
    restore_modules,
)
from everturn_local.intrinsics import TemplateError
from everturn_local.meter import Meter
from everturn_local.patches.lambda_invoke import Invoked, InvokeRefused
from everturn_local.server import HOST, GatewayServer, bound_socket
from everturn_local.source_queue import QueuePoller
from everturn_local.source_schedule import Scheduler
from everturn_local.source_stream import StreamReader
from everturn_local.stack import Endpoints, Stack, create_stack
from everturn_local.template import Deployment, Template, load_template
from everturn_local.topology import FunctionSpec, Topology, read_topology
from everturn_local.usage import Classifier, Line, default_category
from everturn_local.worker_functions import function_arn, sandboxes_of, specs_of

logger = logging.getLogger(__name__)

LOCAL_PARAMETERS: Mapping[str, str] = {
    "WorkerNetworks": "any",
    "SampleWorker": "true",
    "DefaultProvider": "demo",
}
"""Template parameters that differ on a laptop, for templates that have them."""
_ONE_AT_A_TIME = threading.Lock()
STOP_PATIENCE_S = 0.5
"""How long a stop waits for running invocations before it leaves them."""


@dataclass
class LocalRuntime:
    """Runs a template's functions against moto, with its event sources, HTTP and WebSocket APIs.

    Use it as a context manager or by `start` and `stop`; one runtime at a time in a process.
    A started runtime owns `os.environ`'s AWS and function variables until it stops.
    """

    template: Path
    _: KW_ONLY
    parameters: Mapping[str, str] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    """Exports of other stacks that the template imports."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables for every function, beside the template's."""
    process_functions: frozenset[str] = frozenset()
    """Functions that run in child processes, which `kill` can end."""
    worker_functions: Mapping[str, Handler] = field(default_factory=dict)
    """Lambda functions beside the template's, by name: workers that agents name by ARN."""
    region: str = "us-east-1"
    http_port: int = 0
    """0 takes a free port."""
    aws_port: int = 0
    """0 takes a free port."""
    plays_sources: bool = True
    """Whether queues, streams and schedules invoke their functions, or nobody but you does."""
    integration_timeout_s: float = INTEGRATION_TIMEOUT_S
    """How long the HTTP API waits for a function."""
    classify: Classifier = default_category
    """How the meter sorts requests."""

    faults: Faults = field(default_factory=Faults, init=False)
    """Hooks that lose or repeat deliveries, refuse frames and set clocks wrong."""
    clock: LocalClock = field(default_factory=LocalClock, init=False)
    meter: Meter = field(init=False)
    clients: Clients = field(init=False)
    """boto3 clients of the local cloud, not metered."""
    topology: Topology = field(init=False)
    scheduler: Scheduler = field(init=False)
    physical: Mapping[str, str] = field(default_factory=dict, init=False)
    """Names of the resources by logical id: a table's name, a queue's URL, a machine's ARN."""
    http_url: str = field(default="", init=False)
    ws_url: str = field(default="", init=False)
    aws_endpoint_url: str = field(default="", init=False)
    """Where other processes reach the local cloud."""

    def __post_init__(self) -> None:
        """Nothing runs yet."""
        self.meter = Meter(self.region, self.classify)
        self._stack = ExitStack()
        self._functions: Functions | None = None

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Create the stack and play it; returns when requests are answered.

        Raises `TemplateError` for a template that cannot be played, `RuntimeError` when this
        process runs another runtime.
        """
        with ExitStack() as stack:
            if not _ONE_AT_A_TIME.acquire(blocking=False):
                raise RuntimeError("another local runtime runs in this process")
            stack.callback(_ONE_AT_A_TIME.release)
            self._start(stack)
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """Stop everything within about three seconds and forget all data. Idempotent."""
        self._stack.close()
        self._functions = None

    @property
    def functions(self) -> Functions:
        """The stack's functions; raises `RuntimeError` when the runtime does not run."""
        if self._functions is None:
            raise RuntimeError("the local runtime does not run")
        return self._functions

    def kill(self, function: str) -> int:
        """Kill a function in process mode with SIGKILL; returns how many invocations died."""
        return self.functions.kill(function)

    def skip_time(self, seconds: float) -> None:
        """Move waits, schedules, queue visibility and connection ages forward."""
        self.clock.skip(seconds)

    def function_url(self, function: str) -> str:
        """URL of a function that has one."""
        return f"{self.http_url}/_functions/{function}"

    def function_arn(self, name: str) -> str:
        """ARN of a worker function, for an agent's `worker`."""
        return function_arn(name, self.region)

    def _start(self, stack: ExitStack) -> None:
        bell = Bell()
        cloud = LocalCloud(self.region, self.clock, bell, self._invoke_api)
        stack.callback(cloud.stop)
        self.clients = cloud.start(self.aws_port)
        self.aws_endpoint_url = cloud.endpoint_url
        template = self._load()
        self.topology = topology = read_topology(template)
        bound = bound_socket(self.http_port)
        stack.callback(bound.close)
        self.http_url = f"http://{HOST}:{bound.getsockname()[1]}"
        stage = topology.websocket.stage if topology.websocket else "local"
        self.ws_url = f"{self.http_url.replace('http', 'ws', 1)}/{stage}"
        created = create_stack(
            template, self.clients, Endpoints(self.http_url, stage, self.aws_endpoint_url)
        )
        self.physical = created.physical
        cloud.cors.rules = rules_of(template, created.physical)
        os.environ.update(self._function_environment(topology, created))
        self.meter.start()
        stack.callback(self.meter.stop)
        folders = [spec.code.directory for spec in topology.functions]
        stack.callback(restore_modules, folders, forget_modules(folders))
        self._functions = self._make_functions(topology, created)
        stack.callback(self._functions.close, patience_s=STOP_PATIENCE_S)
        self._serve(stack, topology, bound)
        if self.plays_sources:
            self._play(stack, topology, bell)

    def _load(self) -> Template:
        name = f"everturn-{uuid.uuid4().hex[:6]}"
        deployment = Deployment(
            stack=name,
            region=self.region,
            parameters=self.parameters,
            preferred=LOCAL_PARAMETERS,
            imports=self.imports,
        )
        return load_template(self.template, deployment)

    def _function_environment(self, topology: Topology, created: Stack) -> dict[str, str]:
        """One environment for all functions, since they share a process.

        Raises `TemplateError` when two functions want different values of one variable.
        """
        union: dict[str, str] = {}
        for spec in topology.functions:
            for name, value in created.environments[spec.logical_id].items():
                if union.setdefault(name, value) != value:
                    raise TemplateError(f"{name} differs between functions, here {spec.name}")
        return union | dict(self.environment)

    def _make_functions(self, topology: Topology, created: Stack) -> Functions:
        unknown = self.process_functions - {spec.name for spec in topology.functions}
        if unknown:
            raise TemplateError(f"the template has no function {', '.join(sorted(unknown))}")
        sandboxes = {spec.name: self._sandbox(spec, created) for spec in topology.functions}
        for sandbox in sandboxes.values():
            sandbox.warm()
        workers = specs_of(self.worker_functions, self.region, os.environ)
        return Functions(
            (*topology.functions, *workers),
            sandboxes | sandboxes_of(self.worker_functions),
            {**created.physical, **{spec.name: spec.name for spec in workers}},
            region=self.region,
            observe=self._observe,
        )

    def _sandbox(self, spec: FunctionSpec, created: Stack) -> Sandbox:
        if spec.name not in self.process_functions:
            return InProcessSandbox(spec.name, spec.code)
        variables = {**created.environments[spec.logical_id], **self.environment}
        child = child_environment(variables, self.aws_endpoint_url)
        return ProcessSandbox(spec.name, spec.code, child, lambda: self.faults.clock(spec.name))

    def _serve(self, stack: ExitStack, topology: Topology, bound: Any) -> None:
        http = HttpGateway(
            topology, self.functions, integration_timeout_s=self.integration_timeout_s
        )
        if topology.websocket is None:
            server = GatewayServer(bound, http.routes(), None)
        else:
            sockets = WebSocketGateway(
                topology.websocket,
                self.functions,
                self.clock,
                self.faults,
                region=self.region,
                host=self.http_url.removeprefix("http://"),
            )
            self.clock.on_skip(sockets.look_at_clock)
            server = GatewayServer(bound, [*sockets.routes(), *http.routes()], sockets.watch_ages)
        server.start()
        stack.callback(server.stop)

    def _play(self, stack: ExitStack, topology: Topology, bell: Bell) -> None:
        deliveries = Deliveries(self.functions, self.clients, self.faults, self.meter, self.region)
        sources: list[QueuePoller | StreamReader | Scheduler] = [
            QueuePoller(source, self.physical[source.queue], deliveries)
            for source in topology.queues
        ]
        for stream in topology.streams:
            table = self.clients.dynamodb.describe_table(TableName=self.physical[stream.table])
            arn = table["Table"]["LatestStreamArn"]
            given_up = self.physical.get(stream.on_failure or "")
            sources.append(StreamReader(stream, arn, bell, deliveries, given_up))
        self.scheduler = Scheduler(
            topology.schedules, self.functions, self.clock, region=self.region
        )
        sources.append(self.scheduler)
        for each in sources:
            each.start()
        stack.callback(_stop_all, sources)

    def _invoke_api(self, reference: str, payload: bytes, asynchronous: bool) -> Invoked | None:
        if self.faults.throttles(reference):
            raise InvokeRefused(429, "TooManyRequestsException", "Rate Exceeded.")
        return self.functions.invoke_api(reference, payload, asynchronous)

    def _observe(self, spec: FunctionSpec, seconds: float) -> None:
        line = Line(requests=1, duration_ms=seconds * 1000)
        self.meter.count("function", f"lambda.{spec.name}", line)


def _stop_all(sources: Iterable[QueuePoller | StreamReader | Scheduler]) -> None:
    stops: list[Callable[[], None]] = [each.stop for each in sources]
    for stop in stops:
        stop()
    for each in sources:
        each.join(1.5)
