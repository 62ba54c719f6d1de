"""Runs read from the table: what is large stands in the bucket, and is fetched where it shows."""

from __future__ import annotations

from typing import Any

from contract.store.conftest import Aws
from everturn.commands.read_run import ReadRun
from everturn.ports.callers import Caller
from everturn.ports.sessions import SessionKey
from everturn.runs.tool_frames import SHOWN_CHARS
from everturn.session.events.messages import StateUpdated
from everturn.session.events.model_calls import RequestHeader
from everturn.session.events.runs import RunRequested
from everturn.session.events.sessions import Owner, SessionCreated
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.refs import same_as
from everturn.store.runs import DynamoRuns
from sample_events import commit
from unit.drive.doubles import FrozenClock
from unit.runs.logs import RUN, asked, begun, dispatched, done, found, replied, started, tool

LARGE = "x" * 20_000
SPEC = {"systemPrompt": LARGE, "tools": [{"kind": "local", "name": "look"}]}


def opened(key: SessionKey) -> list[Event]:
    """Return how a session with one run begins, to its model call."""
    return [
        SessionCreated(session_id=key.session, agent_id="helper", owner=Owner(id="ada")),
        RequestHeader(header={"config": {"model": LARGE}}, reason="initial", sha256="1"),
        RunRequested(turn_id=RUN, run={"spec": SPEC, "name": "first"}),
        started(),
        asked("m1", header_seq=2),
        *dispatched("m1", 1),
    ]


def answered() -> list[Event]:
    """Return a large reply with two calls, whose arguments stand in it, up to their start."""
    reply = replied("m1", LARGE, "c1", "c2")
    place = "message.tool_calls.{}.function.arguments"
    calls = [
        tool(call_id, handler).model_copy(
            update={"arguments": None, "refs": {"arguments": same_as(8, place.format(at))}}
        )
        for at, (call_id, handler) in enumerate([("c1", "client"), ("c2", "worker")])
    ]
    return [reply, *calls, begun("c1"), begun("c2")]


def test_a_run_of_large_bodies_is_told_with_those_that_show(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    head = store.append(commit(key, None, opened(key)))
    head = store.append(commit(key, head, answered()))
    state = StateUpdated(state={"a": LARGE}, anchor=Anchor(branch=0, depth=1))
    head = store.append(commit(key, head, [state, found("c1", LARGE * 2), found("c2", "42")]))
    last = [
        asked("m2", header_seq=2),
        *dispatched("m2", 2),
        replied("m2", LARGE),
    ]
    ends = done(data=None).model_copy(update={"refs": {"data": same_as(19, "message.content")}})
    store.append(commit(key, head, [*last, ends]))
    clock = FrozenClock()
    client: Any = aws.dynamodb
    reader = ReadRun(aws.store(), DynamoRuns(aws.table, client), clock, clock.sleep, 1)
    aws.s3.taken()

    frames = reader.stream(Caller(key.tenant), RUN, 0).frames

    shown = {frame.type: frame.data for frame in frames}
    assert shown["assistant_message"]["text"] == LARGE
    assert shown["local_tool_call"]["args"] == {"at": 1}
    assert shown["local_tool_call"]["kind"] == "local"
    assert shown["tool_call"]["args"] == {"at": 1}
    assert shown["local_tool_result_in"]["result"] == (LARGE * 2)[:SHOWN_CHARS] + "…"
    assert shown["result"]["text"] == LARGE
    assert shown["result"]["model"]["vendorModelId"] == LARGE
    assert aws.s3.taken() == ["get_object"] * 5  # two replies, a result, the spec, the header
