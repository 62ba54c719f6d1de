"""A quarantined session over sockets: shown, refused, left alone, lifted by `everturn redrive`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from e2e.client import Client
from e2e.command import everturn, everturn_dev
from e2e.waiting import until
from everturn.ports.sessions import Quarantine, SessionKey
from everturn.store.blobs import NoBlobs
from everturn.store.dynamo import DynamoSessionStore


@pytest.fixture
def about(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A local runtime of its own, and an environment that an operator would have."""
    with everturn_dev("--cloud") as (_, said):
        operator = {
            "AWS_ENDPOINT_URL": said["aws_endpoint_url"],
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
        }
        for name, value in operator.items():
            monkeypatch.setenv(name, value)
        yield said


def redrive(about: dict[str, Any], *options: str) -> tuple[int, list[str]]:
    run = everturn(
        "redrive", "--table", about["table"], "--queue-url", about["queue_url"], *options
    )
    assert "Traceback" not in run.stderr, run.stderr
    return run.returncode, [" ".join(line.split()) for line in run.stdout.splitlines()]


def test_a_session_that_was_put_aside_waits_for_redrive_and_then_ends_its_turn(
    about: dict[str, Any],
) -> None:
    client = Client(about["http_url"], about["ws_url"], about["api_key"], about["workspace"])
    store = DynamoSessionStore(about["table"], boto3.client("dynamodb"), NoBlobs())
    turn = client.start("[[sleep:3000]][[say:Here again.]]")
    key = SessionKey(about["workspace"], turn.session_id)
    name = f"{key.tenant}/{key.session}"
    until(lambda: client.events(turn.session_id, turn.turn_id, 0), bool)

    assert store.quarantine(key, store.head(key), Quarantine("contradiction", 1_767_268_800_000))
    shown = client.session(turn.session_id)
    refused = client.say("More", turn.session_id)
    planned = redrive(about, "--all", "--dry-run")
    still = client.session(turn.session_id)
    done = redrive(about, "--all", "--dead-letters", about["dead_letters_url"])
    ended = client.end_of(turn, within_s=30)
    again = redrive(about, "--session", name)
    client.close()

    assert shown["quarantined"] == {"reason": "contradiction", "at": "2026-01-01T12:00:00.000Z"}
    assert (refused.status_code, refused.json()["code"]) == (409, "session_quarantined")
    assert planned == (0, [f"lifted {name} contradiction", "dry run, nothing done: 1 lifted"])
    assert still["quarantined"] == shown["quarantined"]
    assert done == (0, [f"lifted {name} contradiction", "1 lifted"])
    assert ended.answer == "Here again."
    assert again == (0, [f"idle {name}", "1 idle"])
    assert "quarantined" not in client_session(about, turn.session_id)


def client_session(about: dict[str, Any], session_id: str) -> dict[str, Any]:
    client = Client(about["http_url"], about["ws_url"], about["api_key"], about["workspace"])
    shown = client.session(session_id)
    client.close()
    return shown


@pytest.mark.parametrize("options", [(), ("--session", "no-tenant")])
def test_redrive_says_what_it_needs(options: tuple[str, ...]) -> None:
    run = everturn("redrive", "--table", "t", "--queue-url", "u", *options)

    assert run.returncode == 2
    assert "Traceback" not in run.stderr


def test_redrive_on_a_table_that_is_not_there_says_so(about: dict[str, Any]) -> None:
    run = everturn("redrive", "--table", "none", "--queue-url", about["queue_url"], "--all")

    assert (run.returncode, run.stdout) == (1, "")
    assert "ResourceNotFoundException" in run.stderr
    assert "Traceback" not in run.stderr
