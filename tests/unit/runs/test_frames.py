"""Agent-runs, section 4: what the frames of a run say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.runs.frames import RunFrame
from everturn.runs.telling import frames_of
from everturn.runs.tool_frames import SHOWN_CHARS, SUMMARY_CHARS
from everturn.session.events.children import (
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentRequested,
    SubAgentTurnCompleted,
)
from everturn.session.events.guards import LoopDetected, ToolBudgetExceeded
from everturn.session.events.mail import InboxDequeued, InboxEnqueued
from everturn.session.events.model_calls import ModelCallAborted
from everturn.session.events.shape import Retry
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import CallVoided
from unit.runs.logs import (
    RUN,
    begun,
    data_of,
    delta,
    dispatched,
    done,
    found,
    kinds,
    logged,
    refused,
    replied,
    started,
    telling,
    told,
    tool,
)

CALL = {"toolUseId": "c1", "name": "look", "args": {"at": 1}}


def of(*events: Event) -> list[RunFrame]:
    """Return the frames of a run with these events in one commit."""
    return told(logged([started(), *events]))[1:]


def types(frames: list[RunFrame]) -> list[str]:
    return [frame.type for frame in frames]


def child(call_id: str = "c1") -> tuple[Event, ...]:
    made: dict[str, Any] = {
        "turn_id": RUN,
        "id": call_id,
        "session_id": "child",
        "agent_id": "helper",
    }
    asked = SubAgentRequested(**made, retry=Retry())
    return replied("m1", "", call_id), asked, SubAgentDispatched(**made, attempt=1)


def test_a_run_that_waited_starts_when_its_turn_does() -> None:
    waits = InboxEnqueued(turn_id=RUN, item_id="i1")

    frames = told(logged([waits], [InboxDequeued(turn_id=RUN, item_id="i1"), started()]))

    assert frames == [RunFrame(3_000_000, "started", {"runId": "r1", "sessionId": "s1"})]


def test_a_frame_has_its_data_twice_and_its_number_three_times() -> None:
    frame = RunFrame(7, "assistant_delta", {"text": "Hi\n"})

    lines = frame.text().split("\n")

    assert lines[:2] == ["id: 7", "event: assistant_delta"]
    assert json.loads(lines[2].removeprefix("data: ")) == {
        "text": "Hi\n",
        "seq": 7,
        "type": "assistant_delta",
        "data": {"text": "Hi\n"},
    }
    assert lines[3:] == ["", ""]


def test_names_of_the_envelope_inside_the_data_stay_there() -> None:
    frame = RunFrame(7, "tool_call", {"seq": 1, "type": "x", "data": 2})

    sent = json.loads(frame.text().split("data: ")[1])

    assert sent == {"seq": 7, "type": "tool_call", "data": {"seq": 1, "type": "x", "data": 2}}


def test_pieces_of_text_and_of_thought_are_told_and_no_others() -> None:
    commits = logged([started(), *dispatched("m1", 1)])
    streamed = [
        delta(2, 1, reasoning="Hm"),
        delta(2, 2, text="Hi"),
        delta(2, 3, tool_calls=[{"id": "c1"}]),
        delta(2, 4, turn_id="other", text="Not ours"),
        delta(2, 5, finish_reason="stop"),
    ]

    frames = told(commits, streamed)[1:]

    assert frames == [
        RunFrame(3_001_001, "thinking_delta", {"text": "Hm"}),
        RunFrame(3_001_002, "assistant_delta", {"text": "Hi"}),
    ]


def test_a_reply_is_told_with_its_turn_its_reason_and_what_it_calls() -> None:
    events = (*dispatched("m1", 1), *dispatched("m1", 2, 2))
    reply = replied("m1", "Let me see", "c1", attempt=2, reason="tool_calls")

    frames = of(*events, reply)

    assert data_of(frames, "assistant_message") == [
        {
            "text": "Let me see",
            "turn": 1,
            "finishReason": "tool_use",
            "toolCalls": [{"id": "c1", "name": "look", "input": {"at": 1}}],
        }
    ]


@pytest.mark.parametrize(
    ("core", "shown"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("malformed_function_call", "malformed_function_call"),
    ],
)
def test_finish_reasons_are_those_of_the_runs_view(core: str, shown: str) -> None:
    (message,) = data_of(of(replied("m1", "x", reason=core)), "assistant_message")

    assert message == {"text": "x", "turn": 0, "finishReason": shown}


def test_a_reply_without_a_reason_has_none_and_one_in_parts_has_their_texts() -> None:
    parts = [{"type": "text", "text": "Hi"}, {"type": "image"}, "odd", {"text": " you"}]
    reply = replied("m1", reason=None).model_copy(update={"message": {"content": parts}})

    assert data_of(of(reply), "assistant_message") == [{"text": "Hi you", "turn": 0}]


def test_what_a_reply_had_said_when_it_was_broken_off_is_told() -> None:
    words = ModelCallAborted(turn_id=RUN, id="m1", attempt=1, partial_text="I was")
    silent = words.model_copy(update={"partial_text": ""})

    frames = of(*dispatched("m1", 1), silent, words)

    assert data_of(frames, "assistant_message") == [{"text": "I was", "turn": 0}]


def test_a_workers_tool_is_told_when_it_begins_and_when_it_ends() -> None:
    frames = of(tool("c1"), begun("c1"), begun("c1", 2), found("c1", "\n Line one\nLine two"))

    assert [(frame.type, frame.data) for frame in frames] == [
        ("tool_call", CALL),
        (
            "tool_result",
            {
                "toolUseId": "c1",
                "name": "look",
                "result": "\n Line one\nLine two",
                "ok": True,
                "summary": "Line one",
            },
        ),
    ]


def test_an_attempt_that_is_repeated_has_no_result_yet() -> None:
    frames = of(tool("c1"), begun("c1"), refused("c1", again=True), begun("c1", 2), refused("c1"))

    assert types(frames) == ["tool_call", "tool_result"]
    assert (frames[1].data["ok"], frames[1].data["result"]) == (False, "no")


def test_a_long_result_is_told_in_part() -> None:
    frames = of(tool("c1"), begun("c1"), found("c1", "x" * (SHOWN_CHARS + 1)))

    shown = frames[-1].data
    assert shown["result"] == "x" * SHOWN_CHARS + "…"
    assert shown["summary"] == "x" * SUMMARY_CHARS + "…"


def test_an_empty_result_has_an_empty_summary() -> None:
    (shown,) = data_of(of(tool("c1"), begun("c1"), found("c1", "")), "tool_result")

    assert (shown["result"], shown["summary"]) == ("", "")


@pytest.mark.parametrize("arguments", ["[1]", "not JSON", "", '"text"', '{"a":NaN}'])
def test_arguments_that_are_no_object_are_told_as_none(arguments: str) -> None:
    frames = of(tool("c1", arguments=arguments), begun("c1"))

    assert frames[0].data["args"] == {}


def test_a_clients_tool_is_asked_for_with_what_the_client_said_of_it() -> None:
    frames = of(tool("c1", "client"), begun("c1"), found("c1"))

    assert [(frame.type, frame.data) for frame in frames] == [
        ("local_tool_call", {**CALL, "kind": "mcp_local", "mcpToolName": "look"}),
        (
            "local_tool_result_in",
            {"toolUseId": "c1", "name": "look", "output": "42", "result": "42"},
        ),
    ]


def test_a_clients_tool_that_nothing_is_known_of_is_a_local_one() -> None:
    commits = logged([started(), tool("c1", "client"), begun("c1"), refused("c1", "gone")])
    bare = telling(commits)
    silent = type(bare)(bare.run_id, bare.session_id, lambda _: None, bare.outcome, bare.deltas)

    frames = [*frames_of(silent, commits)]

    assert data_of(frames, "local_tool_call") == [{**CALL, "kind": "local"}]
    assert data_of(frames, "local_tool_result_in") == [
        {"toolUseId": "c1", "name": "look", "output": "gone", "error": "gone"}
    ]


@pytest.mark.parametrize("handler", ["worker", "client"])
def test_a_call_that_was_settled_before_anybody_was_asked_is_told_whole(handler: str) -> None:
    frames = of(tool("c1", handler), refused("c1", "Too often."))

    assert [(frame.type, frame.data.get("ok")) for frame in frames] == [
        ("tool_call", None),
        ("tool_result", False),
    ]


def test_a_call_that_was_given_up_has_no_result() -> None:
    given_up = CallVoided(turn_id=RUN, id="c1", kind="tool_call", reason="turn_done")

    assert types(of(tool("c1"), begun("c1"), given_up)) == ["tool_call"]


def test_a_sub_agent_is_a_tool_with_its_agents_name() -> None:
    over: dict[str, Any] = {"turn_id": RUN, "id": "c1", "session_id": "child", "agent_id": "helper"}

    ended = of(*child(), SubAgentTurnCompleted(**over, result="Done"))
    failed = of(*child(), SubAgentErrored(**over, attempt=1, error="No", retryable=False))

    assert types(ended) == ["assistant_message", "tool_call", "tool_result"]
    assert ended[1].data == {"toolUseId": "c1", "name": "helper", "args": {"at": 1}}
    assert (ended[2].data["result"], ended[2].data["ok"]) == ("Done", True)
    assert (failed[2].data["result"], failed[2].data["ok"]) == ("No", False)


def test_what_the_guards_did_is_told() -> None:
    loop = LoopDetected(turn_id=RUN, consecutive_count=6, hard_cutoff=True, tools=("look", "see"))
    over = ToolBudgetExceeded(turn_id=RUN, tool="look", call_id="c1", max_calls=4, call_index=5)

    frames = of(loop, over)

    assert [(frame.type, frame.data) for frame in frames] == [
        ("loop_detected", {"consecutiveCount": 6, "hardCutoff": True, "tools": ["look", "see"]}),
        ("tool_budget_exceeded", {"tool": "look", "maxCalls": 4, "callIndex": 5}),
    ]


def test_nothing_is_told_behind_the_end() -> None:
    words = ModelCallAborted(turn_id=RUN, id="m1", attempt=1, partial_text="I was")

    frames = told(logged([started(), done(), words], [words, found("c1")]))

    assert kinds(frames) == [(3_000_000, "started"), (3_000_001, "result")]


def test_nobody_is_asked_for_what_lies_before_the_cursor() -> None:
    commits = logged([started(), tool("c1", "client"), begun("c1")], [done()])

    def never(*_: Any) -> Any:
        raise AssertionError

    silent = type(telling(commits))(RUN, "s1", never, never, never)

    assert [*frames_of(silent, commits, 4_000_000)] == []
