"""Stored events: what they become as JSON, and that they come back."""

from __future__ import annotations

import json
import types as python_types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import hypothesis.strategies as st
import pytest
from hypothesis import given
from pydantic import BaseModel, ValidationError

from everturn.protocol.json_text import compact
from everturn.session.events.sessions import TurnStarted
from everturn.session.events.shape import Part, Stored
from everturn.session.events.stored import BODY_FIELDS, Event, from_json, to_json, upcast
from everturn.session.events.tool_calls import ToolCallRequested

KINDS: tuple[type[Stored], ...] = get_args(Event)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
).filter(lambda value: "Infinity" not in json.dumps(value))
PLAIN: Mapping[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(0, 2**53),
    bool: st.booleans(),
    float: st.floats(0, 1e9),
    Any: JSON,
    Ellipsis: st.nothing(),
    type(None): st.none(),
}
DOLLARS = st.decimals(0, 1000, places=9).map(lambda amount: format(amount, "f"))
"""Money is a decimal as text. Source: decision-protocol M-8."""


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Return values of a field's type."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return st.deferred(lambda: models(annotation))
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        hints = get_type_hints(annotation)
        return st.builds(annotation, **{name: values(kind) for name, kind in hints.items()})
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in {Union, python_types.UnionType}:
        return st.one_of([values(one) for one in inner])
    lists = st.lists(values(inner[0]), max_size=2)
    mappings = st.dictionaries(TEXT, values(inner[-1]), max_size=2)
    return {tuple: lists.map(tuple), list: lists, dict: mappings}[origin]


def models(kind: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Return models of a kind: required fields, and any of the others."""
    names = {field.alias or name: field for name, field in kind.model_fields.items()}
    strategies = {name: values(field.annotation) for name, field in names.items()}
    strategies |= {name: DOLLARS for name in ("cost", "sub_agent_cost") if name in strategies}
    required = {name: strategies[name] for name, field in names.items() if field.is_required()}
    optional = {name: one for name, one in strategies.items() if name not in required}
    return st.fixed_dictionaries(required, optional=optional).map(kind.model_validate)


EVENTS: st.SearchStrategy[Event] = st.one_of([models(kind) for kind in KINDS])


@given(event=EVENTS)
def test_an_event_survives_json(event: Event) -> None:
    stored = json.loads(compact(to_json(event)))

    assert from_json(stored) == event
    assert to_json(from_json(stored)) == stored


@given(event=EVENTS, more=st.dictionaries(st.text("xyz", min_size=1), JSON, max_size=2))
def test_the_fields_of_next_year_are_skipped(event: Event, more: dict[str, Any]) -> None:
    """Rolling deploys: what is unknown does no harm."""
    assert from_json({**more, **to_json(event)}) == event


def test_the_type_comes_first_and_defaults_are_left_out() -> None:
    event = TurnStarted(turn_id="t1")

    assert compact(to_json(event)) == '{"type":"turn.started","turn_id":"t1"}'


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_is_frozen_lenient_and_has_a_wire_name(kind: type[Stored]) -> None:
    name = kind.model_fields["type"].default

    assert kind.model_config.get("frozen") is True
    assert kind.model_config.get("extra") == "ignore"
    assert issubclass(kind, Part)
    assert name == name.lower()
    assert "." in name


def test_wire_names_are_unique_and_for_ever() -> None:
    """A name that is missing here was renamed: logs that hold it cannot be read any more."""
    assert {kind.model_fields["type"].default for kind in KINDS} >= {
        "session.created",
        "turn.started",
        "turn.admitted",
        "turn.stalled",
        "turn.completed",
        "session.done",
        "step.started",
        "step.ended",
        "message.new",
        "agent.updated",
        "worker.state.updated",
        "decision.queued",
        "decision.dispatched",
        "decision.completed",
        "decision.errored",
        "decision.dropped",
        "request.header",
        "request.context",
        "llm.call.requested",
        "llm.call.dispatched",
        "llm.call.completed",
        "llm.call.errored",
        "llm.call.aborted",
        "tool.call.requested",
        "tool.call.dispatched",
        "tool.call.completed",
        "tool.call.errored",
        "call.wait.opened",
        "call.wait.extended",
        "call.wait.closed",
        "call.voided",
        "call.settle_ignored",
    }
    assert len({kind.model_fields["type"].default for kind in KINDS}) == len(KINDS)


def test_bodies_that_may_be_kept_elsewhere_are_fields_of_their_events() -> None:
    fields = {kind.model_fields["type"].default: set(kind.model_fields) for kind in KINDS}

    assert all(set(names) <= fields[kind] for kind, names in BODY_FIELDS.items())


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValidationError):
        from_json({"type": "next.year"})


def test_today_nothing_has_to_be_lifted() -> None:
    assert upcast({"type": "turn.started"}) == {"type": "turn.started"}


def test_a_call_without_arguments_at_hand_says_where_they_are() -> None:
    event = from_json(
        {
            "type": "tool.call.requested",
            "id": "c1",
            "name": "get_weather",
            "retry": {"max_retries": 3},
            "refs": {"arguments": {"from": {"seq": 4, "field": "message.content"}}},
        }
    )

    assert isinstance(event, ToolCallRequested)
    assert event.arguments is None
    assert event.refs["arguments"].place is not None
    assert event.refs["arguments"].place.seq == 4
