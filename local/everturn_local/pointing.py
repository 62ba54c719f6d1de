"""How clients are pointed at a stack that runs here; it starts nothing and asks nobody."""

from __future__ import annotations

import json

from everturn_local.bootstrap import DEMO_AGENT, Access


def runs_client(access: Access) -> dict[str, str]:
    """Return what clients of the runs API are told, and one line of Python that tells it."""
    told = {
        "base_url": access.http_url,
        "workspace_slug": access.workspace,
        "api_key": access.api_key,
    }
    given = ", ".join(f"{name}={json.dumps(value)}" for name, value in told.items())
    return {**told, "python": f"from mantyx import MantyxClient; client = MantyxClient({given})"}


def lines(access: Access, workers: list[str]) -> list[str]:
    """Return what `everturn dev` says once it is ready; `workers` are ARNs."""
    return [
        f"HTTP       {access.http_url}",
        f"WebSocket  {access.ws_url}",
        f"API key    {access.api_key}",
        f"Workspace  {access.workspace}",
        f"Agent      {DEMO_AGENT}",
        *(f"Worker     {arn}" for arn in workers),
        "Ctrl-C stops it. For `everturn agents`, `sessions` and `send`:",
        f"export EVERTURN_URL={access.http_url}",
        f"export EVERTURN_API_KEY={access.api_key}",
        "For clients of the runs API (docs/runs.md), as in Python:",
        runs_client(access)["python"],
    ]
