"""The frames of a run's stream, one model a type, for the published page.

Frames are built as they are, by `everturn.runs`; tests hold each one against these models.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, RootModel

from everturn.protocol.runs.views import CallMade, RunModel, RunsView, RunTokens
from everturn.protocol.wire import Json, Maybe, Seq


class FrameBase(RunsView):
    """A frame has its data twice: in `data`, and beside it, for clients that look there."""

    model_config = ConfigDict(extra="allow")

    seq: int
    """Rises within a run; what a client comes back with."""


class StartedData(RunsView):
    """The run's turn has begun."""

    run_id: str
    session_id: str


class TextData(RunsView):
    """A piece of text or of thinking."""

    text: str


class ReplyData(RunsView):
    """A whole reply of the model."""

    text: str
    turn: int
    """Which model call of the run it is, from 0."""

    finish_reason: Maybe[str] = None
    """`end_turn`, `tool_use`, `max_tokens`, `refusal`, or the provider's own word."""

    tool_calls: Maybe[Seq[CallMade]] = None


class CallData(RunsView):
    """A tool is called that runs elsewhere than with the caller."""

    tool_use_id: str
    name: str
    args: dict[str, Json]


class ResultData(RunsView):
    """What such a tool came to."""

    tool_use_id: str
    name: str
    result: str
    """At most 32768 characters of it."""

    ok: bool
    summary: str
    """Its first line, at most 160 characters."""


class LocalCallData(CallData):
    """The caller is to run a tool and to post its result."""

    kind: Literal["local", "a2a_local", "mcp_local"]
    agent_card: Maybe[dict[str, Json]] = None
    """Of `a2a_local`, as it was sent."""

    mcp_server: Maybe[str] = None
    mcp_tool_name: Maybe[str] = None
    mcp_server_info: Maybe[dict[str, Json]] = None
    annotations: Maybe[dict[str, Json]] = None


class LocalResultData(RunsView):
    """What the caller posted, or what stands for it."""

    tool_use_id: str
    name: str
    output: str
    result: Maybe[str] = None
    error: Maybe[str] = None


class LoopData(RunsView):
    """The model asks for the same calls again and again."""

    consecutive_count: int
    hard_cutoff: bool
    """The next reply is the last one, without tools."""

    tools: Seq[str]


class BudgetData(RunsView):
    """A call over its tool's budget was answered without being run."""

    tool: str
    max_calls: int
    call_index: int


class SpentData(RunsView):
    """What a run used."""

    tokens: RunTokens
    turns: int
    model: RunModel


class DoneData(SpentData):
    """The run succeeded."""

    subtype: Literal["success"]
    ok: Literal[True]
    text: str


class FailedData(SpentData):
    """The run failed."""

    error: str
    code: str
    error_class: str
    finish_reason: Maybe[str] = None
    partial_text: Maybe[str] = None
    retryable: Maybe[bool] = None


class CancelledData(RunsView):
    """The run was stopped."""

    reason: str
    """`user`, `session_ended`, or what it was given up for."""


class StartedFrame(FrameBase):
    """The first frame."""

    type: Literal["started"] = "started"
    data: StartedData


class TextFrame(FrameBase):
    """A piece of the answer."""

    type: Literal["assistant_delta"] = "assistant_delta"
    data: TextData


class ThinkingFrame(FrameBase):
    """A piece of the model's thinking."""

    type: Literal["thinking_delta"] = "thinking_delta"
    data: TextData


class ReplyFrame(FrameBase):
    """A whole reply; the pieces before it are a part of it."""

    type: Literal["assistant_message"] = "assistant_message"
    data: ReplyData


class CallFrame(FrameBase):
    """A tool begins."""

    type: Literal["tool_call"] = "tool_call"
    data: CallData


class ResultFrame(FrameBase):
    """A tool has ended."""

    type: Literal["tool_result"] = "tool_result"
    data: ResultData


class LocalCallFrame(FrameBase):
    """A tool of the caller's is called."""

    type: Literal["local_tool_call"] = "local_tool_call"
    data: LocalCallData


class LocalResultFrame(FrameBase):
    """A tool of the caller's has ended."""

    type: Literal["local_tool_result_in"] = "local_tool_result_in"
    data: LocalResultData


class LoopFrame(FrameBase):
    """A loop was noticed."""

    type: Literal["loop_detected"] = "loop_detected"
    data: LoopData


class BudgetFrame(FrameBase):
    """A budget of calls is used up."""

    type: Literal["tool_budget_exceeded"] = "tool_budget_exceeded"
    data: BudgetData


class DoneFrame(FrameBase):
    """The last frame of a run that succeeded."""

    type: Literal["result"] = "result"
    data: DoneData


class FailedFrame(FrameBase):
    """The last frame of a run that failed."""

    type: Literal["error"] = "error"
    data: FailedData


class CancelledFrame(FrameBase):
    """The last frame of a run that was stopped."""

    type: Literal["cancelled"] = "cancelled"
    data: CancelledData


class RunFrameView(
    RootModel[
        Annotated[
            StartedFrame
            | TextFrame
            | ThinkingFrame
            | ReplyFrame
            | CallFrame
            | ResultFrame
            | LocalCallFrame
            | LocalResultFrame
            | LoopFrame
            | BudgetFrame
            | DoneFrame
            | FailedFrame
            | CancelledFrame,
            Field(discriminator="type"),
        ]
    ]
):
    """A frame of a run's stream, as the `data` line has it. Types may be added."""
