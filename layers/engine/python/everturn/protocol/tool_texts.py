"""What a model reads when a tool call could not be made or its result not be used; wording only."""

from collections.abc import Iterable, Mapping
from typing import Any


def invalid_arguments_text(name: str, violation: str) -> str:
    """Word `invalid` arguments; `violation` is as in `/city: required`. Source: 8.4."""
    return f"Arguments for {name} do not fit its schema: {violation}"


def malformed_arguments_text(name: str, reason: str) -> str:
    """Word `malformed` arguments. Source: 8.4."""
    return f"Arguments for {name} are not a JSON object: {reason}"


def unfit_arguments_text(name: str, checked: Mapping[str, Any]) -> str | None:
    """Word what is wrong with arguments, None for nothing; `checked` is a `ToolInput` as JSON."""
    match checked["status"]:
        case "invalid":
            return invalid_arguments_text(name, checked["error"])
        case "malformed":
            return malformed_arguments_text(name, checked["error"])
        case _:
            return None


def needs_message_text(name: str) -> str:
    """Word a sub-agent call that brings nothing to hand on. Source: 8.7, L-5."""
    return f'{name} is an agent: call it with {{"message": "…"}}, a text that is not empty'


def undeclared_tool_text(name: str, available: Iterable[str]) -> str:
    """Word a call of a tool that was not declared; `available` in config order. Source: 8.4."""
    return f"There is no tool named {name}. Available: {', '.join(available) or 'none'}"


def invalid_result_text(name: str, violation: str) -> str:
    """Word a result that breaks the tool's `output` schema; the value stays unsaid. Source: U-9."""
    return f"Result of {name} does not fit its output schema: {violation}"
