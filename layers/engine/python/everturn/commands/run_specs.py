"""What a run's spec comes to in a tenant: whose agent, which model, which tools. It starts none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from everturn.commands.reading import pin
from everturn.commands.start_run import BASE_AGENT
from everturn.llm.catalogue import Catalogue, CatalogueOf
from everturn.ports.directory import Directory
from everturn.rejections import InvalidRequest, UnknownAgent
from everturn.runs.models import no_model
from everturn.runs.spec import SpecBase, config_of, model_of, refuse_plan_only
from everturn.runs.tools import tools_of

OF_ENGINE: Final = (
    "modelId",
    "fallbackModelId",
    "systemPrompt",
    "reasoningLevel",
    "outputSchema",
    "loopDetection",
    "toolBudgets",
    "budgets",
)
"""Fields of a spec that an agent whose worker decides has no use for."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a turn goes by."""

    agent_id: str
    config: dict[str, Any] | None
    """An `AgentConfig` as JSON; none where a worker decides."""

    client: dict[str, Any] | None = None
    """Where a worker decides: the tools that the client brings along."""


class RunSpecs:
    """Resolves specs."""

    def __init__(self, directory: Directory, catalogue_of: CatalogueOf) -> None:
        self._directory = directory
        self._catalogue_of = catalogue_of

    def resolve(
        self,
        tenant: str,
        spec: Mapping[str, Any],
        system: Sequence[str] = (),
        pinned: Mapping[str, Any] | None = None,
    ) -> Resolved:
        """Return what a spec comes to; `system` are texts of system messages.

        `pinned` stands for the agent of a session where that is deleted; one whose worker decides
        has left none. Raises `InvalidRequest`, `InvalidModel`, `NotYetSupported`, `UnknownAgent`.
        """
        agent_id = spec.get("agentId") or BASE_AGENT
        record = self._directory.agent(tenant, agent_id)
        if record is None and spec.get("agentId") and not pinned:
            raise UnknownAgent(f"There is no agent {agent_id}.")
        agent = pin(record) if record is not None else None
        if agent is not None and agent.decides == "worker" and spec.get("agentId"):
            return Resolved(agent_id, None, _client(spec))
        own = (agent.config if agent else None) or {}
        registered = {tool["name"]: tool for tool in own.get("tools") or ()}
        catalogue = self._catalogue_of(tenant)
        if spec.get("agentId"):
            base = SpecBase(own.get("model", ""), own or pinned, registered)
        else:
            base = SpecBase(own.get("model") or default_model(catalogue), None, registered)
        efforts = self._check_models(catalogue, spec, base)
        return Resolved(agent_id, config_of(spec, base, efforts, system))

    def default_model(self, tenant: str) -> str:
        """Return the model of a run that names none, and no agent."""
        record = self._directory.agent(tenant, BASE_AGENT)
        own = (record.definition.get("model") if record else None) or ""
        return own or default_model(self._catalogue_of(tenant))

    def _check_models(
        self, catalogue: Catalogue, spec: Mapping[str, Any], base: SpecBase
    ) -> list[str]:
        """Return the efforts of the run's model. Raises `InvalidModel`."""
        check_model(catalogue, model_of(spec, base), "/modelId")
        if spec.get("fallbackModelId"):
            check_model(catalogue, spec["fallbackModelId"], "/fallbackModelId")
        facts = catalogue.facts(catalogue.split(model_of(spec, base)))
        return [effort.id for effort in facts.efforts]


def default_model(catalogue: Catalogue) -> str:
    """Return what a run goes by that names no model: the default provider's first one."""
    whole = catalogue.whole()
    route = whole.route(whole.default_provider)
    return f"{route.id}:{route.models[0].id}" if route and route.models else ""


def check_model(catalogue: Catalogue, selector: str, at: str) -> None:
    """Accept a model that a provider serves: the lists are advisory. Raises `InvalidModel`."""
    ref = catalogue.split(selector)
    facts, route = catalogue.facts(ref), catalogue.route(ref.provider)
    if selector and route is not None and (route.id != "demo" or facts in route.models):
        return
    raise no_model(selector, [f"{one.provider}:{one.id}" for one in catalogue.models()], at)


def _client(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    refuse_plan_only(spec)
    odd = [name for name in OF_ENGINE if spec.get(name) is not None]
    if odd:
        raise InvalidRequest(f"/{odd[0]}: the agent's worker decides; leave it out")
    tools = tools_of(spec.get("tools") or (), {})
    brought = [{name: tool[name] for name in CLIENT_TOOL if name in tool} for tool in tools]
    return {"tools": brought} if brought else None


CLIENT_TOOL: Final = ("name", "description", "input", "output", "retry")
"""Fields of a tool that a client brings along."""
