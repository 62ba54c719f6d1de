"""Agent configs: fields, extensions, names, handlers, retries."""

from typing import Any

import pytest

from everturn.errors import RejectedError
from everturn.protocol.agent import (
    AGENT_CONFIG,
    RETRY_POLICY,
    AgentConfig,
    AgentDefinition,
    Decides,
    RetryPolicy,
    check_agent,
    read_agent,
    to_config,
    who_decides,
)
from everturn.protocol.limits import MAX_ATTEMPTS, MAX_POLICY_SECS, MAX_TOOLS
from everturn.protocol.wire import parse, to_json
from everturn.rejections import (
    DuplicateToolName,
    FormatRequiresWorker,
    InvalidHandler,
    SchemaViolation,
)

POLICY = {"timeout_secs": None, "max_retries": 3, "backoff_base_secs": 2, "backoff_max_secs": 60.5}

WHOLE: dict[str, Any] = {
    "model": "m",
    "system": "s",
    "stream": True,
    "handler": "worker",
    "format": "openai",
    "retry": POLICY,
    "tools": [
        {
            "name": "t",
            "description": "d",
            "input": {"type": "object", "default": None},
            "output": True,
            "handler": "worker",
            "effect": "idempotent_write",
            "approval": "always",
            "overlap": False,
            "retry": POLICY,
            "timeout_secs": 1.5,
        }
    ],
    "sub_agents": [{"id": "poet", "description": "d"}],
    "on_failure": "fail",
    "on_truncated": "record",
    "output_schema": {"type": "string"},
    "reasoning": {"effort": "high", "max_tokens": 5, "exclude": True, "enabled": True},
    "temperature": 0.2,
    "stop": ["END"],
    "max_completion_tokens": 100,
    "fallback_models": ["m2", "m3"],
    "guards": {
        "loop_detection": {"consecutive_threshold": 3, "hard_cutoff_threshold": 6},
        "tool_budgets": {"t": {"max_calls": 0}},
        "max_tool_turns": 32,
        "output_repairs": 4,
        "supervisor": {"interval": 5, "model": "m", "reasoning_trigger": {"chars": 1, "ms": 2}},
    },
    "plan_mode": True,
    "compaction": {"threshold": 0.8, "model": "m"},
    "builtins": ["ask_user"],
    "mcp": [{"name": "x", "url": "https://x.example", "headers": {"a": "b"}, "tool_filter": []}],
    "a2a": [{"name": "y", "agent_card_url": "https://y.example", "headers": {}}],
    "hooks": ["step.start"],
    "models": {"fast": "m2"},
    "approve_writes": True,
}


def refusal(data: dict[str, Any], decides: Decides = "engine") -> RejectedError:
    config = parse(AGENT_CONFIG, {"model": "m"} | data)
    with pytest.raises(RejectedError) as caught:
        check_agent(config, decides=decides, at="/agent")
    return caught.value


def test_a_whole_config_is_read_and_written_alike() -> None:
    config = parse(AGENT_CONFIG, WHOLE)

    check_agent(config, decides="engine")

    assert to_json(config) == WHOLE


def test_only_the_model_is_required() -> None:
    assert to_json(parse(AGENT_CONFIG, {"model": "m"})) == {"model": "m"}

    with pytest.raises(SchemaViolation, match="/model: is required"):
        parse(AGENT_CONFIG, {})


@pytest.mark.parametrize("field", ["worker", "decides", "worker_secret"])
def test_what_only_an_admin_sets_is_no_field_of_a_config(field: str) -> None:
    with pytest.raises(SchemaViolation, match=f"/{field}: unknown field"):
        parse(AGENT_CONFIG, {"model": "m", field: "engine"})


@pytest.mark.parametrize(
    "change",
    [
        {"timeout_secs": 0.001},
        {"timeout_secs": MAX_POLICY_SECS},
        {"max_retries": 0},
        {"max_retries": MAX_ATTEMPTS},
        {"backoff_base_secs": 0},
        {"backoff_max_secs": MAX_POLICY_SECS},
    ],
)
def test_a_policy_inside_its_bounds_is_read(change: dict[str, Any]) -> None:
    policy = parse(RETRY_POLICY, POLICY | change)

    assert to_json(policy) == POLICY | change


@pytest.mark.parametrize(
    "change",
    [
        {"timeout_secs": 0},
        {"timeout_secs": MAX_POLICY_SECS + 1},
        {"max_retries": -1},
        {"max_retries": MAX_ATTEMPTS + 1},
        {"max_retries": 1.0},
        {"max_retries": None},
        {"backoff_base_secs": -1},
        {"backoff_max_secs": "60"},
    ],
)
def test_a_policy_outside_its_bounds_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SchemaViolation, match=f"/{next(iter(change))}: "):
        parse(RETRY_POLICY, POLICY | change)


def test_a_policy_must_name_its_timeout_even_if_there_is_none() -> None:
    policy = RetryPolicy(timeout_secs=None, max_retries=1, backoff_base_secs=0, backoff_max_secs=0)

    assert to_json(policy)["timeout_secs"] is None
    with pytest.raises(SchemaViolation, match="/timeout_secs: is required"):
        parse(RETRY_POLICY, {key: POLICY[key] for key in POLICY if key != "timeout_secs"})


@pytest.mark.parametrize("name", ["a", "a" * 64, "A-z_9"])
def test_a_tool_name_inside_its_bounds_is_read(name: str) -> None:
    config = parse(AGENT_CONFIG, {"model": "m", "tools": [{"name": name}]})

    assert config.tools is not None
    assert config.tools[0].name == name


@pytest.mark.parametrize("name", ["", "a" * 65, "a.b", "a b", "a\n", "é"])
@pytest.mark.parametrize("field", ["tools", "sub_agents"])
def test_a_tool_name_outside_its_bounds_is_refused(name: str, field: str) -> None:
    key = {"tools": "name", "sub_agents": "id"}[field]

    with pytest.raises(SchemaViolation, match=f"/{field}/0/{key}: "):
        parse(AGENT_CONFIG, {"model": "m", field: [{key: name}]})


def test_as_many_tools_and_sub_agents_as_allowed_are_accepted() -> None:
    tools = [{"name": f"t{n}"} for n in range(MAX_TOOLS - 1)]
    config = parse(AGENT_CONFIG, {"model": "m", "tools": tools, "sub_agents": [{"id": "s"}]})

    check_agent(config, decides="worker")

    assert len(config.tools or ()) == MAX_TOOLS - 1


def test_one_tool_more_is_refused() -> None:
    tools = [{"name": f"t{n}"} for n in range(MAX_TOOLS)]

    error = refusal({"tools": tools, "sub_agents": [{"id": "s"}]})

    assert (error.code, error.message) == (
        "schema_violation",
        "/agent/tools: more than 256 tools and sub-agents",
    )


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"tools": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}, "/agent/tools/2/name"),
        ({"tools": [{"name": "a"}], "sub_agents": [{"id": "a"}]}, "/agent/sub_agents/0/id"),
        ({"tools": [{"name": "ask_user"}], "builtins": ["ask_user"]}, "/agent/tools/0/name"),
        ({"builtins": ["ask_user", "ask_user"]}, "/agent/builtins/1"),
        (
            {"tools": [{"name": "y"}], "a2a": [{"name": "y", "agent_card_url": "u"}]},
            "/agent/a2a/0/name",
        ),
    ],
)
def test_two_things_of_one_name_are_refused(data: dict[str, Any], path: str) -> None:
    """Conformance 15: P-3."""
    error = refusal(data)

    assert type(error) is DuplicateToolName
    assert error.message == f"{path}: the name is taken by another tool or sub-agent"


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"handler": "client"}, "/agent/handler"),
        ({"tools": [{"name": "a"}, {"name": "b", "handler": "server"}]}, "/agent/tools/1/handler"),
    ],
)
def test_a_handler_that_does_not_fit_is_refused(data: dict[str, Any], path: str) -> None:
    """Conformance 15: P-3, O-21."""
    error = refusal(data)

    assert type(error) is InvalidHandler
    assert error.message.startswith(f"{path}: ")


@pytest.mark.parametrize("handler", [None, "server"])
def test_a_format_needs_the_worker(handler: str | None) -> None:
    """Conformance 15: P-3."""
    error = refusal({"format": "anthropic", "handler": handler})

    assert type(error) is FormatRequiresWorker


@pytest.mark.parametrize("effect", [None, "unclassified", "non_idempotent_write"])
def test_a_second_attempt_of_what_may_not_run_twice_is_refused(effect: str | None) -> None:
    error = refusal({"tools": [{"name": "a", "effect": effect, "retry": POLICY}]})

    assert (error.code, error.message, error.hint) == (
        "schema_violation",
        "/agent/tools/0/retry: a second attempt needs effect read or idempotent_write",
        "set the tool's effect, or max_retries to 1",
    )


@pytest.mark.parametrize(
    ("tool", "decides"),
    [
        ({"name": "a", "effect": "read", "retry": POLICY}, "engine"),
        ({"name": "a", "effect": "idempotent_write", "retry": POLICY}, "worker"),
        ({"name": "a", "retry": POLICY}, "worker"),
        ({"name": "a", "effect": "unclassified", "retry": POLICY | {"max_retries": 1}}, "engine"),
        ({"name": "a", "handler": "client"}, "engine"),
    ],
)
def test_other_retries_and_handlers_are_accepted(tool: dict[str, Any], decides: Decides) -> None:
    config = parse(AGENT_CONFIG, {"model": "m", "tools": [tool]})

    check_agent(config, decides=decides)

    assert to_json(config)["tools"] == [tool]


@pytest.mark.parametrize(
    "guards",
    [
        {"loop_detection": False, "supervisor": False},
        {"loop_detection": {"consecutive_threshold": 99, "hard_cutoff_threshold": 100}},
        {"loop_detection": {"consecutive_threshold": 2, "hard_cutoff_threshold": 3}},
        {"loop_detection": {"hard_cutoff_threshold": 4}, "supervisor": True},
        {"loop_detection": {"consecutive_threshold": 5}},
        {"loop_detection": {}},
        {"tool_budgets": {"t" * 120: {"max_calls": 1000}}},
        {"tool_budgets": {f"t{n}": {"max_calls": 0} for n in range(32)}},
        {"max_tool_turns": 1, "output_repairs": 0},
        {"max_tool_turns": 100, "output_repairs": 10},
        {"supervisor": {"reasoning_trigger": False}},
    ],
)
def test_guards_in_order_are_read(guards: dict[str, Any]) -> None:
    config = parse(AGENT_CONFIG, {"model": "m", "guards": guards})

    assert to_json(config)["guards"] == guards


@pytest.mark.parametrize(
    "loop",
    [
        {"consecutive_threshold": 4, "hard_cutoff_threshold": 4},
        {"consecutive_threshold": 6},
        {"hard_cutoff_threshold": 3},
    ],
)
def test_the_hard_cutoff_comes_after_the_nudge(loop: dict[str, int]) -> None:
    """Also against the default of the one that is left out."""
    with pytest.raises(SchemaViolation, match="hard_cutoff_threshold must exceed"):
        parse(AGENT_CONFIG, {"model": "m", "guards": {"loop_detection": loop}})


@pytest.mark.parametrize(
    ("config", "at"),
    [
        ({"guards": {"loop_detection": {"consecutive_threshold": 1}}}, "/guards/loop_detection"),
        ({"guards": {"loop_detection": {"hard_cutoff_threshold": 101}}}, "/guards/loop_detection"),
        ({"guards": {"tool_budgets": {"t": {"max_calls": -1}}}}, "/guards/tool_budgets/t"),
        ({"guards": {"tool_budgets": {"t": {"max_calls": 1001}}}}, "/guards/tool_budgets/t"),
        ({"guards": {"tool_budgets": {"": {"max_calls": 1}}}}, "/guards/tool_budgets"),
        ({"guards": {"tool_budgets": {"t" * 121: {"max_calls": 1}}}}, "/guards/tool_budgets"),
        (
            {"guards": {"tool_budgets": {f"t{n}": {"max_calls": 1} for n in range(33)}}},
            "/guards/tool_budgets",
        ),
        ({"guards": {"max_tool_turns": 0}}, "/guards/max_tool_turns"),
        ({"guards": {"max_tool_turns": 101}}, "/guards/max_tool_turns"),
        ({"guards": {"output_repairs": -1}}, "/guards/output_repairs"),
        ({"guards": {"output_repairs": 11}}, "/guards/output_repairs"),
        ({"fallback_models": ["a", "b", "c", "d"]}, "/fallback_models"),
        ({"fallback_models": [""]}, "/fallback_models/0"),
    ],
)
def test_limits_of_guards_are_named(config: dict[str, Any], at: str) -> None:
    with pytest.raises(SchemaViolation, match=f"^{at}"):
        parse(AGENT_CONFIG, {"model": "m", **config})


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"worker": "https://w.example/hook?x=1"},
        {"worker": "http://localhost:9000", "worker_secret": {"env": "SECRET"}},
        {"worker": "arn:aws:lambda:eu-west-1:123456789012:function:w:live", "decides": "engine"},
        {"worker": "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:w"},
        {"worker": "https://w.example", "worker_secret": {"secret_arn": "a"}},
        {"worker": "https://w.example", "worker_secret": {"ssm": "/a"}},
        {"worker": "https://w.example", "worker_secret": {"generate": True}},
    ],
)
def test_a_definition_in_order_is_read_and_written_alike(data: dict[str, Any]) -> None:
    definition = read_agent({"model": "m"} | data)

    assert to_json(definition) == {"model": "m"} | data


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"worker": "w.example"}, "/worker: should be an http(s) URL or a Lambda function ARN"),
        (
            {"worker": "https://u:p@w.example"},
            "/worker: should be an http(s) URL or a Lambda function ARN",
        ),
        (
            {"worker": "arn:aws:lambda:eu-west-1:1:function:w"},
            "/worker: should be an http(s) URL or a Lambda function ARN",
        ),
        ({"decides": "worker"}, "/decides: worker is set, but there is no worker"),
        ({"handler": "worker"}, "/handler: worker is set, but there is no worker"),
        ({"worker_secret": {"env": "S"}}, "/worker_secret: is set, but there is no worker"),
        (
            {"worker_secret": {}},
            "/worker_secret: needs exactly one of secret_arn, ssm, env, generate",
        ),
        (
            {"worker_secret": {"env": "S", "ssm": "/s"}},
            "/worker_secret: needs exactly one of secret_arn, ssm, env, generate",
        ),
        ({"worker_secret": {"generate": False}}, "/worker_secret/generate: should be True"),
        ({"tools": [{"name": "a", "effect": "none"}]}, "/tools/0/effect: should be "),
    ],
)
def test_a_definition_out_of_order_is_refused(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SchemaViolation) as caught:
        read_agent({"model": "m"} | data)

    assert caught.value.message.startswith(sentence)


@pytest.mark.parametrize(
    ("data", "decides"),
    [
        ({}, "engine"),
        ({"worker": "https://w.example"}, "worker"),
        ({"worker": "https://w.example", "decides": "engine"}, "engine"),
    ],
)
def test_the_worker_decides_where_there_is_one_unless_told(
    data: dict[str, Any], decides: Decides
) -> None:
    definition = read_agent({"model": "m"} | data)

    assert who_decides(definition) == decides


def test_sessions_see_a_definition_without_its_secrets() -> None:
    secret = {"worker": "https://w.example", "decides": "engine", "worker_secret": {"env": "S"}}
    definition = read_agent(WHOLE | secret)

    config = to_config(definition)

    assert type(definition) is AgentDefinition
    assert type(config) is AgentConfig
    assert to_json(config) == WHOLE
