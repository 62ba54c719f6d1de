"""Each limit of a body: one below it, at it, one above it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from everturn.protocol import limits
from everturn.protocol.runs.bodies import (
    read_feedback,
    read_run,
    read_tool_result,
)
from unit.protocol.runs.shapes import image, refusal, with_files

Make = Callable[[int], dict[str, Any]]


def run(field: str, value: Callable[[int], Any]) -> Make:
    """Return what makes a run whose field depends on a number."""
    return lambda number: {"prompt": "Hi", field: value(number)}


def names(count: int) -> list[str]:
    return [f"n{at}" for at in range(count)]


def sized_schema(size: int) -> dict[str, Any]:
    """Return an output schema of so many bytes as compact JSON."""
    least = len('{"schema":{"title":""}}')
    return {"schema": {"title": "x" * (size - least)}}


def card(size: int) -> dict[str, Any]:
    """Return an agent card of so many bytes as compact JSON."""
    return {"name": "x" * (size - len('{"name":""}'))}


def budget(number: int) -> dict[str, Any]:
    return {"t": {"maxCalls": number}}


MOST: dict[str, tuple[Make, int, str]] = {
    "name": (run("name", lambda n: "x" * n), limits.MAX_RUN_NAME_CHARS, "/name"),
    "agentId": (run("agentId", lambda n: "x" * n), limits.MAX_ID_CHARS, "/agentId"),
    "modelId": (run("modelId", lambda n: "x" * n), limits.MAX_MODEL_ID_CHARS, "/modelId"),
    "fallbackModelId": (
        run("fallbackModelId", lambda n: "x" * n),
        limits.MAX_MODEL_ID_CHARS,
        "/fallbackModelId",
    ),
    "metadata": (
        run("metadata", lambda n: dict.fromkeys(names(n), "")),
        limits.MAX_RUN_METADATA,
        "/metadata",
    ),
    "metadata key": (
        run("metadata", lambda n: {"k" * n: "v"}),
        limits.MAX_RUN_METADATA_KEY_CHARS,
        "/metadata",
    ),
    "metadata value": (
        run("metadata", lambda n: {"k": "v" * n}),
        limits.MAX_RUN_METADATA_VALUE_CHARS,
        "/metadata",
    ),
    "outputSchema": (
        run("outputSchema", sized_schema),
        limits.MAX_OUTPUT_SCHEMA_BYTES,
        "/outputSchema",
    ),
    "outputSchema name": (
        run("outputSchema", lambda n: {"schema": {}, "name": "x" * n}),
        64,
        "/outputSchema/name",
    ),
    "soft": (
        run(
            "loopDetection",
            lambda n: {"consecutiveThreshold": n, "hardCutoffThreshold": min(n + 1, 100)},
        ),
        limits.MAX_LOOP_THRESHOLD - 1,  # the other one has to be above it
        "/loopDetection",
    ),
    "hard": (
        run("loopDetection", lambda n: {"hardCutoffThreshold": n}),
        limits.MAX_LOOP_THRESHOLD,
        "/loopDetection/hardCutoffThreshold",
    ),
    "toolBudgets": (
        run("toolBudgets", lambda n: {name: {"maxCalls": 1} for name in names(n)}),
        limits.MAX_TOOL_BUDGETS,
        "/toolBudgets",
    ),
    "toolBudgets key": (
        run("toolBudgets", lambda n: {"x" * n: {"maxCalls": 1}}),
        limits.MAX_BUDGETED_NAME_CHARS,
        "/toolBudgets",
    ),
    "maxCalls": (run("toolBudgets", budget), 1000, "/toolBudgets/t/maxCalls"),
    "maxToolTurns": (
        run("budgets", lambda n: {"maxToolTurns": n}),
        limits.MAX_TOOL_TURNS,
        "/budgets/maxToolTurns",
    ),
    "interval": (
        run("supervisor", lambda n: {"interval": n}),
        limits.MAX_SUPERVISOR_INTERVAL,
        "/supervisor/interval",
    ),
    "chars": (
        run("supervisor", lambda n: {"reasoningTrigger": {"chars": n}}),
        limits.MAX_REASONING_TRIGGER_CHARS,
        "/supervisor/reasoningTrigger/chars",
    ),
    "ms": (
        run("supervisor", lambda n: {"reasoningTrigger": {"ms": n}}),
        limits.MAX_REASONING_TRIGGER_MS,
        "/supervisor/reasoningTrigger/ms",
    ),
    "reasoningLevel": (
        run("reasoningLevel", lambda n: n),
        limits.MAX_REASONING_LEVEL,
        "/reasoningLevel",
    ),
    "tools": (
        run("tools", lambda n: [{"kind": "local", "name": name} for name in names(n)]),
        limits.MAX_TOOLS,
        "/tools",
    ),
    "tool name": (
        run("tools", lambda n: [{"kind": "local", "name": "x" * n}]),
        limits.MAX_TOOL_NAME_CHARS,
        "/tools/0/name",
    ),
    "catalogue": (
        run("tools", lambda n: [{"kind": "mcp_local", "name": "s", "tools": list(catalogue(n))}]),
        limits.MAX_TOOLS,
        "/tools/0/tools",
    ),
    "echo": (
        run("tools", lambda n: [{"kind": "a2a_local", "name": "x", "agentCard": card(n)}]),
        limits.MAX_ECHO_BYTES,
        "/tools/0: card, server and hints have more than",
    ),
    "spec": (
        lambda n: {"prompt": "Hi", "x": "y" * (n - len('{"x":""}'))},
        limits.MAX_AGENT_BYTES,
        "/: the spec has 2097153 bytes",
    ),
    "server label": (
        run("tools", lambda n: [{"kind": "mcp_local", "name": "s" * n, "tools": []}]),
        limits.MAX_ID_CHARS,
        "/tools/0/name",
    ),
    "messages": (
        lambda n: {"messages": [{"role": "user", "content": "x"}] * n},
        limits.MAX_VIEW_MESSAGES,
        "/messages",
    ),
    "attachments": (
        lambda n: with_files(*[image()] * n),
        limits.MAX_RUN_FILES,
        "/messages/0/attachments",
    ),
    "filename": (
        lambda n: with_files(image(filename="x" * n)),
        limits.MAX_FILENAME_BYTES,
        "/messages/0/attachments/0/filename",
    ),
    "link": (
        lambda n: with_files(
            {"type": "input_file_url", "url": "https://a.b/".ljust(n, "x")},
        ),
        limits.MAX_FILE_URL_CHARS,
        "/messages/0/attachments/0/url",
    ),
}

LEAST: dict[str, tuple[Make, int, str]] = {
    "soft": (
        run("loopDetection", lambda n: {"consecutiveThreshold": n}),
        2,
        "/loopDetection/consecutiveThreshold",
    ),
    "hard": (
        run(
            "loopDetection",
            lambda n: {"consecutiveThreshold": 2, "hardCutoffThreshold": n},
        ),
        3,
        "/loopDetection/hardCutoffThreshold",
    ),
    "maxCalls": (run("toolBudgets", budget), 0, "/toolBudgets/t/maxCalls"),
    "toolBudgets key": (
        run("toolBudgets", lambda n: {"x" * n: {"maxCalls": 1}}),
        1,
        "/toolBudgets",
    ),
    "metadata key": (run("metadata", lambda n: {"k" * n: "v"}), 1, "/metadata"),
    "maxToolTurns": (run("budgets", lambda n: {"maxToolTurns": n}), 1, "/budgets/maxToolTurns"),
    "interval": (run("supervisor", lambda n: {"interval": n}), 1, "/supervisor/interval"),
    "chars": (
        run("supervisor", lambda n: {"reasoningTrigger": {"chars": n}}),
        1,
        "/supervisor/reasoningTrigger/chars",
    ),
    "ms": (
        run("supervisor", lambda n: {"reasoningTrigger": {"ms": n}}),
        1,
        "/supervisor/reasoningTrigger/ms",
    ),
    "reasoningLevel": (run("reasoningLevel", lambda n: n), 0, "/reasoningLevel"),
}


def catalogue(count: int) -> Iterator[dict[str, Any]]:
    return ({"name": name} for name in names(count))


@pytest.mark.parametrize("case", MOST)
def test_what_is_below_or_at_the_most_is_taken(case: str) -> None:
    make, most, _ = MOST[case]

    read_run(make(most - 1))
    read_run(make(most))


@pytest.mark.parametrize("case", MOST)
def test_one_above_the_most_is_refused_by_its_path(case: str) -> None:
    make, most, path = MOST[case]

    assert refusal(read_run, make(most + 1)).startswith(path)


@pytest.mark.parametrize("case", LEAST)
def test_what_is_above_or_at_the_least_is_taken(case: str) -> None:
    make, least, _ = LEAST[case]

    read_run(make(least + 1))
    read_run(make(least))


@pytest.mark.parametrize("case", LEAST)
def test_one_below_the_least_is_refused_by_its_path(case: str) -> None:
    make, least, path = LEAST[case]

    assert refusal(read_run, make(least - 1)).startswith(path)


BYTES: dict[str, tuple[Callable[[Any], Any], Callable[[str], dict[str, Any]], int, str]] = {
    "result": (
        read_tool_result,
        lambda text: {"toolUseId": "t", "result": text},
        limits.MAX_RESULT_BYTES,
        "/result",
    ),
    "error": (
        read_tool_result,
        lambda text: {"toolUseId": "t", "error": text},
        limits.MAX_LOCAL_ERROR_BYTES,
        "/error",
    ),
    "contentSnapshot": (
        read_feedback,
        lambda text: {"verdict": "UP", "contentSnapshot": text},
        limits.MAX_SNAPSHOT_BYTES,
        "/contentSnapshot",
    ),
}


@pytest.mark.parametrize("case", BYTES)
@pytest.mark.parametrize("char", ["x", "ü"])
def test_texts_are_measured_in_bytes(case: str, char: str) -> None:
    reader, make, most, path = BYTES[case]
    fitting = char * (most // len(char.encode()))

    reader(make(fitting[:-1]))
    reader(make(fitting))
    assert refusal(reader, make(fitting + char)) == f"{path}: should have at most {most} bytes"


def test_an_explanation_is_measured_in_characters() -> None:
    def said(count: int) -> dict[str, Any]:
        return {"verdict": "DOWN", "explanation": "ü" * count}

    read_feedback(said(limits.MAX_FEEDBACK_CHARS - 1))
    read_feedback(said(limits.MAX_FEEDBACK_CHARS))
    told = refusal(read_feedback, said(limits.MAX_FEEDBACK_CHARS + 1))
    assert told.startswith("/explanation")
