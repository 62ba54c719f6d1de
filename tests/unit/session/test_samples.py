"""Events are for ever: logs that version 1 wrote are read by today's code, to the same state.

The samples were written once. A change that makes one of these tests fail cannot read what is
stored; it needs an `upcast`, never another sample.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.stored import Event, from_json, to_json
from everturn.session.evolve import fold
from everturn.session.formats import NEWEST_FORMAT
from everturn.session.propose import propose
from everturn.session.state import SESSION
from unit.session.building import only
from unit.session.logs import filled, rebuilt
from unit.session.transcript import assert_well_formed

SAMPLES = sorted((Path(__file__).parent / "samples").glob("v*/*.json"))


@pytest.fixture(params=SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def sample(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A stored log and the state that it adds up to."""
    stored: dict[str, Any] = json.loads(request.param.read_text())
    return stored


def log_of(sample: dict[str, Any]) -> list[Event]:
    """Return the events of a sample."""
    return [from_json(value) for value in sample["log"]]


def test_there_are_samples_of_every_format() -> None:
    formats = {path.parent.name for path in SAMPLES}

    assert formats == {f"v{number}" for number in range(1, NEWEST_FORMAT + 1)}


def test_a_stored_log_adds_up_to_the_stored_state(sample: dict[str, Any]) -> None:
    session = fold(log_of(sample))

    assert session == SESSION.validate_python(sample["state"])


def test_a_stored_event_is_written_as_it_was_read(sample: dict[str, Any]) -> None:
    """As long as the format is the newest one."""
    assert [to_json(event) for event in log_of(sample)] == sample["log"]


def test_stored_requests_are_rebuilt_byte_for_byte(sample: dict[str, Any]) -> None:
    """RH-5: also by later versions of the builder."""
    log = log_of(sample)
    values = filled(log)

    for asked in only(ModelCallRequested, log):
        request = rebuilt(values, asked)
        assert request.sha256 == asked.private.request_sha256
        assert_well_formed(request.body)


def test_work_under_way_is_still_known(sample: dict[str, Any]) -> None:
    session = fold(log_of(sample))

    proposals = propose(session)
    is_known = bool(proposals.effects) or proposals.next_due_ms is not None
    assert is_known == (session.turn is not None)
