"""The published client of the runs API on a tenant of the local runtime, and what tests ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mantyx import MantyxClient
from mantyx.client import RunEvent

from e2e.client import Client

KIND = "Be kind."


@contextmanager
def published(client: Client) -> Iterator[MantyxClient]:
    """Give the published client with the tenant's key."""
    made = MantyxClient(
        api_key=client.api_key, workspace_slug=client.tenant, base_url=client.http_url
    )
    with made:
        yield made


def note_sessions(client: Client, run_id: str) -> None:
    """Have the invariants of a run's session checked in the end."""
    client.touched[read_run(client, run_id)["sessionId"]] = None


def read_run(client: Client, run_id: str) -> dict[str, Any]:
    """Return how a run stands."""
    found: dict[str, Any] = client.http.get(
        f"/api/v1/workspaces/{client.tenant}/agent-runs/{run_id}"
    ).json()
    return found


def of_type(events: list[RunEvent], kind: str) -> list[dict[str, Any]]:
    """Return the payloads of events of one type."""
    return [event.data for event in events if event.type == kind]


def check_stream(events: list[RunEvent]) -> None:
    """Accept a stream as the contract has it: rising numbers, one terminal event, at the end."""
    seqs = [event.seq for event in events]
    assert seqs == sorted(set(seqs))
    ends = [event.type for event in events if event.type in {"result", "error", "cancelled"}]
    assert len(ends) == 1
    assert events[-1].type == ends[0]
