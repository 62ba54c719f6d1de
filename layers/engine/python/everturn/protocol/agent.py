"""The config of an agent, what an admin writes for one, and the checks that need no compiler.

It must not compile a JSON Schema, and must not reach out to a worker or a secret.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from everturn.errors import RejectedError
from everturn.protocol.agent_options import (
    A2aAgent,
    BuiltinTool,
    Compaction,
    Guards,
    Hook,
    McpServer,
    ToolName,
)
from everturn.protocol.budgets import Budgets
from everturn.protocol.call import Handler
from everturn.protocol.limits import (
    MAX_ATTEMPTS,
    MAX_FALLBACK_MODELS,
    MAX_POLICY_SECS,
    MAX_TOOLS,
)
from everturn.protocol.llm import Format, ReasoningConfig, Temperature, Tokens, ToolChoice
from everturn.protocol.secret_place import SecretPlace
from everturn.protocol.wire import Json, JsonSchema, Maybe, Number, Seq, WireModel, parse
from everturn.rejections import (
    DuplicateToolName,
    FormatRequiresWorker,
    InvalidHandler,
    SchemaViolation,
)

Effect = Literal["read", "idempotent_write", "non_idempotent_write", "unclassified"]
"""What a second run of a tool would do. Source: agent-session.md 4."""

Decides = Literal["engine", "worker"]

REPEATABLE: frozenset[Effect] = frozenset({"read", "idempotent_write"})
"""Effects whose calls may run again. Source: agent-session.md 4."""

_HTTP_URL = re.compile(r"https?://[^\s/?#@\\]+(?:[/?#]\S*)?")
_LAMBDA_ARN = re.compile(
    r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(?::[A-Za-z0-9$_-]+)?"
)

Secs = Annotated[Number, Field(ge=0, le=MAX_POLICY_SECS)]
Timeout = Annotated[Number, Field(gt=0, le=MAX_POLICY_SECS)]


class RetryPolicy(WireModel):
    """How often and how long an attempt runs; all four fields are required, the timeout nullable.

    Source: R-1 to R-4. Powers of `backoff_base_secs` can exceed a float: cap before, not after.
    """

    timeout_secs: Timeout | None
    max_retries: Annotated[int, Field(ge=0, le=MAX_ATTEMPTS)]
    """The number of all attempts, in spite of its name; 0 counts as 1 (R-2, O-17)."""

    backoff_base_secs: Secs
    backoff_max_secs: Secs


class AgentTool(WireModel):
    """A tool that the agent offers. Source: O-3 for the fields after `handler`."""

    name: ToolName
    description: Maybe[str] = None
    input: Maybe[JsonSchema] = None
    output: Maybe[JsonSchema] = None
    handler: Maybe[Handler] = None
    effect: Maybe[Effect] = None
    approval: Maybe[Literal["never", "always"]] = None
    overlap: Maybe[bool] = None
    retry: Maybe[RetryPolicy] = None
    timeout_secs: Maybe[Timeout] = None


class SubAgent(WireModel):
    """An agent that may be spawned: its id is also the tool name that the model sees."""

    id: ToolName
    description: Maybe[str] = None


class AgentConfig(WireModel):
    """What a session pins of its agent; only `model` is required.

    Source: O-3 for all fields after `sub_agents`.
    """

    model: Annotated[str, Field(min_length=1)]
    system: Maybe[str] = None
    stream: Maybe[bool] = None
    handler: Maybe[Handler] = None
    format: Maybe[Format] = None
    retry: Maybe[RetryPolicy] = None
    tools: Maybe[Seq[AgentTool]] = None
    sub_agents: Maybe[Seq[SubAgent]] = None
    on_failure: Maybe[Literal["interrupt", "fail"]] = None
    on_truncated: Maybe[Literal["interrupt", "record"]] = None
    output_schema: Maybe[JsonSchema] = None
    reasoning: Maybe[ReasoningConfig] = None
    temperature: Maybe[Temperature] = None
    stop: Maybe[Seq[str]] = None
    max_completion_tokens: Maybe[Tokens] = None
    tool_choice: Maybe[ToolChoice] = None
    parallel_tool_calls: Maybe[bool] = None
    fallback_models: Maybe[
        Annotated[Seq[Annotated[str, Field(min_length=1)]], Field(max_length=MAX_FALLBACK_MODELS)]
    ] = None
    """What the turn goes on with when a model failed for good, in this order."""

    guards: Maybe[Guards] = None
    plan_mode: Maybe[bool] = None
    compaction: Maybe[Compaction] = None
    builtins: Maybe[Seq[BuiltinTool]] = None
    mcp: Maybe[Seq[McpServer]] = None
    a2a: Maybe[Seq[A2aAgent]] = None
    hooks: Maybe[Seq[Hook]] = None
    models: Maybe[dict[str, str]] = None
    """Settings may choose the model by a key of this map (agent-session.md 17)."""

    approve_writes: Maybe[bool] = None
    budgets: Maybe[Budgets] = None
    question_deadline_secs: Maybe[Timeout] = None
    """How long a tool's question waits for its user; absent: as long as it takes.

    Source: agent-session.md, "small print", with the reference's default of no deadline.
    """


class WorkerSecret(SecretPlace):
    """Where the signing secret is, or the wish for a new one; exactly one field. Source: O-23."""

    generate: Maybe[Literal[True]] = None


class AgentDefinition(AgentConfig):
    """Body of `PUT /v1/agents/{id}`: a config plus what is never shown to anybody. Source: O-23."""

    worker: Maybe[str] = None
    """An http(s) URL or the ARN of a Lambda function."""

    decides: Maybe[Decides] = None
    worker_secret: Maybe[WorkerSecret] = None


AGENT_CONFIG = TypeAdapter(AgentConfig)
AGENT_DEFINITION = TypeAdapter(AgentDefinition)
RETRY_POLICY = TypeAdapter(RetryPolicy)


def read_agent(data: Json) -> AgentDefinition:
    """Return the definition that `data` is, checked.

    Raises `SchemaViolation` and the errors of `check_definition`.
    """
    definition = parse(AGENT_DEFINITION, data)
    check_definition(definition)
    return definition


def who_decides(definition: AgentDefinition) -> Decides:
    """Return who answers decisions: the worker where there is one, unless told. Source: O-10."""
    return definition.decides or ("worker" if definition.worker else "engine")


def to_config(definition: AgentDefinition) -> AgentConfig:
    """Return the part of `definition` that sessions pin and workers see. Source: O-23."""
    return AgentConfig(**{name: getattr(definition, name) for name in AgentConfig.model_fields})


def check_definition(definition: AgentDefinition) -> None:
    """Accept a definition whose worker can be called and whose config is in order.

    Raises `SchemaViolation` and the errors of `check_agent`.
    """
    worker = definition.worker
    if worker is not None and not (_HTTP_URL.fullmatch(worker) or _LAMBDA_ARN.fullmatch(worker)):
        raise SchemaViolation("/worker: should be an http(s) URL or a Lambda function ARN")
    if worker is None and definition.decides == "worker":
        raise SchemaViolation("/decides: worker is set, but there is no worker")
    if worker is None and definition.handler == "worker":
        raise SchemaViolation("/handler: worker is set, but there is no worker")
    if worker is None and definition.worker_secret is not None:
        raise SchemaViolation("/worker_secret: is set, but there is no worker")
    check_agent(definition, decides=who_decides(definition))


def check_agent(config: AgentConfig, *, decides: Decides, at: str = "") -> None:
    """Accept a config whose tools, handlers and retries go together; `at` begins every path.

    Raises `SchemaViolation`, `DuplicateToolName`, `InvalidHandler` or `FormatRequiresWorker`.
    Source: P-3, O-11, section 23, agent-session.md 4 and 10.
    """
    if len(config.tools or ()) + len(config.sub_agents or ()) > MAX_TOOLS:
        raise SchemaViolation(f"{at}/tools: more than {MAX_TOOLS} tools and sub-agents")
    _check_names(config, at)
    if config.handler == "client":
        raise InvalidHandler(f"{at}/handler: model calls run on server or worker, not on client")
    if config.format is not None and config.handler != "worker":
        raise FormatRequiresWorker(f"{at}/format: needs handler worker")
    for index, tool in enumerate(config.tools or ()):
        if problem := _tool_problem(tool, decides, f"{at}/tools/{index}"):
            raise problem


def _check_names(config: AgentConfig, at: str) -> None:
    seen: set[str] = set()
    for name, path in _names(config):
        if name in seen:
            raise DuplicateToolName(f"{at}{path}: the name is taken by another tool or sub-agent")
        seen.add(name)


def _names(config: AgentConfig) -> Iterator[tuple[str, str]]:
    """Yield every name that the model may call, with its path; the engine's own come first."""
    for index, builtin in enumerate(config.builtins or ()):
        yield builtin, f"/builtins/{index}"
    for index, tool in enumerate(config.tools or ()):
        yield tool.name, f"/tools/{index}/name"
    for index, sub_agent in enumerate(config.sub_agents or ()):
        yield sub_agent.id, f"/sub_agents/{index}/id"
    for index, remote in enumerate(config.a2a or ()):
        yield remote.name, f"/a2a/{index}/name"


def _tool_problem(tool: AgentTool, decides: Decides, path: str) -> RejectedError | None:
    if tool.handler == "server":
        return InvalidHandler(f"{path}/handler: tools run on worker or client, not on server")
    if tool.effect is None and decides == "worker":
        return None  # O-11: such a tool follows section 13 alone
    if tool.retry is not None and tool.retry.max_retries > 1 and tool.effect not in REPEATABLE:
        return SchemaViolation(
            f"{path}/retry: a second attempt needs effect read or idempotent_write",
            hint="set the tool's effect, or max_retries to 1",
        )
    return None
