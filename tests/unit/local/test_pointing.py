"""What clients are told of a stack that runs here."""

from __future__ import annotations

from everturn_local.bootstrap import Access
from everturn_local.pointing import lines, runs_client

ACCESS = Access("http://127.0.0.1:1", "ws://127.0.0.1:1/live", 'ek_"odd"', "acme")


def test_clients_of_runs_are_told_address_workspace_and_key() -> None:
    told = runs_client(ACCESS)

    assert told == {
        "base_url": "http://127.0.0.1:1",
        "workspace_slug": "acme",
        "api_key": 'ek_"odd"',
        "python": "from mantyx import MantyxClient; client = MantyxClient("
        'base_url="http://127.0.0.1:1", workspace_slug="acme", api_key="ek_\\"odd\\"")',
    }


def test_people_are_told_the_same_in_lines_that_can_be_pasted() -> None:
    told = lines(ACCESS, ["arn:1"])

    assert told[:4] == [
        "HTTP       http://127.0.0.1:1",
        "WebSocket  ws://127.0.0.1:1/live",
        'API key    ek_"odd"',
        "Workspace  acme",
    ]
    assert "Worker     arn:1" in told
    assert "export EVERTURN_URL=http://127.0.0.1:1" in told
    assert told[-1] == runs_client(ACCESS)["python"]
