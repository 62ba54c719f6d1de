"""An EventSource over HTTP: it comes back with the last id it saw."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from e2e.client import Client


@dataclass(slots=True)
class Reader:
    """One reader of one session."""

    client: Client
    session_id: str
    query: dict[str, Any] = field(default_factory=dict)
    last_id: str = ""
    frames: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    retry_ms: int | None = None

    def come_back(self) -> httpx.Response:
        """Ask once; take in what comes."""
        headers = {"accept": "text/event-stream"}
        if self.last_id:
            headers["last-event-id"] = self.last_id
        response = self.client.http.get(
            f"/v1/sessions/{self.session_id}/events", params=self.query, headers=headers
        )
        for block in response.text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if "retry" in lines:
                self.retry_ms = int(lines["retry"])
            if "data" in lines:
                self.last_id = lines["id"]
                self.frames.append((lines["id"], lines["event"], json.loads(lines["data"])))
        return response

    def events(self) -> list[dict[str, Any]]:
        """Return the envelopes."""
        return [data for _, event, data in self.frames if event != "llm.token.delta"]

    def text(self) -> str:
        """Return what the deltas say."""
        deltas = [data for _, event, data in self.frames if event == "llm.token.delta"]
        return "".join(delta.get("text") or "" for delta in deltas)

    def after(self, last_id: str) -> list[tuple[str, str, dict[str, Any]]]:
        """Return the frames behind the one of that id."""
        ids = [place for place, _, _ in self.frames]
        return self.frames[ids.index(last_id) + 1 :]
