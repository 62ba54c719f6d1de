"""What a fresh local runtime needs before use: a tenant, an API key, the sample agent."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from everturn_local.runtime import LocalRuntime

DEMO_AGENT = "demo"
KEY_PREFIX = "evt_"


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
    from everturn.ports.directory import ApiKey  # noqa: PLC0415  # the runtime imports the engine afresh at each start
    from everturn.surfaces.callers import hash_of  # noqa: PLC0415
    from everturn.wiring.adapters import directory  # noqa: PLC0415

    key = api_key or KEY_PREFIX + secrets.token_urlsafe(32)
    directory().put_tenant(workspace, {"name": workspace})
    directory().put_api_key(hash_of(key), ApiKey(workspace, "local"))
    return Access(runtime.http_url, runtime.ws_url, key, workspace)


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
