"""The tools that a run brings along, in their seven kinds. Source: runs document, section 3.

It must not resolve one: what a reference becomes is the view's business.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from everturn.protocol.json_text import compact
from everturn.protocol.limits import MAX_ID_CHARS, MAX_TOOL_NAME_CHARS, MAX_TOOLS
from everturn.protocol.runs.shape import RunsModel, size_bytes
from everturn.protocol.wire import Json, Maybe, Seq
from everturn.rejections import InvalidRequest

RunToolName = Annotated[str, Field(pattern=rf"^[a-zA-Z0-9_]{{1,{MAX_TOOL_NAME_CHARS}}}$")]
"""What the model calls a tool. Source: 3.1."""

PluginName = Annotated[
    str,
    Field(
        pattern=rf"^(@[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9_-]{{1,{MAX_TOOL_NAME_CHARS}}}$",
        max_length=MAX_ID_CHARS,
    ),
]
"""`name` or `@slug/name`. Source: agent-runs.md."""

Label = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)]
RemoteUrl = Annotated[str, Field(pattern=r"^https?://[^\s\\]+$", max_length=2048)]


class LocalTool(RunsModel):
    """A tool that the caller runs. Source: 3.1."""

    kind: Literal["local"] = "local"
    name: RunToolName
    description: Maybe[str] = None
    parameters: Maybe[Json] = None
    output_schema: Maybe[Json] = None
    long_running: Maybe[bool] = None
    read_only: Maybe[bool] = None
    """It may run beside others; any other is told once those before it are answered."""


class LocalPeer(RunsModel):
    """An A2A agent that the caller talks to; its card travels as it is. Source: 3.2."""

    kind: Literal["a2a_local"] = "a2a_local"
    name: RunToolName
    description: Maybe[str] = None
    agent_card: dict[str, Json]


class CatalogueTool(RunsModel):
    """One tool of a `tools/list` answer of MCP's."""

    name: RunToolName
    description: Maybe[str] = None
    input_schema: Maybe[Json] = None
    annotations: Maybe[dict[str, Json]] = None


class LocalCatalogue(RunsModel):
    """Tools of an MCP server that the caller talks to; `name` is no prefix. Source: 3.3."""

    kind: Literal["mcp_local"] = "mcp_local"
    name: Label
    server_info: Maybe[dict[str, Json]] = None
    tools: Annotated[Seq[CatalogueTool], Field(max_length=MAX_TOOLS)]


class RegisteredTool(RunsModel):
    """A tool of the tenant's, by its id."""

    kind: Literal["mantyx"] = "mantyx"
    id: Label


class PluginTool(RunsModel):
    """A tool of the tenant's, by its name, with or without a plugin's before it."""

    kind: Literal["mantyx_plugin"] = "mantyx_plugin"
    name: PluginName


class RemotePeer(RunsModel):
    """An A2A agent that the engine is to talk to."""

    kind: Literal["a2a"] = "a2a"
    name: RunToolName
    agent_card_url: RemoteUrl
    description: Maybe[str] = None
    headers: Maybe[dict[str, str]] = None
    context_id: Maybe[str] = None


class RemoteCatalogue(RunsModel):
    """An MCP server that the engine is to talk to."""

    kind: Literal["mcp"] = "mcp"
    name: RunToolName
    url: RemoteUrl
    headers: Maybe[dict[str, str]] = None
    tool_filter: Maybe[Seq[str]] = None


ToolRef = Annotated[
    LocalTool
    | LocalPeer
    | LocalCatalogue
    | RegisteredTool
    | PluginTool
    | RemotePeer
    | RemoteCatalogue,
    Field(discriminator="kind"),
]
ToolRefs = Annotated[Seq[ToolRef], Field(max_length=MAX_TOOLS)]


def plugin_tool(name: str) -> str:
    """Return the name under which a tenant has a plugin's tool."""
    return name.rpartition("/")[2]


def echo_bytes(ref: Mapping[str, Any]) -> int:
    """Return how much of a reference, as JSON, comes back with each of its calls."""
    told = [ref.get("agentCard"), ref.get("serverInfo")]
    told += [tool.get("annotations") for tool in ref.get("tools") or ()]
    return sum(size_bytes(compact(one)) for one in told if one is not None)


def names_of(refs: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each name that the model is to see, with its path; `refs` are `ToolRef`s as JSON.

    What a remote catalogue holds is not known yet.
    """
    for at, ref in enumerate(refs):
        match ref["kind"]:
            case "mcp_local":
                for inner, tool in enumerate(ref["tools"]):
                    yield tool["name"], f"/tools/{at}/tools/{inner}/name"
            case "mantyx":
                yield ref["id"], f"/tools/{at}/id"
            case "mantyx_plugin":
                yield plugin_tool(ref["name"]), f"/tools/{at}/name"
            case "mcp":
                pass
            case _:
                yield ref["name"], f"/tools/{at}/name"


def check_names(refs: Iterable[Mapping[str, Any]]) -> None:
    """Accept references of which no two become tools of one name. Raises `InvalidRequest`."""
    seen: dict[str, str] = {}
    for name, path in names_of(refs):
        if name in seen:
            raise InvalidRequest(f"{path}: {seen[name]} has the same name; each should be its own")
        seen[name] = path
