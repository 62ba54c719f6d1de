"""An MCP server on standard input and output, with two tools; clients under test start it."""

from __future__ import annotations

from mcp.server import MCPServer

server = MCPServer("files")


@server.tool()
def read_file(path: str) -> str:
    """Read a file."""
    return f"content of {path}"


@server.tool()
def fail() -> str:
    """Fail whatever is asked."""
    raise ValueError("the disk is gone")


if __name__ == "__main__":
    server.run("stdio")
