"""Settings to adapters, one of each a process; nothing is decided here.

Imports stand inside the functions: a Lambda pays at its cold start for what it uses, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import boto3

from everturn.settings import local_variable, needed, settings
from everturn.wiring.clients import CLOCK, PUSH, SECRETS, late, queue, table_client

if TYPE_CHECKING:
    from everturn.llm.registry import ModelRegistry
    from everturn.outbound.secret_places import SecretPlaces
    from everturn.ports.directory import AgentRecord
    from everturn.ports.sessions import Logged, SessionKey
    from everturn.push.lane import LaneEnd
    from everturn.push.lanes import Lanes
    from everturn.push.websocket import WebSocketPush
    from everturn.store.blobs import S3Blobs
    from everturn.store.budgets import DynamoBudgets
    from everturn.store.directory import DynamoDirectory
    from everturn.store.dynamo import DynamoSessionStore
    from everturn.store.pace import Pace
    from everturn.store.revocations import DynamoRevocations
    from everturn.store.runs import DynamoRuns
    from everturn.store.stream import Announced
    from everturn.store.wake import SqsWake
    from everturn.tokens.jwt_tokens import JwtTokens

TENANT_CACHED_MS: Final = 60_000


AGENT_CACHED_MS: Final = 30_000
"""How old the worker of an agent may be; what a session pinned is in its log."""


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
def runs() -> DynamoRuns:
    """Return the index of runs."""
    from everturn.store.runs import DynamoRuns

    return DynamoRuns(needed("table"), table_client())


@lru_cache(maxsize=1)
def revocations() -> DynamoRevocations:
    """Return what was revoked before its end."""
    from everturn.store.revocations import DynamoRevocations

    return DynamoRevocations(needed("table"), table_client())


@lru_cache(maxsize=1)
def wake() -> SqsWake:
    """Return the sender of wake-ups; functions without the step machine send none for later."""
    from everturn.store.pace import Pace

    return _wake(Pace())


@lru_cache(maxsize=1)
def prompt_wake() -> SqsWake:
    """Return a sender that does not wait for a busy queue: the table's stream sends it as well."""
    from everturn.store.pace import PROMPT_S, Pace

    return _wake(Pace(budget_s=PROMPT_S))


def _wake(pace: Pace) -> SqsWake:
    from everturn.store.wake import SqsWake

    return SqsWake(
        queue(),
        needed("queue_url"),
        late("stepfunctions"),
        settings().step_machine_arn,
        pace,
    )


@lru_cache(maxsize=1)
def tokens() -> JwtTokens:
    """Return the maker and reader of client tokens."""
    from everturn.tokens.jwt_tokens import JwtTokens
    from everturn.tokens.secret_keys import SecretsManagerKeys

    secrets = late("secretsmanager")
    return JwtTokens(SecretsManagerKeys(secrets, needed("token_secret"), CLOCK.now_ms))


@lru_cache(maxsize=1)
def models() -> ModelRegistry:
    """Return the model providers of this deployment."""
    from everturn.llm.registry import ModelRegistry, Served

    registry = ModelRegistry(settings().default_provider)
    if settings().demo_provider == "on":
        from everturn.llm.demo.model import DEMO_ROUTE, DemoModel

        registry.register(Served(DEMO_ROUTE, lambda: DemoModel(Event().wait)))
    return registry


@lru_cache(maxsize=1)
def secret_places() -> SecretPlaces:
    """Return the reader of secrets that agents and providers name."""
    from everturn.outbound.secret_places import SecretPlaces

    return SecretPlaces(local_variable, late("secretsmanager", SECRETS), late("ssm", SECRETS))


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
def budgets() -> DynamoBudgets:
    """Return the budgets of owners and tenants."""
    from everturn.store.budgets import DynamoBudgets

    return DynamoBudgets(needed("table"), table_client())


@lru_cache(maxsize=2_000)
def _has_budgets(tenant: str, _minute: int) -> bool:
    return budgets().has_any(tenant)


def has_budgets(tenant: str) -> bool:
    """Return whether a tenant had budgets at most a minute ago."""
    return _has_budgets(tenant, CLOCK.now_ms() // TENANT_CACHED_MS)


def forget_budgets() -> None:
    """Make the next look for budgets fresh, in this process."""
    _has_budgets.cache_clear()


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
        if why is not LaneEnd.GONE and not push().disconnect(connection_id):
            return  # still open: its next event shows it the gap
        try:
            store().remove_watcher(key, connection_id)
        except EverturnError as error:  # the next frame to it finds it gone again
            logger.warning("a watcher was not removed", reason=type(error).__name__)

    return Lanes(push().post, on_end=ended)


def extend_visibility(receipt_handle: str, seconds: int) -> None:
    """Keep a queue message invisible for so long. Raises `PermissionError` where that is
    refused, another `OSError` where there was no answer.
    """
    from everturn.store.wake import extend

    extend(queue(), needed("queue_url"), receipt_handle, seconds)


def commit_of(said: Announced) -> Logged:
    """Return the commit of a log item that the table's stream brought."""
    from everturn.store import stream

    return stream.commit_of(said, blobs().get)
