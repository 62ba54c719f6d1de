"""`events/` holds plain JSON for every function and for every kind of step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from everturn.protocol.wake import WAKE, Step
from everturn_local import samples

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "events").glob("*.json"))


def test_every_function_has_a_sample_that_begins_with_its_name() -> None:
    functions = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}

    covered = {name for name in functions if any(one.stem.startswith(name) for one in SAMPLES)}

    assert covered == functions


@pytest.mark.parametrize("step", get_args(Step))
def test_every_step_has_a_wake_up_of_its_kind(step: str) -> None:
    event = json.loads((ROOT / "events" / f"driver_{step}.json").read_text())

    [record] = event["Records"]

    assert WAKE.validate_json(record["body"]).step == step


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_an_object_of_plain_json(path: Path) -> None:
    event = json.loads(path.read_text())

    assert isinstance(event, dict)
    assert path.read_text().isascii()


def test_samples_and_what_is_written_for_them_have_the_same_names() -> None:
    texts = "".join(path.read_text() for path in SAMPLES)

    for name in (samples.TENANT, samples.SESSION, samples.TURN, samples.CONNECTION):
        assert name in texts
    assert samples.API_KEY in texts
    assert f'\\"agent_id\\": \\"{samples.AGENT}\\"' in texts
