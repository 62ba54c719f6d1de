"""How a run is to be done: model, instructions, tools and policies; nothing of what it is asked.

It must not know a session: what a message inherits from one is the view's business.
"""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from everturn.protocol.json_text import compact
from everturn.protocol.limits import (
    MAX_AGENT_BYTES,
    MAX_ECHO_BYTES,
    MAX_ID_CHARS,
    MAX_OUTPUT_SCHEMA_BYTES,
    MAX_RUN_METADATA,
    MAX_RUN_METADATA_KEY_CHARS,
    MAX_RUN_METADATA_VALUE_CHARS,
    MAX_RUN_NAME_CHARS,
)
from everturn.protocol.runs.policies import (
    CallBudgets,
    LoopChoice,
    ModelSelector,
    OutputSchema,
    PlanChoice,
    ReasoningLevel,
    SupervisorChoice,
    Thresholds,
    TurnCap,
)
from everturn.protocol.runs.shape import RunsModel, size_bytes
from everturn.protocol.runs.tool_refs import ToolRefs, check_names, echo_bytes
from everturn.protocol.wire import Maybe, to_json
from everturn.rejections import InvalidJson, InvalidRequest

BESIDE: Final = frozenset({"prompt", "messages", "attachments", "metadata", "name"})
"""Fields of a body that are no part of its spec."""


def _flat(metadata: dict[str, str]) -> dict[str, str]:
    fits = all(
        1 <= len(name) <= MAX_RUN_METADATA_KEY_CHARS and len(value) <= MAX_RUN_METADATA_VALUE_CHARS
        for name, value in metadata.items()
    )
    if fits:
        return metadata
    raise PydanticCustomError(
        "metadata",
        "should have names of 1 to {name} and values of at most {value} characters",
        {"name": MAX_RUN_METADATA_KEY_CHARS, "value": MAX_RUN_METADATA_VALUE_CHARS},
    )


Metadata = Annotated[dict[str, str], Field(max_length=MAX_RUN_METADATA), AfterValidator(_flat)]


class RunSpec(RunsModel):
    """What a body of a run, a session or a message says beside the messages."""

    agent_id: Maybe[Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)]] = None
    name: Maybe[Annotated[str, Field(max_length=MAX_RUN_NAME_CHARS)]] = None
    model_id: Maybe[ModelSelector] = None
    fallback_model_id: Maybe[ModelSelector] = None
    system_prompt: Maybe[str] = None
    tools: Maybe[ToolRefs] = None
    reasoning_level: Maybe[ReasoningLevel] = None
    output_schema: Maybe[OutputSchema] = None
    loop_detection: Maybe[LoopChoice] = None
    tool_budgets: Maybe[CallBudgets] = None
    supervisor: Maybe[SupervisorChoice] = None
    plan: Maybe[PlanChoice] = None
    budgets: Maybe[TurnCap] = None
    metadata: Maybe[Metadata] = None

    @property
    def spec(self) -> dict[str, Any]:
        """The spec as JSON, as the caller wrote it, fields that this version does not know too."""
        return self.model_dump(mode="json", exclude=set(BESIDE))


def check_spec(asked: RunSpec) -> None:
    """Accept a spec whose parts go together. Raises `InvalidRequest`."""
    refs = [to_json(ref) for ref in asked.tools or ()]
    check_names(refs)
    for at, ref in enumerate(refs):
        if echo_bytes(ref) > MAX_ECHO_BYTES:
            raise InvalidRequest(
                f"/tools/{at}: card, server and hints have more than {MAX_ECHO_BYTES} bytes; they "
                "come back with every call"
            )
    loop = asked.loop_detection
    if isinstance(loop, Thresholds) and loop.hard <= loop.soft:
        raise InvalidRequest(
            f"/loopDetection/hardCutoffThreshold: is {loop.hard}; it should be more than "
            f"consecutiveThreshold, which is {loop.soft}"
        )
    if asked.output_schema is not None:
        _check_output_schema(asked.output_schema)
    _check_size(asked)


def _check_size(asked: RunSpec) -> None:
    try:
        size = size_bytes(compact(asked.spec))
    except InvalidJson:
        raise InvalidRequest("/: should be lossless JSON") from None
    if size > MAX_AGENT_BYTES:
        raise InvalidRequest(
            f"/: the spec has {size} bytes as JSON; at most {MAX_AGENT_BYTES} are taken"
        )


def _check_output_schema(output: OutputSchema) -> None:
    try:
        size = size_bytes(compact(to_json(output)))
    except InvalidJson:
        raise InvalidRequest("/outputSchema: should be lossless JSON") from None
    if size > MAX_OUTPUT_SCHEMA_BYTES:
        raise InvalidRequest(
            f"/outputSchema: has {size} bytes; at most {MAX_OUTPUT_SCHEMA_BYTES} are taken"
        )
