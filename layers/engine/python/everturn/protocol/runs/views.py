"""What the routes of runs and of their sessions answer, one model a body.

Routes build their answers as they are; these models describe them for the published page, and
tests hold each answer against them.
"""

from typing import Literal

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from everturn.protocol.wire import Json, Maybe, Seq, WireModel

RunStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class RunsView(WireModel):
    """A part of an answer: camel-cased names."""

    # Nothing makes these by their names.
    model_config = ConfigDict(  # type: ignore[pydantic-alias]
        alias_generator=to_camel, serialize_by_alias=True
    )


class RunAccepted(RunsView):
    """A run is recorded."""

    run_id: str
    session_id: str
    """The session that it is a turn of."""

    stream_url: str
    """Where to read what happens, relative to the API's address."""


class RunTokens(RunsView):
    """What a run used, all its model calls together."""

    input_tokens: int
    """Those from a cache included."""

    cached_tokens: int
    reasoning_tokens: int
    output_tokens: int


class RunModel(RunsView):
    """The model that a run's last call went to; empty texts where there was none."""

    id: str
    provider: str
    vendor_model_id: str
    reasoning_effort: Maybe[Literal["off", "low", "medium", "high"]] = None


class FailureReason(RunsView):
    """Why a run failed, for programs."""

    error_class: str
    code: Maybe[str] = None
    """Where it says more than the class."""

    finish_reason: Maybe[str] = None


class RunView(RunsView):
    """A run as it stands."""

    run_id: str
    session_id: str
    name: Maybe[str] = None
    status: RunStatus
    final_text: str | None
    """Also of a run that failed after it had said something."""

    error: str | None
    failure_reason: FailureReason | None
    tokens: RunTokens | None
    """Null until the run is over, as the two below."""

    turns: int | None
    """Model calls that were made."""

    model: RunModel | None
    spec: dict[str, Json]
    """What was asked for, what its session gave it included, without the messages."""

    metadata: dict[str, str]


class RunFeedback(RunsView):
    """What is kept of somebody's opinion."""

    id: str
    """The same one for a run, however often it is rated."""

    verdict: Literal["UP", "DOWN"]
    target_kind: Literal["run"]
    agent_run_id: str


class AgentSessionMade(RunsView):
    """A session is there; no run has begun in it."""

    session_id: str
    name: str
    created_at: str


class AgentSessionRow(RunsView):
    """A session in a list."""

    session_id: str
    creation_date: str
    last_interaction_date: str
    summary: str
    """Its name."""

    metadata: dict[str, str]
    status: Literal["active", "ended"]


class AgentSessionsPage(RunsView):
    """Sessions that were made for runs, the last used first."""

    total: int
    """How many match, among those that were looked at."""

    limit: int
    offset: int
    next_cursor: str | None
    """Where the next page begins; null at the end."""

    sessions: Seq[AgentSessionRow]


class ShownFile(RunsView):
    """What is told of a file; never its bytes."""

    type: Literal["input_file", "input_file_url"]
    url: Maybe[str] = None
    mime_type: Maybe[str] = None
    filename: Maybe[str] = None
    size: Maybe[int] = None
    """Bytes."""


class SaidMessage(RunsView):
    """A message of user or model."""

    role: Literal["user", "assistant", "system"]
    content: str
    attachments: Maybe[Seq[ShownFile]] = None


class AgentSessionView(RunsView):
    """A session that was made for runs."""

    id: str
    name: str
    status: Literal["active", "ended"]
    created_at: str
    last_used_at: str
    ended_at: str | None
    agent_spec: dict[str, Json]
    """What its runs fall back to."""

    messages: Seq[SaidMessage]
    """The newest of them, at most 200 with those of tools, which are not shown."""

    metadata: dict[str, str]


class CallMade(RunsView):
    """A tool call in a reply."""

    id: str
    name: str
    input: dict[str, Json]


class ReplayedMessage(RunsView):
    """A message as a frame; its `seq` is that of the session's log, not of a run's stream."""

    seq: int
    type: Literal["user_message", "assistant_message"]
    text: str
    attachments: Maybe[Seq[ShownFile]] = None
    tool_calls: Maybe[Seq[CallMade]] = None


class Replay(RunsView):
    """A session's conversation, oldest first."""

    session_id: str
    total: int
    next_before_seq: int | None
    """Ask again with `beforeSeq` at this number for older ones; null where there are none."""

    truncated: bool
    """There are older ones."""

    events: Seq[ReplayedMessage]


class RunPrices(RunsView):
    """US dollars for a million tokens."""

    # `to_camel` would write `inputPer1mUsd`
    model_config = ConfigDict(alias_generator=None)

    inputPer1MUsd: float  # noqa: N815  # as the wire has it
    outputPer1MUsd: float  # noqa: N815
    cacheReadPer1MUsd: float | None  # noqa: N815


class RunModelRow(RunsView):
    """A model that a run may name."""

    id: str
    label: str
    provider: str
    vendor_model_id: str
    source: Literal["platform", "provider"]
    context_window_tokens: int | None
    pricing: RunPrices | None


class RunModels(RunsView):
    """The models of a workspace."""

    models: Seq[RunModelRow]
    default_model_id: str | None
    """Of a run that names neither a model nor an agent."""


class InboxAccepted(WireModel):
    """A message waits for its turn, or its turn was known."""

    turn_id: str
    """Of the turn that it opens."""

    item_id: Maybe[str] = None
    """What to change or remove it by, while it waits."""

    placement: Maybe[Literal["queued"]] = None
    duplicate: Maybe[Literal[True]] = None
    turn_status: Maybe[Literal["queued", "running", "parked", "completed"]] = None
    """With `duplicate`: how that turn is."""
