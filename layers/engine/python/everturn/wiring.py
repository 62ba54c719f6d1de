"""Settings to adapters to use cases, each made when first asked for; nothing is decided here.

Imports stand inside the functions: a Lambda pays at its cold start for what it uses, and no more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Literal

import boto3
from botocore.config import Config

from everturn.clock import SystemClock
from everturn.settings import local_variable, needed, settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

    from everturn.commands.agents import Agents
    from everturn.commands.attempts import Attempts
    from everturn.commands.fan_out import FanOut
    from everturn.commands.read_events import ReadEvents
    from everturn.commands.read_session import ReadSession
    from everturn.commands.reading import SessionReader
    from everturn.commands.recover import Recover
    from everturn.commands.submit_input import SubmitInput
    from everturn.commands.uploads import Uploads
    from everturn.drive.advance import AdvanceSession
    from everturn.llm.registry import ModelRegistry
    from everturn.ports import AgentRecord, Logged, SessionKey
    from everturn.push.lane import LaneEnd
    from everturn.push.lanes import Lanes
    from everturn.push.websocket import WebSocketPush
    from everturn.store.blobs import S3Blobs
    from everturn.store.directory import DynamoDirectory
    from everturn.store.dynamo import DynamoSessionStore
    from everturn.store.wake import SqsWake
    from everturn.surfaces.callers import Callers
    from everturn.surfaces.http import HttpApi
    from everturn.surfaces.http_events import EventsApi
    from everturn.surfaces.websocket import Sockets

AWS: Final = Config(
    connect_timeout=1,
    read_timeout=3,
    retries={"mode": "standard", "total_max_attempts": 2},
    max_pool_connections=25,
)
SIGNING: Final = AWS.merge(
    Config(
        signature_version="s3v4",  # binds the headers, the length among them
        s3={"addressing_style": "virtual"},
        request_checksum_calculation="when_required",  # the caller's own, or none
    )
)
PUSH: Final = Config(
    connect_timeout=2,
    read_timeout=3,
    retries={"total_max_attempts": 1},
    max_pool_connections=50,
)
TENANT_CACHED_MS: Final = 60_000
AGENT_CACHED_MS: Final = 30_000
"""How old the worker of an agent may be; what a session pinned is in its log."""

CLOCK: Final = SystemClock()


class _Late:
    """A client that is made when it is first used: most invocations need neither of these."""

    def __init__(self, service: str, config: Config, endpoint_url: str | None) -> None:
        self._service = service
        self._more: dict[str, Any] = {"config": config, "endpoint_url": endpoint_url}

    def __getattr__(self, name: str) -> Any:
        client = boto3.client(self._service, **self._more)  # type: ignore[call-overload]  # by name
        self.__dict__.update({name: getattr(client, name)})
        return self.__dict__[name]


def late(
    service: Literal["s3", "stepfunctions"], config: Config = AWS, endpoint_url: str | None = None
) -> Any:
    """Return a client of `service` that costs nothing until it is used."""
    return _Late(service, config, endpoint_url)


@lru_cache(maxsize=1)
def table_client() -> DynamoDBClient:
    """Return the table's client."""
    return boto3.client("dynamodb", config=AWS)


@lru_cache(maxsize=1)
def blobs() -> S3Blobs:
    """Return the bucket."""
    from everturn.store.blobs import S3Blobs

    return S3Blobs(late("s3"), needed("bucket"))


@lru_cache(maxsize=1)
def store() -> DynamoSessionStore:
    """Return the session store."""
    from everturn.store.dynamo import DynamoSessionStore

    return DynamoSessionStore(needed("table"), table_client(), blobs())


@lru_cache(maxsize=1)
def directory() -> DynamoDirectory:
    """Return the directory."""
    from everturn.store.blobs import NoBlobs
    from everturn.store.directory import DynamoDirectory

    bodies = blobs() if settings().bucket else NoBlobs()
    return DynamoDirectory(needed("table"), table_client(), bodies)


@lru_cache(maxsize=1)
def queue() -> SQSClient:
    """Return the queue's client."""
    return boto3.client("sqs", config=AWS)


@lru_cache(maxsize=1)
def wake() -> SqsWake:
    """Return the sender of wake-ups; functions without the step machine send none for later."""
    from everturn.store.wake import SqsWake

    return SqsWake(
        queue(),
        needed("queue_url"),
        late("stepfunctions"),
        settings().step_machine_arn,
    )


@lru_cache(maxsize=1)
def models() -> ModelRegistry:
    """Return the model providers of this deployment."""
    from everturn.llm.registry import ModelRegistry, Served

    registry = ModelRegistry()
    if settings().demo_provider == "on":
        from everturn.llm.demo.model import DEMO_ROUTE, DemoModel

        registry.register(Served(DEMO_ROUTE, lambda: DemoModel(Event().wait)))
    return registry


@lru_cache(maxsize=2_000)
def _agent(tenant: str, agent_id: str, _moment: int) -> AgentRecord | None:
    return directory().agent(tenant, agent_id)


def agent_lookup(tenant: str, agent_id: str) -> AgentRecord | None:
    """Return an agent as it was at most half a minute ago."""
    return _agent(tenant, agent_id, CLOCK.now_ms() // AGENT_CACHED_MS)


def forget_agent(_tenant: str, _agent_id: str) -> None:
    """Make the next look fresh, in this process."""
    _agent.cache_clear()


@lru_cache(maxsize=2_000)
def _tenant(tenant: str, _minute: int) -> Mapping[str, Any]:
    return directory().tenant(tenant) or {}


def tenant_record(tenant: str) -> Mapping[str, Any]:
    """Return a tenant's record as it was at most a minute ago."""
    return _tenant(tenant, CLOCK.now_ms() // TENANT_CACHED_MS)


@lru_cache(maxsize=1)
def callers() -> Callers:
    """Return the finder of callers."""
    from everturn.surfaces.callers import Callers

    return Callers(directory(), CLOCK)


@lru_cache(maxsize=1)
def session_reader() -> SessionReader:
    """Return the reader of sessions."""
    from everturn.commands.reading import SessionReader

    return SessionReader(store(), directory(), agent_lookup, models().catalogue())


def attempts() -> Attempts:
    """Return a fresh budget."""
    from everturn.commands.attempts import Attempts

    return Attempts(time.monotonic, time.sleep)


def submit_input(by: str) -> SubmitInput:
    """Return the use case of inputs, signed by the function that runs it."""
    from everturn.commands.submit_input import SubmitInput, demo_allowed

    return SubmitInput(
        store(),
        session_reader(),
        wake(),
        CLOCK,
        by=by,
        runnable_s=settings().runnable_seconds,
        check_route=demo_allowed(models().catalogue(), tenant_record),
        attempts=attempts,
    )


def read_session() -> ReadSession:
    """Return the use case of session reads."""
    from everturn.commands.read_session import ReadSession

    return ReadSession(store(), session_reader())


def read_events() -> ReadEvents:
    """Return the use case of event reads."""
    from everturn.commands.read_events import ReadEvents

    return ReadEvents(store(), CLOCK, time.sleep)


def agents() -> Agents:
    """Return the use cases of agents."""
    from everturn.commands.agents import Agents

    networks, catalogue = settings().worker_networks, models().catalogue()
    return Agents(directory(), CLOCK, networks, forget_agent, catalogue)


def uploads() -> Uploads:
    """Return the use cases of uploads; their URLs begin where callers reach S3."""
    from everturn.commands.uploads import Uploads
    from everturn.store.uploads import S3Uploads

    client = late("s3", SIGNING, needed("s3_endpoint"))
    return Uploads(S3Uploads(client, needed("bucket")), CLOCK)


@lru_cache(maxsize=1)
def http_api() -> HttpApi:
    """Return the routes of `http_api`."""
    from everturn.surfaces.http import HttpApi

    return HttpApi(
        callers(),
        submit_input("http_api"),
        read_session(),
        agents(),
        uploads(),
        lambda: {"ok": True},
    )


@lru_cache(maxsize=1)
def events_api() -> EventsApi:
    """Return the route of `reader`."""
    from everturn.surfaces.http_events import EventsApi

    return EventsApi(callers(), read_events())


@lru_cache(maxsize=1)
def push() -> WebSocketPush:
    """Return the sender of frames."""
    from everturn.push.websocket import WebSocketPush

    endpoint = needed("websocket_endpoint")
    return WebSocketPush(
        boto3.client("apigatewaymanagementapi", endpoint_url=endpoint, config=PUSH)
    )


def new_lanes(key: SessionKey) -> Lanes:
    """Return fresh lanes; a connection that cannot follow is closed and stops watching."""
    from everturn.errors import EverturnError
    from everturn.observability import logger
    from everturn.push.lane import LaneEnd
    from everturn.push.lanes import Lanes

    def ended(connection_id: str, why: LaneEnd) -> None:
        if why is not LaneEnd.GONE:
            push().disconnect(connection_id)
        try:
            store().remove_watcher(key, connection_id)
        except EverturnError as error:  # the next frame to it finds it gone again
            logger.warning("a watcher was not removed", reason=type(error).__name__)

    return Lanes(push().post, on_end=ended)


@lru_cache(maxsize=1)
def sockets() -> Sockets:
    """Return the handler of the WebSocket API."""
    from everturn.commands.subscribe import Subscribe
    from everturn.surfaces.websocket import Sockets

    subscribe = Subscribe(store(), directory(), read_events())
    submit = submit_input("websocket")
    return Sockets(directory(), submit, subscribe, push().post, CLOCK, time.sleep)


@lru_cache(maxsize=1)
def advance_session() -> AdvanceSession:
    """Return the driver's use case."""
    from everturn.drive.advance import AdvanceSession
    from everturn.drive.tools import Tools
    from everturn.session.commands import Deliveries
    from everturn.workers.deliver import WebhookDecider
    from everturn.workers.secret_places import SecretPlaces

    networks = settings().worker_networks
    return AdvanceSession(
        Tools(
            store=store(),
            reader=session_reader(),
            agents=agent_lookup,
            wake=wake(),
            clock=CLOCK,
            models=models(),
            decider=WebhookDecider(networks),
            secrets=SecretPlaces(local_variable),
            new_lanes=new_lanes,
            attempts=attempts,
            runnable_s=settings().runnable_seconds,
            deliveries=Deliveries(max_attempts=settings().delivery_attempts),
        )
    )


@lru_cache(maxsize=1)
def fan_out() -> FanOut:
    """Return the use case of the table's stream."""
    from everturn.commands.fan_out import FanOut

    return FanOut(store(), wake(), new_lanes)


@lru_cache(maxsize=1)
def recover() -> Recover:
    """Return the use cases of recovery."""
    from everturn.commands.recover import Recover

    return Recover(store(), session_reader(), wake(), CLOCK)


def extend_visibility(receipt_handle: str, seconds: int) -> None:
    """Keep a queue message invisible for so long. Raises `PermissionError` where that is
    refused, another `OSError` where there was no answer.
    """
    from everturn.store.wake import visibility_errors

    with visibility_errors():
        queue().change_message_visibility(
            QueueUrl=needed("queue_url"), ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
        )


def logged_commit(image: Mapping[str, Any]) -> tuple[SessionKey, Logged]:
    """Return the session and the commit of a log item as the table's stream brings it."""
    from everturn.store.stream import from_image

    return from_image(image, blobs().get)
