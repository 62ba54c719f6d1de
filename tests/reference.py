"""The public schema of decisions as a judge, where it lies beside the repository.

It is bent where we differ knowingly: our own fields, parts of seconds in a retry policy, and nodes
of the tree without a kind.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parents[2] / "shared" / "reference" / "protocol.schema.json"

OURS: dict[str, set[str]] = {
    "AgentConfig": {
        "on_failure",
        "on_truncated",
        "output_schema",
        "parallel_tool_calls",
        "tool_choice",
        "reasoning",
        "temperature",
        "stop",
        "max_completion_tokens",
        "fallback_models",
        "guards",
        "plan_mode",
        "compaction",
        "builtins",
        "mcp",
        "a2a",
        "hooks",
        "models",
        "approve_writes",
        "budgets",
        "question_deadline_secs",
    },
    "AgentTool": {"effect", "approval", "overlap", "retry", "timeout_secs"},
    "LlmRequest": {"stop", "output_schema", "parallel_tool_calls", "tool_choice"},
    "tool.execute": {"idempotency_key", "answers", "continuation"},
}
"""Fields that the reference does not have, by definition or by tag."""

OUR_TRIGGERS = frozenset({"tool.poll"})
"""Triggers that the reference does not have. Source: decision-protocol O-12."""


def is_at_hand() -> bool:
    """Tell whether the reference lies beside the repository."""
    return SCHEMA.exists()


@lru_cache
def definitions() -> dict[str, Any]:
    """Return the reference's definitions as they are."""
    found: dict[str, Any] = json.loads(SCHEMA.read_text())["$defs"]
    return found


def complaints(name: str, value: Any) -> list[str]:
    """Return what does not fit a definition; nothing where the reference is not at hand."""
    if not is_at_hand():
        return []
    found = sorted(_judge(name).iter_errors(value), key=lambda one: -len(one.path))
    return [f"{one.json_path}: {one.message[:300]}" for one in found]


@lru_cache
def _judge(name: str) -> Draft202012Validator:
    bent = json.loads(json.dumps(definitions()))
    members = {one["properties"]["type"]["const"]: one for one in bent["DecisionTrigger"]["oneOf"]}
    for where, fields in OURS.items():
        (bent | members)[where]["properties"] |= {field: {} for field in fields}
    for field in bent["RetryPolicy"]["properties"]:  # the reference says `number` for all of them
        bent["RetryPolicy"]["properties"][field] = {"type": ["number", "null"]}
    bent["Node"] = {
        "type": "object",
        "properties": {
            "message": {"$ref": "#/$defs/Message"},
            "parent_id": {"type": ["string", "null"]},
        },
        "required": ["message"],
        "additionalProperties": False,
    }
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": bent})
