"""`everturn invoke` on samples: the handler really runs, and says what it made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from e2e.command import cold_everturn, everturn
from e2e.stage import ROOT

EVENTS = ROOT / "events"

SAYS: dict[str, Any] = {
    "authorizer": lambda said: said["principalId"] == "acme",
    "driver": lambda said: said == {"batchItemFailures": []},
    "fanout": lambda said: said == {"batchItemFailures": []},
    "http_api": lambda said: said["statusCode"] == 202,
    "reader": lambda said: said["body"].startswith("id: 1.0-0\nevent: session.created"),
    "recovery": lambda said: said in ({"batchItemFailures": []}, {"woken": 1}),
    "sample_worker": lambda said: '"unit":"mi"' in said["body"],
    "websocket": lambda said: said == {"statusCode": 200},
}


SAMPLES = {
    "driver": "driver_llm",
    "recovery": "recovery_schedule",
    "websocket": "websocket_default",
}
"""One of several; `integration/test_functions` has all of them."""


@pytest.mark.slow
@pytest.mark.parametrize("function", sorted(SAYS))
def test_a_function_answers_its_sample(function: str) -> None:
    sample = SAMPLES.get(function, function)

    run = everturn("invoke", function, "-e", str(EVENTS / f"{sample}.json"))

    assert run.returncode == 0, run.stderr
    assert SAYS[function](json.loads(run.stdout)), run.stdout
    assert "Traceback" not in run.stderr


def test_an_event_that_the_handler_fails_on_is_a_failure(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text("{}")

    run = cold_everturn("invoke", "authorizer", "-e", str(event))

    assert run.returncode == 1
    assert json.loads(run.stdout)["errorType"] == "KeyError"


@pytest.mark.parametrize(
    ("function", "text", "said"),
    [
        ("nobody", "{}", "error: unknown_function: there is no function nobody; there are "),
        ("driver", "{", "error: invalid_file: "),
        ("driver", None, "error: invalid_file: "),
    ],
)
def test_what_cannot_be_invoked_is_said_on_one_line(
    tmp_path: Path, function: str, text: str | None, said: str
) -> None:
    event = tmp_path / "event.json"
    if text is not None:
        event.write_text(text)

    run = everturn("invoke", function, "-e", str(event))

    assert (run.returncode, run.stdout) == (1, "")
    [line] = run.stderr.splitlines()
    assert line.startswith(said)
