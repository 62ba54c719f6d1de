"""What a template connects: functions, event sources and routes, by function name.

It reads a `Template` and starts nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from everturn_local.intrinsics import TemplateError, marked_resource
from everturn_local.rates import rate_seconds
from everturn_local.template import CodeLocation, Template

METHODS = ("get", "post", "put", "patch", "delete", "head", "options")


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """One Lambda function of the stack."""

    logical_id: str
    name: str
    """Name of its folder in `functions/`."""
    code: CodeLocation
    timeout_s: float
    memory_mb: int
    reserved_concurrency: int | None
    has_url: bool


@dataclass(frozen=True, slots=True)
class QueueSource:
    """An SQS queue that feeds a function."""

    function: str
    queue: str
    """Logical id."""
    batch_size: int
    reports_failures: bool
    max_concurrency: int | None


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A table's stream that feeds a function."""

    function: str
    table: str
    """Logical id."""
    batch_size: int
    position: str
    """`LATEST` or `TRIM_HORIZON`."""
    patterns: tuple[Mapping[str, Any], ...]
    """A record passes when it matches one of them, or when there is none."""
    bisects: bool
    reports_failures: bool
    max_retries: int | None
    """None: for as long as it takes."""
    on_failure: str | None
    """Logical id of the queue that is told of records that were given up."""


@dataclass(frozen=True, slots=True)
class ScheduleSource:
    """A rate that invokes a function."""

    function: str
    rule: str
    every_s: float
    input_json: str | None


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """One route of the HTTP API."""

    method: str
    """Upper case, `ANY` for all."""
    path: str
    """With `{name}` and `{name+}`, or `$default`."""
    function: str

    @property
    def key(self) -> str:
        """The route key as events name it."""
        return self.path if self.path == "$default" else f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class WebSocketApi:
    """The WebSocket API: its stage, its routes and who decides on a connection."""

    logical_id: str
    stage: str
    routes: Mapping[str, str]
    """Route key to function."""
    authorizer: str | None
    selection: str
    """Route selection expression."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Everything the runtime has to play."""

    functions: tuple[FunctionSpec, ...]
    queues: tuple[QueueSource, ...]
    streams: tuple[StreamSource, ...]
    schedules: tuple[ScheduleSource, ...]
    http_routes: tuple[HttpRoute, ...]
    cors: Mapping[str, Any]
    """The HTTP API's CORS configuration, `{}` without one; keys as in CloudFormation."""
    websocket: WebSocketApi | None

    def function(self, name: str) -> FunctionSpec:
        """The function named `name`; raises `TemplateError` without one."""
        for spec in self.functions:
            if spec.name == name:
                return spec
        raise TemplateError(f"the template has no function {name}")


def read_topology(template: Template) -> Topology:
    """Collect functions, sources and routes; raises `TemplateError` for what cannot be played."""
    return _Reader(template).read()


class _Reader:
    def __init__(self, template: Template) -> None:
        self._template = template
        self._names = {
            logical_id: location.directory.name for logical_id, location in template.code.items()
        }

    def read(self) -> Topology:
        queues, streams = self._mappings()
        return Topology(
            functions=tuple(self._functions()),
            queues=queues,
            streams=streams,
            schedules=tuple(self._schedules()),
            http_routes=tuple(self._http_routes()),
            cors=self._cors(),
            websocket=self._websocket(),
        )

    def _function_of(self, value: object) -> str:
        """Name of the function that `value` refers to, through aliases and versions."""
        logical_id = marked_resource(value)
        for kind in ("AWS::Lambda::Alias", "AWS::Lambda::Version"):
            for alias, properties in self._template.of_type(kind).items():
                if alias == logical_id:
                    return self._function_of(properties["FunctionName"])
        if logical_id not in self._names:
            raise TemplateError(f"no function in {value!r}")
        return self._names[logical_id]

    def _functions(self) -> Iterator[FunctionSpec]:
        with_url = {
            self._function_of(each["TargetFunctionArn"])
            for each in self._template.of_type("AWS::Lambda::Url").values()
        }
        for logical_id, properties in self._template.of_type("AWS::Lambda::Function").items():
            if logical_id not in self._names:
                continue
            name, reserved = self._names[logical_id], properties.get("ReservedConcurrentExecutions")
            yield FunctionSpec(
                logical_id=logical_id,
                name=name,
                code=self._template.code[logical_id],
                timeout_s=float(properties.get("Timeout", 3)),
                memory_mb=int(properties.get("MemorySize", 128)),
                reserved_concurrency=None if reserved is None else int(reserved),
                has_url=name in with_url,
            )

    def _mappings(self) -> tuple[tuple[QueueSource, ...], tuple[StreamSource, ...]]:
        queues, streams = [], []
        for properties in self._template.of_type("AWS::Lambda::EventSourceMapping").values():
            source = marked_resource(properties.get("EventSourceArn")) or ""
            kind = self._template.resources.get(source, {}).get("Type")
            if str(properties.get("Enabled", True)).lower() == "false":
                continue
            match kind:
                case "AWS::SQS::Queue":
                    queues.append(self._queue_source(source, properties))
                case "AWS::DynamoDB::Table":
                    streams.append(self._stream_source(source, properties))
                case _:
                    raise TemplateError(f"event source {source or properties} cannot be played")
        return tuple(queues), tuple(streams)

    def _queue_source(self, queue: str, properties: Mapping[str, Any]) -> QueueSource:
        most = (properties.get("ScalingConfig") or {}).get("MaximumConcurrency")
        return QueueSource(
            function=self._function_of(properties["FunctionName"]),
            queue=queue,
            batch_size=int(properties.get("BatchSize", 10)),
            reports_failures=_reports_failures(properties),
            max_concurrency=None if most is None else int(most),
        )

    def _stream_source(self, table: str, properties: Mapping[str, Any]) -> StreamSource:
        filters = (properties.get("FilterCriteria") or {}).get("Filters") or []
        retries = int(properties.get("MaximumRetryAttempts", -1))
        return StreamSource(
            function=self._function_of(properties["FunctionName"]),
            table=table,
            batch_size=int(properties.get("BatchSize", 100)),
            position=str(properties.get("StartingPosition", "LATEST")),
            patterns=tuple(json.loads(each["Pattern"]) for each in filters),
            bisects=str(properties.get("BisectBatchOnFunctionError", False)).lower() == "true",
            reports_failures=_reports_failures(properties),
            max_retries=None if retries < 0 else retries,
            on_failure=marked_resource(_on_failure(properties)),
        )

    def _schedules(self) -> Iterator[ScheduleSource]:
        for rule, properties in self._template.of_type("AWS::Events::Rule").items():
            if "ScheduleExpression" not in properties or properties.get("State") == "DISABLED":
                continue
            for target in properties["Targets"]:
                yield self._schedule(rule, properties["ScheduleExpression"], target)
        for rule, properties in self._template.of_type("AWS::Scheduler::Schedule").items():
            if properties.get("State") != "DISABLED":
                yield self._schedule(rule, properties["ScheduleExpression"], properties["Target"])

    def _schedule(self, rule: str, expression: str, target: Mapping[str, Any]) -> ScheduleSource:
        return ScheduleSource(
            function=self._function_of(target["Arn"]),
            rule=rule,
            every_s=rate_seconds(expression),
            input_json=target.get("Input"),
        )

    def _http_routes(self) -> Iterator[HttpRoute]:
        apis = self._template.of_type("AWS::ApiGatewayV2::Api")
        for api, properties in apis.items():
            for path, operations in ((properties.get("Body") or {}).get("paths") or {}).items():
                yield from self._openapi_routes(path, operations)
            if properties.get("ProtocolType") == "HTTP":
                for key, function in self._raw_routes(api).items():
                    method, _, path = key.rpartition(" ")
                    yield HttpRoute(method or "ANY", path, function)

    def _openapi_routes(self, path: str, operations: Mapping[str, Any]) -> Iterator[HttpRoute]:
        for method, operation in operations.items():
            if method != "x-amazon-apigateway-any-method" and method not in METHODS:
                continue
            function = self._function_of(operation["x-amazon-apigateway-integration"]["uri"])
            yield HttpRoute("ANY" if method.startswith("x-") else method.upper(), path, function)

    def _raw_routes(self, api: str) -> dict[str, str]:
        """Route key to function of an API that is written out as routes and integrations."""
        integrations = self._template.of_type("AWS::ApiGatewayV2::Integration")
        routes = {}
        for properties in self._template.of_type("AWS::ApiGatewayV2::Route").values():
            if marked_resource(properties["ApiId"]) != api:
                continue
            integration = integrations[marked_resource(properties["Target"]) or ""]
            routes[properties["RouteKey"]] = self._function_of(integration["IntegrationUri"])
        return routes

    def _cors(self) -> Mapping[str, Any]:
        for properties in self._template.of_type("AWS::ApiGatewayV2::Api").values():
            cors = (properties.get("Body") or {}).get("x-amazon-apigateway-cors")
            cors = cors or properties.get("CorsConfiguration")
            if cors and properties.get("ProtocolType") != "WEBSOCKET":
                return {f"{key[0].upper()}{key[1:]}": value for key, value in cors.items()}
        return {}

    def _websocket(self) -> WebSocketApi | None:
        for api, properties in self._template.of_type("AWS::ApiGatewayV2::Api").items():
            if properties.get("ProtocolType") != "WEBSOCKET":
                continue
            stages = [
                each["StageName"]
                for each in self._template.of_type("AWS::ApiGatewayV2::Stage").values()
                if marked_resource(each["ApiId"]) == api
            ]
            return WebSocketApi(
                logical_id=api,
                stage=str(stages[0]) if stages else "local",
                routes=self._raw_routes(api),
                authorizer=self._authorizer(api),
                selection=properties.get("RouteSelectionExpression", "$request.body.action"),
            )
        return None

    def _authorizer(self, api: str) -> str | None:
        for properties in self._template.of_type("AWS::ApiGatewayV2::Authorizer").values():
            if marked_resource(properties["ApiId"]) == api:
                return self._function_of(properties["AuthorizerUri"])
        return None


def _on_failure(properties: Mapping[str, Any]) -> Any:
    """Return where a mapping sends what it gives up."""
    destinations = properties.get("DestinationConfig") or {}
    return (destinations.get("OnFailure") or {}).get("Destination")


def _reports_failures(properties: Mapping[str, Any]) -> bool:
    return "ReportBatchItemFailures" in (properties.get("FunctionResponseTypes") or [])
