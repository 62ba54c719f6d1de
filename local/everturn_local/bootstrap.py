"""What a fresh local runtime needs before use: a tenant, an API key, the sample agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from everturn_local.runtime import LocalRuntime

DEMO_AGENT = "demo"


@dataclass(frozen=True, slots=True)
class Access:
    """Where a runtime is, and how to get in."""

    http_url: str
    ws_url: str
    api_key: str
    workspace: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request."""
        return {"authorization": f"Bearer {self.api_key}"}


def open_access(runtime: LocalRuntime, workspace: str, api_key: str | None = None) -> Access:
    """Create the tenant and an API key for it; a key is made up where none is given."""
    from everturn.commands.tenants import Keys, Tenants  # noqa: PLC0415  # the runtime imports the engine afresh at each start
    from everturn.settings import needed  # noqa: PLC0415
    from everturn.store.registry import DynamoRegistry  # noqa: PLC0415
    from everturn.wiring.clients import CLOCK, table_client  # noqa: PLC0415

    registry = DynamoRegistry(needed("table"), table_client())
    Tenants(registry, CLOCK).create(workspace)
    key = Keys(registry, CLOCK).create(workspace, "local", key=api_key).key
    return Access(runtime.http_url, runtime.ws_url, key, workspace)


def set_provider(argument: str, environment: Mapping[str, str]) -> None:
    """Write what `NAME=URL` says of a provider, for all tenants of the running stack.

    A built-in kind keeps its kind; any other name speaks OpenAI's chat completions. Its key is
    the variable `NAME_API_KEY`, where `environment` has it. Raises `ValueError`.
    """
    from everturn.commands.model_settings import ModelSettings  # noqa: PLC0415  # as above
    from everturn.errors import RejectedError  # noqa: PLC0415
    from everturn.ports.registry import EVERYBODY  # noqa: PLC0415
    from everturn.protocol.providers import BUILT_IN  # noqa: PLC0415
    from everturn.settings import needed  # noqa: PLC0415
    from everturn.store.registry import DynamoRegistry  # noqa: PLC0415
    from everturn.wiring.clients import table_client  # noqa: PLC0415

    name, _, url = argument.partition("=")
    told: dict[str, Any] = {
        "kind": name if name in BUILT_IN else "openai-compatible",
        "base_url": url,
    }
    variable = f"{name.upper().replace('-', '_')}_API_KEY"
    if environment.get(variable):
        told["api_key"] = {"env": variable}
    office = ModelSettings(DynamoRegistry(needed("table"), table_client()), "any")
    try:
        office.set_provider(EVERYBODY, name, told)
    except RejectedError as error:
        raise ValueError(error.message) from error


def register_sample_agent(runtime: LocalRuntime, access: Access, root: Path) -> dict[str, Any]:
    """Write the agent `demo`, whose tools the sample worker runs; returns the answer.

    Raises `httpx.HTTPStatusError` where the engine refuses it.
    """
    definition = json.loads((root / "functions/sample_worker/agent.json").read_text())
    definition["worker"] = runtime.function_url("sample_worker")
    url = f"{access.http_url}/v1/agents/{DEMO_AGENT}"
    response = httpx.put(url, json=definition, headers=access.headers, timeout=10)
    response.raise_for_status()
    answer: dict[str, Any] = response.json()
    return answer
