"""Prints a turn as it happens, and what it cost; it asks nobody anything."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from everturn_local.usage import Line, Usage

CATEGORIES = {
    "main": "the turn itself",
    "delta": "stream output kept for an hour",
    "watch": "looking for readers and cancels",
    "push": "frames to the WebSocket",
}


class TurnPrinter:
    """Renders frames on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._streaming = ""

    def show(self, frame: dict[str, Any]) -> None:
        """Print what a frame says to a person."""
        if frame["type"] == "delta":
            self._delta(frame["delta"])
        elif frame["type"] == "event":
            payload = frame["event"]["payload"]
            self._event(payload)
            if payload["type"] == "call.wait.opened" and payload["kind"] == "question":
                self._question(payload)

    def end(self) -> None:
        """Close the line that is still open, if there is one."""
        self._end_stream()

    def _delta(self, delta: dict[str, Any]) -> None:
        text = delta.get("text") or ""
        if delta.get("reasoning"):
            self._begin("thinks")
            self._console.print(delta["reasoning"], end="", style="italic dim", markup=False)
        if text:
            self._begin("says")
            self._console.print(text, end="", style="cyan", markup=False, highlight=False)

    def _begin(self, what: str) -> None:
        if self._streaming != what:
            self._end_stream()
            self._console.print(f"  [dim]{what:>12}[/]  ", end="")
            self._streaming = what

    def _line(self, what: str, text: str, style: str = "") -> None:
        self._end_stream()
        self._console.print(f"  [dim]{what:>12}[/]  ", end="")
        self._console.print(text, style=style, markup=False, highlight=False)

    def _end_stream(self) -> None:
        if self._streaming:
            self._console.print()
            self._streaming = ""

    def _question(self, payload: dict[str, Any]) -> None:
        choices = " | ".join(payload.get("choices") or ())
        offered = f" [{choices}]" if choices else ""
        self._line("asks", f"{payload['question']}{offered}", "bold")
        self._line("wait", f"{payload['id']}, for `everturn answer`")

    def _event(self, payload: dict[str, Any]) -> None:
        match payload["type"]:
            case "turn.started":
                self._line("turn", f"{payload['turn_id']} started")
            case "message.new" if payload["message"]["role"] == "user":
                self._line("user", str(payload["message"]["content"]))
            case "llm.call.dispatched":
                self._line("model", f"call, attempt {payload['attempt']}")
            case "llm.call.errored":
                self._line("model", f"failed: {payload['error']}", "yellow")
            case "turn.completed":
                if payload.get("error"):
                    self._line("failed", payload["error"]["message"], "red")
                else:
                    self._line("answer", str(payload.get("data")), "bold")
                usage = payload.get("usage") or {}
                counted = f"{usage.get('input_tokens', 0)} in, {usage.get('output_tokens', 0)} out"
                self._line("usage", f"{counted}, cost ${payload.get('cost', '0')}")
                self._line("turn", payload["outcome"])
            case _:
                self._work(payload)

    def _work(self, payload: dict[str, Any]) -> None:
        """Print what tools and sub-agents do."""
        match payload["type"]:
            case "tool.call.requested":
                self._line("tool call", f"{payload['name']} {payload['arguments']}", "magenta")
            case "sub_agent.started":
                told = f"{payload['agent_id']}, session {payload['session_id']}"
                self._line("sub-agent", told, "magenta")
            case "tool.call.completed" | "sub_agent.turn_completed":
                self._line("result", payload.get("result", ""), "green")
            case "tool.call.errored" | "sub_agent.errored":
                self._line("error", payload["error"], "yellow")
            case "sub_agent.interrupted":
                self._line("paused", f"{payload['session_id']}: {payload['reason']}", "yellow")


def cost_table(usage: Usage) -> Table:
    """Return what a turn cost: AWS requests by operation, write and read units."""
    table = Table(title="What it cost on AWS", title_justify="left", box=None, pad_edge=False)
    table.add_column("operation")
    for name in ("requests", "write units", "read units"):
        table.add_column(name, justify="right")
    for category, meaning in CATEGORIES.items():
        lines = sorted((op, line) for (kind, op), line in usage.lines.items() if kind == category)
        if not lines:
            continue
        table.add_row(f"[dim]{meaning}[/]")
        for operation, line in lines:
            table.add_row(f"  {operation}", *_figures(line))
        if len(lines) > 1:
            table.add_row("  [bold]together[/]", *_figures(usage.total(category=category)))
    return table


def _figures(line: Line) -> tuple[str, str, str]:
    return str(line.requests), f"{line.write_units:g}", f"{line.read_units:g}"
