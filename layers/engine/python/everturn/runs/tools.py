"""Tool references of a run as tools of the core, and what a caller is sent back with a call.

It must not run a tool. Source: runs document, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from everturn.protocol.json_text import compact
from everturn.protocol.limits import LOCAL_TOOL_TIMEOUT_S
from everturn.protocol.runs.tool_refs import plugin_tool
from everturn.protocol.wire import Json
from everturn.rejections import InvalidRequest, InvalidToolSchema, NotYetSupported
from everturn.tools.schema import compile_schema

Ref = Mapping[str, Any]
"""A `ToolRef` as JSON."""

Tool = dict[str, Any]
"""An `AgentTool` as JSON."""

LONG_RUNNING: Final = (
    "NOTE: This is a long-running operation. Do not call this tool again if it has already "
    "returned an intermediate or pending status."
)
"""Source: 3.1, which fixes the wording."""

MAX_SKILLS: Final = 12
"""Skills of a peer that its description names. Source: 3.2."""

MAX_TOLD_SCHEMA_CHARS: Final = 4000
"""Longest output schema that a description spells out."""

ANYTHING: Final[dict[str, Json]] = {"type": "object", "properties": {}}
"""Stands for parameters that are no schema of an object. Source: 3.1."""

TASK: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {"message": {"type": "string", "description": "The task in plain words."}},
    "required": ["message"],
    "additionalProperties": False,
}
"""What a peer is called with. Source: 4.3.2."""

RETRY: Final = {
    "timeout_secs": LOCAL_TOOL_TIMEOUT_S,
    "max_retries": 1,
    "backoff_base_secs": 0,
    "backoff_max_secs": 0,
}
"""One attempt, for as long as a caller is waited for. Source: section 5."""


def tools_of(refs: Sequence[Ref], registered: Mapping[str, Mapping[str, Any]]) -> list[Tool]:
    """Return the tools that `refs` bring along, in their order; `registered` are the tenant's.

    Raises `InvalidRequest` for an unknown name and a schema that does not compile,
    `NotYetSupported` for a remote server or peer.
    """
    return [tool for at, ref in enumerate(refs) for tool in _tools(ref, f"/tools/{at}", registered)]


def _tools(
    ref: Ref, at: str, registered: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    match ref["kind"]:
        case "local":
            yield _local(ref, at)
        case "a2a_local":
            told = ref.get("description") or _peer(ref)
            yield _client_tool(ref["name"], told, TASK, overlap=True)
        case "mcp_local":
            yield from map(_catalogued, ref["tools"])
        case "mantyx":
            yield _registered(ref["id"], f"{at}/id", registered)
        case "mantyx_plugin":
            yield _registered(plugin_tool(ref["name"]), f"{at}/name", registered)
        case kind:
            raise NotYetSupported(
                f"{at}: tools of kind {kind} are not run yet",
                hint="call the remote side yourself: a2a_local and mcp_local",
            )


def _local(ref: Ref, at: str) -> Tool:
    description = [ref.get("description")]
    parameters = _object_schema(ref.get("parameters")) or ANYTHING
    check_schema(parameters, f"{at}/parameters")
    tool = _client_tool(ref["name"], "", parameters, overlap=bool(ref.get("readOnly")))
    output = _object_schema(ref.get("outputSchema"))
    if output is not None:
        check_schema(output, f"{at}/outputSchema")
        tool["output"] = output
        spelled = compact(output)
        if len(spelled) <= MAX_TOLD_SCHEMA_CHARS:
            description.append(f"Returns JSON that fits this schema: {spelled}")
    if ref.get("longRunning"):
        description.append(LONG_RUNNING)
    return {**tool, "description": "\n\n".join(text for text in description if text)}


def _catalogued(tool: Mapping[str, Any]) -> Tool:
    """Return a tool of a catalogue: its schema is others' and goes on as it is. Source: 3.3.

    One that cannot be used for checks is not: the server that made it looks at the arguments.
    """
    given, hints = tool.get("inputSchema"), tool.get("annotations")
    reads = isinstance(hints, Mapping) and hints.get("readOnlyHint") is True
    told = tool.get("description") or ""
    if given is None or given == {}:
        return _client_tool(tool["name"], told, overlap=reads)
    if isinstance(given, dict) and "type" not in given:
        given = {"type": "object", **given}
    schema = _object_schema(given) or ANYTHING
    return _client_tool(tool["name"], told, schema, overlap=reads)


def _client_tool(name: str, description: str, schema: Json = None, *, overlap: bool) -> Tool:
    """Return a tool that the caller runs: one after another, unless it only reads."""
    tool: Tool = {"name": name, "description": description}
    if schema is not None:
        tool["input"] = schema
    return {**tool, "handler": "client", "overlap": overlap, "retry": dict(RETRY)}


def _peer(ref: Ref) -> str:
    card = ref["agentCard"]
    task = f"Delegate a task to {_text(card, 'name') or ref['name']}"
    told = _text(card, "description")
    skills = card.get("skills")
    lines = [f"{task}: {told}" if told else task]
    for skill in skills[:MAX_SKILLS] if isinstance(skills, list) else ():
        if isinstance(skill, dict) and (name := _text(skill, "name") or _text(skill, "id")):
            about = _text(skill, "description")
            lines.append(f"- {name}: {about}" if about else f"- {name}")
    return "\n".join(lines)


def _text(of: Mapping[str, Any], key: str) -> str:
    """Return a text of a document that others made, nothing where it has another form."""
    found = of.get(key)
    return found.strip() if isinstance(found, str) else ""


def _registered(name: str, at: str, registered: Mapping[str, Mapping[str, Any]]) -> Tool:
    tool = registered.get(name)
    if tool is None:
        raise InvalidRequest(f"{at}: there is no registered tool {name}")
    return dict(tool)


def _object_schema(given: Json) -> dict[str, Json] | None:
    """Return a schema whose root is an object, nothing in its place. Source: 3.1."""
    return given if isinstance(given, dict) and given.get("type") == "object" else None


def check_schema(schema: dict[str, Json], at: str) -> None:
    """Accept a schema that can be used for checks. Raises `InvalidRequest`."""
    try:
        compile_schema(schema)
    except InvalidToolSchema as error:
        inner = error.message.removeprefix("/") if error.message[:2] == "/:" else error.message
        raise InvalidRequest(f"{at}{inner}") from None


def echo_of(refs: Sequence[Ref], name: str) -> dict[str, Any] | None:
    """Return what a `local_tool_call` says of the tool beside its name, nothing of other tools.

    What the caller sent of an agent or a server is in it as it came. Source: 4.3.
    """
    for ref in refs:
        match ref["kind"]:
            case "local" if ref["name"] == name:
                return {"kind": "local"}
            case "a2a_local" if ref["name"] == name:
                return {"kind": "a2a_local", "agentCard": ref["agentCard"]}
            case "mcp_local":
                tool = next((one for one in ref["tools"] if one["name"] == name), None)
                if tool is not None:
                    return _mcp_echo(ref, tool)
            case _:
                pass
    return None


def _mcp_echo(ref: Ref, tool: Mapping[str, Any]) -> dict[str, Any]:
    echo = {"kind": "mcp_local", "mcpServer": ref["name"], "mcpToolName": tool["name"]}
    if ref.get("serverInfo") is not None:
        echo["mcpServerInfo"] = ref["serverInfo"]
    if tool.get("annotations") is not None:
        echo["annotations"] = tool["annotations"]
    return echo
