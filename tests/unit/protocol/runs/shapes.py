"""Bodies as the published clients send them, and how a test says what was refused."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from everturn.rejections import InvalidRequest

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}

LOCAL: dict[str, Any] = {
    "kind": "local",
    "name": "send_email",
    "description": "Send a mail.",
    "parameters": {
        "type": "object",
        "properties": {"to": {"type": "string", "format": "email"}},
        "required": ["to"],
        "additionalProperties": False,
    },
    "outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
    "longRunning": True,
    "readOnly": True,
    "retain": True,
}

CARD: dict[str, Any] = {
    "protocolVersion": "0.3.0",
    "name": "Acme HR",
    "description": "Answers questions about HR.",
    "url": "https://hr.intranet.acme/a2a",
    "capabilities": {"streaming": False},
    "skills": [
        {"id": "pto", "name": "PTO lookup", "description": "Finds days left.", "tags": ["hr"]},
        {"id": "pay", "name": "Payslips"},
    ],
    "x-new": {"kept": None},
}

PEER: dict[str, Any] = {"kind": "a2a_local", "name": "hr", "agentCard": CARD}

CATALOGUE: dict[str, Any] = {
    "kind": "mcp_local",
    "name": "fs",
    "serverInfo": {"name": "mcp-server-filesystem", "version": "0.4.1", "x-new": [1]},
    "tools": [
        {
            "name": "fs_read_file",
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
            "description": "Read a file.",
            "annotations": {"readOnlyHint": True, "x-new": None},
        },
        {"name": "fs_roots", "inputSchema": {"type": "object"}},
    ],
}

REGISTERED: dict[str, Any] = {"kind": "mantyx", "id": "tool_1"}
PLUGIN: dict[str, Any] = {"kind": "mantyx_plugin", "name": "@github/search_repos"}
REMOTE_PEER: dict[str, Any] = {
    "kind": "a2a",
    "name": "peer",
    "agentCardUrl": "https://peer.example/.well-known/agent-card.json",
    "description": "A peer.",
    "headers": {"Authorization": "Bearer x"},
    "contextId": "c1",
}
REMOTE_CATALOGUE: dict[str, Any] = {
    "kind": "mcp",
    "name": "docs",
    "url": "https://mcp.example/mcp",
    "headers": {"Authorization": "Bearer x"},
    "toolFilter": ["search"],
}
ALL_TOOLS = [LOCAL, PEER, CATALOGUE, REGISTERED, PLUGIN, REMOTE_PEER, REMOTE_CATALOGUE]

SPEC: dict[str, Any] = {
    "tools": ALL_TOOLS,
    "systemPrompt": "Be brief.",
    "agentId": "helper",
    "name": "nightly",
    "modelId": "openai:gpt-5.5",
    "fallbackModelId": "anthropic:claude-opus-5",
    "reasoningLevel": "medium",
    "outputSchema": {"name": "report", "schema": EMPTY, "enforcement": "strict"},
    "loopDetection": {"consecutiveThreshold": 4, "hardCutoffThreshold": 8},
    "toolBudgets": {"send_email": {"maxCalls": 2}},
    "supervisor": {"interval": 3, "reasoningTrigger": {"chars": 100, "ms": 200}},
    "plan": {"mode": "auto", "brief": "Move it.", "steps": ["Copy", "Check"]},
    "budgets": {"maxToolTurns": 12},
    "metadata": {"customer": "acme"},
}


def data_of(count: int) -> str:
    """Return so many bytes in base64."""
    return base64.b64encode(b"a" * count).decode()


def image(**more: Any) -> dict[str, Any]:
    """Return a file by value."""
    return {
        "type": "input_file",
        "mimeType": "image/png",
        "filename": "a.png",
        "data": data_of(3),
        **more,
    }


def linked(**more: Any) -> dict[str, Any]:
    """Return a file by its link."""
    return {"type": "input_file_url", "url": "https://example.com/a.pdf", **more}


def with_files(*files: dict[str, Any]) -> dict[str, Any]:
    """Return a run as the clients send a prompt that has files."""
    return {"messages": [{"role": "user", "content": "Look.", "attachments": list(files)}]}


def refusal(reader: Callable[[Any], Any], data: Any) -> str:
    """Return the message with which `data` is refused."""
    with pytest.raises(InvalidRequest) as refused:
        reader(data)
    return refused.value.message
