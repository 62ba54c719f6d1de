"""A worker as its author writes it: registered, listed, invoked, posted to, and served by ASGI."""

from __future__ import annotations

import asyncio
from typing import Any

from everturn.workers import Worker

worker = Worker()


@worker.tool(effect="read")
async def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


(tool,) = worker.agent_tools()
request = {"trigger": {"type": "tool.execute", "name": "add", "arguments": '{"a": 2}'}}
invoked = worker.lambda_handler(request)
posted = worker.lambda_handler({"requestContext": {"http": {"method": "GET"}}})
sent: list[dict[str, Any]] = []


async def receive() -> dict[str, Any]:
    """Say that nothing more comes."""
    return {"type": "http.disconnect"}


async def send(message: Any) -> None:
    """Keep what is sent."""
    sent.append(message)


asyncio.run(worker.asgi({"type": "http", "method": "GET", "headers": []}, receive, send))
print(
    tool["name"],
    list(tool["input"]["properties"]),
    invoked["actions"],
    posted["statusCode"],
    sent[0]["status"],
)
