"""What a worker can do: its tools, its polls, its handlers of other triggers; it runs none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from everturn.errors import RejectedError
from everturn.protocol.wire import parse
from everturn.workers.tools import Poll, Tool, output_of

TRIGGERS: Final = (
    "session.start",
    "client.messages",
    "client.action",
    "tool.finished",
    "llm.execute",
    "llm.finished",
    "sub_agent.finished",
    "interrupt.resumed",
)
"""The triggers that may have a handler; `tool.execute` and `tool.poll` go to functions."""

Handler = Callable[[dict[str, Any]], Any]
"""Decision request -> decision response as a mapping or a model, or None to accept `proposed`."""


class Registry:
    """Everything that was registered, by name."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.polls: dict[str, Poll] = {}
        self.handlers: dict[str, Handler] = {}

    def add_tool(self, tool: Tool) -> None:
        """Register a tool. Raises `ValueError` for a name that is taken."""
        if tool.name in self.tools:
            raise ValueError(f"there is a tool named {tool.name} already")
        self.tools[tool.name] = tool

    def add_poll(self, poll: Poll) -> None:
        """Register a poll. Raises `ValueError` for a second one of a tool."""
        if poll.tool in self.polls:
            raise ValueError(f"there is a poll for {poll.tool} already")
        self.polls[poll.tool] = poll

    def check_trigger(self, trigger: str) -> None:
        """Accept a trigger that may have a handler. Raises `ValueError`."""
        if trigger not in TRIGGERS:
            raise ValueError(f"no trigger is named {trigger}; there are {', '.join(TRIGGERS)}")

    def add_handler(self, trigger: str, handler: Handler) -> None:
        """Register a handler. Raises `ValueError` for a second one of a trigger."""
        if trigger in self.handlers:
            raise ValueError(f"there is a handler for {trigger} already")
        self.handlers[trigger] = handler

    def declarations(self) -> list[dict[str, Any]]:
        """Return the tools as an agent's `tools`, in the order in which they were registered.

        Raises `ValueError` for options that the engine would refuse, and for a poll without tool.
        """
        from everturn.protocol.agent import AGENT_CONFIG, check_agent  # noqa: PLC0415  20 ms

        if stray := self.polls.keys() - self.tools.keys():
            raise ValueError(f"polls of tools that there are not: {', '.join(sorted(stray))}")
        declared = [tool.declaration(self._output(tool)) for tool in self.tools.values()]
        try:
            config = parse(AGENT_CONFIG, {"model": "any", "tools": declared})
            check_agent(config, decides="engine")
        except RejectedError as error:
            raise ValueError(f"the engine would refuse these tools: {error.message}") from error
        return declared

    def _output(self, tool: Tool) -> dict[str, Any] | None:
        """Return the schema of what a tool ends with: its own, else that of its poll."""
        found = output_of(tool)
        poll = self.polls.get(tool.name)
        return output_of(poll) if found is None and poll is not None else found
