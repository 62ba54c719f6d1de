"""Plays one real turn against a local runtime and shows it; the turn itself is any client's."""

from __future__ import annotations

from typing import Any

import httpx
from rich.console import Console

from everturn_local.bootstrap import DEMO_AGENT, Access
from everturn_local.following import follow
from everturn_local.runtime import LocalRuntime
from everturn_local.showing import TurnPrinter, cost_table

MESSAGE = (
    "[[think:Two tools will tell me.]][[sleep:300]][[say:Let me look that up.]][[sleep:300]]"
    '[[call:clock {"timezone":"Asia/Tokyo"}]]'
    '[[call:convert {"value":26.2,"from":"mi","to":"km"}]]'
    "[[say:Here is what ]][[sleep:150]][[say:I found, ]][[sleep:150]][[say:word by word: ]]"
    "[[sleep:150]][[say:{{results}}]]"
)
"""A script for the demo model, which plays what the message says: see docs/demo-model.md."""

TIMEOUT_S = 60.0


def play(console: Console, runtime: LocalRuntime, access: Access) -> dict[str, Any]:
    """Send the message over HTTP, follow it over a WebSocket; returns the turn's last payload.

    Raises `httpx.HTTPError`, `TurnNotFinished`.
    """
    before = runtime.meter.snapshot()
    body = {
        "input": {
            "type": "client.message",
            "agent_id": DEMO_AGENT,
            "message": {"role": "user", "content": MESSAGE},
            "stream": True,
        }
    }
    url = f"{access.http_url}/v1/sessions/input"
    console.print(f"[bold]POST[/] {url}", highlight=False)
    response = httpx.post(url, json=body, headers=access.headers, timeout=30)
    response.raise_for_status()
    accepted = response.json()
    console.print(f"     {response.status_code} {accepted}", highlight=False)
    console.print(f"[bold]WebSocket[/] {access.ws_url}", highlight=False)
    printer = TurnPrinter(console)
    last: dict[str, Any] = {}
    for frame in follow(access, accepted["session_id"], accepted["turn_id"], TIMEOUT_S):
        printer.show(frame)
        last = frame
    console.print()
    console.print(cost_table(runtime.meter.snapshot().minus(before)))
    payload: dict[str, Any] = last["event"]["payload"]
    return payload
