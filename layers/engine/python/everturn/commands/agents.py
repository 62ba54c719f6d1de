"""Writes, reads and deletes agents; what an agent does is not known here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from everturn.commands.cursors import from_cursor, to_cursor
from everturn.delivery.function_guard import check_function
from everturn.llm.catalogue import Catalogue, CatalogueOf, settle
from everturn.outbound.url_guard import Networks, UrlRefused, check_url
from everturn.ports.clock import Clock
from everturn.ports.directory import ARN_PREFIX, AgentLine, AgentRecord, Directory
from everturn.protocol.agent import AgentDefinition, read_agent, to_config
from everturn.protocol.events import to_rfc3339
from everturn.protocol.json_text import canonical
from everturn.protocol.limits import MAX_AGENT_BYTES
from everturn.protocol.wire import to_json
from everturn.rejections import (
    InvalidToolSchema,
    NotYetSupported,
    SchemaViolation,
    TooLarge,
    UnknownAgent,
)
from everturn.session.request import digest
from everturn.tools.schema import compile_schema

NOT_YET: Final = (
    "plan_mode",
    "compaction",
    "builtins",
    "mcp",
    "a2a",
    "hooks",
    "models",
    "approve_writes",
)
"""Fields that are checked, and refused until this version does what they promise."""

DEFAULT_AGENTS: Final = 50
PAGE_AGENTS: Final = 200
"""Most agents of one page."""


@dataclass(frozen=True, slots=True)
class Written:
    """An agent as it was written, and whether it is new."""

    agent: dict[str, Any]
    created: bool


class Agents:
    """The use cases behind `/v1/agents/{id}`."""

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        networks: Networks,
        forget: Callable[[str, str], None],
        catalogue_of: CatalogueOf,
        functions: str = "",
    ) -> None:
        """Take the adapters; `functions` is how ARNs begin that may be workers, empty for any."""
        self._directory = directory
        self._clock = clock
        self._networks = networks
        self._catalogue_of = catalogue_of
        self._forget = forget
        self._functions = functions

    def put(self, tenant: str, agent_id: str, body: Any) -> Written:
        """Write an agent; sessions that exist keep what they pinned.

        Raises `SchemaViolation` and its like for a bad definition, `NotYetSupported` for a wish
        that this version does not grant.
        """
        definition = read_agent(body)
        size_bytes = len(canonical(body))
        if size_bytes > MAX_AGENT_BYTES:
            raise TooLarge(
                "The definition is too large.", limit_bytes=MAX_AGENT_BYTES, size_bytes=size_bytes
            )
        _check_supported(definition)
        self._check_model(tenant, definition)
        self._check_worker(definition)
        if definition.output_schema is not None:
            _compile(definition.output_schema, "/output_schema")
        for position, tool in enumerate(definition.tools or ()):
            for name in ("input", "output"):
                schema = getattr(tool, name)
                if schema is not None:
                    _compile(schema, f"/tools/{position}/{name}")
        stored = to_json(definition)
        secret = stored.pop("worker_secret", None)
        record = AgentRecord(
            agent_id=agent_id,
            definition=stored,
            sha256=digest(to_json(to_config(definition))),
            worker_secret=secret,
            updated_ms=self._clock.now_ms(),
        )
        outcome = self._directory.put_agent(tenant, record)
        self._forget(tenant, agent_id)
        return Written(shown(record), outcome == "created")

    def get(self, tenant: str, agent_id: str) -> dict[str, Any]:
        """Return an agent. Raises `UnknownAgent`."""
        record = self._directory.agent(tenant, agent_id)
        if record is None:
            raise UnknownAgent(f"There is no agent {agent_id}.")
        return shown(record)

    def list(self, tenant: str, limit: int, cursor: str | None) -> dict[str, Any]:
        """Return `{agents: [{agent_id, model?, updated_at}], cursor?}`, by their ids.

        Raises `InvalidId` for a bad cursor.
        """
        page = self._directory.agents(tenant, from_cursor("agent", cursor), limit)
        more = {"cursor": to_cursor("agent", page.after)} if page.after else {}
        return {"agents": [_line(one) for one in page.agents], **more}

    def delete(self, tenant: str, agent_id: str) -> None:
        """Delete an agent; its sessions go on with what they pinned, without a worker.

        Raises `UnknownAgent`.
        """
        if not self._directory.delete_agent(tenant, agent_id):
            raise UnknownAgent(f"There is no agent {agent_id}.")
        self._forget(tenant, agent_id)

    def _check_model(self, tenant: str, definition: AgentDefinition) -> None:
        """Refuse what no route serves, and an effort that a route does not offer. Source: MC-3."""
        if definition.handler == "worker":
            return  # the worker runs its model calls, and knows its models
        catalogue, reasoning = self._catalogue_of(tenant), definition.reasoning
        fallbacks = enumerate(definition.fallback_models or ())
        selectors = {f"/fallback_models/{position}": model for position, model in fallbacks}
        for at, selector in {"/model": definition.model, **selectors}.items():
            ref = catalogue.split(selector)
            facts, route = catalogue.facts(ref), catalogue.route(ref.provider)
            if route is None or (route.id == "demo" and facts not in route.models):
                raise SchemaViolation(
                    f"{at}: no provider here serves it; {_usable(catalogue)} can be used"
                )
            settle(facts, max_tokens=None, effort=reasoning.effort if reasoning else None)

    def _check_worker(self, definition: AgentDefinition) -> None:
        worker = definition.worker
        if worker is None:
            return
        if not worker.startswith(ARN_PREFIX):
            checked = check_url(worker, self._networks)
            if isinstance(checked, UrlRefused):
                raise SchemaViolation(f"/worker: {checked.reason}")
            return
        refused = check_function(worker, self._functions)
        if refused is not None:
            raise SchemaViolation(f"/worker: {refused.reason}")
        if definition.worker_secret is not None:
            raise SchemaViolation("/worker_secret: is for URLs; to a function IAM vouches")


def _line(agent: AgentLine) -> dict[str, Any]:
    model = {"model": agent.model} if agent.model else {}
    return {"agent_id": agent.agent_id, **model, "updated_at": to_rfc3339(agent.updated_ms)}


def _usable(catalogue: Catalogue) -> str:
    """Return the providers of a catalogue, and of the demo's its model."""
    names = [f"{one.id}:{one.id if one.id == 'demo' else '…'}" for one in catalogue.whole().routes]
    return ", ".join(names) or "none"


def shown(record: AgentRecord) -> dict[str, Any]:
    """Return an agent as its admin sees it: a secret's place, never the secret. Source: O-23."""
    secret = {"worker_secret": dict(record.worker_secret)} if record.worker_secret else {}
    return {"agent_id": record.agent_id, **record.definition, **secret}


def _check_supported(definition: AgentDefinition) -> None:
    given: Mapping[str, Any] = to_json(definition)
    for name in NOT_YET:
        if name in given and given[name] is not False:
            raise NotYetSupported(f"/{name}: is not supported yet; leave it out.")
    if definition.guards is not None and definition.guards.supervisor:
        raise NotYetSupported("/guards/supervisor: is not supported yet; leave it out.")
    if definition.worker_secret is not None and definition.worker_secret.generate:
        raise NotYetSupported("/worker_secret: generating one is not supported yet; name a place.")
    for position, tool in enumerate(given.get("tools") or ()):
        if tool.get("approval") == "always":
            raise NotYetSupported(f"/tools/{position}/approval: always is not supported yet.")


def _compile(schema: Any, at: str) -> None:
    try:
        compile_schema(schema)
    except InvalidToolSchema as error:
        raise InvalidToolSchema(f"{at}{error.message}", hint=error.hint) from None
