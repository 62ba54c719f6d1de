"""No body whatever is more than accepted or refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.protocol.runs.bodies import (
    read_feedback,
    read_message,
    read_run,
    read_session,
    read_tool_result,
)
from everturn.rejections import InvalidRequest
from unit.protocol.runs.any_bodies import FEEDBACK, JSON, RESULT, RUNS, spoilt

READERS = (read_run, read_session, read_message, read_tool_result, read_feedback)


def told(reader: Callable[[Any], Any], body: Any) -> str | None:
    """Return what a body is refused with, nothing where it is read."""
    try:
        reader(body)
    except InvalidRequest as refused:
        return refused.message
    return None


@given(body=JSON, reader=st.sampled_from(READERS))
def test_any_json_is_read_or_refused_by_a_path(body: Any, reader: Callable[[Any], Any]) -> None:
    message = told(reader, body)

    assert message is None or (message.startswith("/") and ": " in message)


@given(
    body=spoilt([*RUNS, RESULT, FEEDBACK]),
    reader=st.sampled_from(READERS),
)
def test_a_body_with_something_else_in_one_place_is_read_or_refused(
    body: Any, reader: Callable[[Any], Any]
) -> None:
    message = told(reader, body)

    assert message is None or (message.startswith("/") and ": " in message)


@given(body=spoilt(RUNS))
def test_what_was_read_once_reads_as_the_same_again(body: Any) -> None:
    with suppress(InvalidRequest):
        spec = read_session(body).spec

        assert read_session(spec).spec == spec


@pytest.mark.parametrize("depth", [50, 120])
def test_depth_is_no_matter(depth: int) -> None:
    deep: Any = {}
    for _ in range(depth):
        deep = {"a": deep}

    body = read_run({"prompt": "Hi", "more": deep, "outputSchema": {"schema": deep}})

    assert body.spec == {"more": deep, "outputSchema": {"schema": deep}}
