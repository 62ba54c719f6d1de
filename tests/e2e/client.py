"""A tenant's client over HTTP: what a user of the API would write, and no more."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from e2e.socket_client import Socket
from e2e.waiting import PATIENCE_S, until
from published import check_answer

PATIENT: dict[str, Any] = {
    "timeout_secs": 30,
    "max_retries": 3,
    "backoff_base_secs": 0,
    "backoff_max_secs": 0,
}
"""A retry policy that does not wait."""


_GATEWAYS_OWN = re.compile(rb'\{"message": ?"[^"]*"\}')
"""How API Gateway words an error of its own."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that was accepted."""

    session_id: str
    turn_id: str


@dataclass(slots=True)
class Client:
    """One tenant with one API key; every session it opens is remembered."""

    http_url: str
    ws_url: str
    api_key: str
    tenant: str
    touched: dict[str, None] = field(default_factory=dict)
    left_open: set[str] = field(default_factory=set)
    """Sessions whose turn a test leaves open on purpose."""

    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        """Keep connections open among requests."""
        headers = {
            "authorization": f"Bearer {self.api_key}",
            "content-type": "application/json",
        }
        self.http = httpx.Client(
            base_url=self.http_url,
            headers=headers,
            timeout=30,
            event_hooks={"response": [judged]},
        )

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def put_agent(self, agent_id: str = "demo", **definition: Any) -> httpx.Response:
        """Write an agent that the engine decides for, by default without tools."""
        whole = {"model": "demo", "decides": "engine", "stream": True, **definition}
        return self.http.put(f"/v1/agents/{agent_id}", json=whole)

    def post(self, body: Any) -> httpx.Response:
        """Post an input as it is."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = self.http.post("/v1/sessions/input", content=content)
        if response.status_code == httpx.codes.ACCEPTED:
            self.touched[response.json()["session_id"]] = None
        return response

    def say(
        self,
        text: str,
        session_id: str | None = None,
        turn_id: str | None = None,
        agent_id: str = "demo",
        **more: Any,
    ) -> httpx.Response:
        """Post one user message."""
        return self.post(message_body(text, session_id, turn_id, agent_id, **more))

    def start(
        self, text: str, session_id: str | None = None, turn_id: str | None = None, **more: Any
    ) -> Turn:
        """Post one user message, which is to be accepted."""
        response = self.say(text, session_id, turn_id, **more)
        assert response.status_code == httpx.codes.ACCEPTED, response.text
        accepted = response.json()
        return Turn(accepted["session_id"], accepted["turn_id"])

    def run(
        self, text: str, session_id: str | None = None, within_s: float = PATIENCE_S, **more: Any
    ) -> Ended:
        """Run a whole turn."""
        return self.end_of(self.start(text, session_id, **more), within_s)

    def end_of(self, turn: Turn, within_s: float = PATIENCE_S) -> Ended:
        """Wait for the end of a turn; return how it went."""
        seen: list[dict[str, Any]] = []

        def more() -> bool:
            after = seen[-1]["seq"] if seen else 0
            seen.extend(self.events(turn.session_id, turn.turn_id, after))
            return any(one["payload"]["type"] == "turn.completed" for one in seen)

        until(more, within_s=within_s)
        return Ended(turn, seen)

    def idle(self, session_id: str, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until a session has no open turn; return it as `GET` shows it."""
        return until(lambda: self.session(session_id), lambda one: "turn_id" not in one, within_s)

    def session(self, session_id: str) -> dict[str, Any]:
        """Return a session."""
        response = self.http.get(f"/v1/sessions/{session_id}")
        assert response.status_code == httpx.codes.OK, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def messages(self, session_id: str) -> list[dict[str, Any]]:
        """Return all of a session's messages, page by page from the newest back."""
        found: list[dict[str, Any]] = []
        query: dict[str, Any] = {}
        while True:
            response = self.http.get(f"/v1/sessions/{session_id}", params=query)
            assert response.status_code == httpx.codes.OK, response.text
            page = response.json()
            found = [*page["messages"], *found]
            if "before_seq" not in page:
                return found
            query = {"before": page["before_seq"]}

    def page(self, session_id: str, **query: Any) -> httpx.Response:
        """Ask for one page of events."""
        return self.http.get(f"/v1/sessions/{session_id}/events", params=query)

    def events(
        self, session_id: str, turn_id: str | None = None, after: int = 0
    ) -> list[dict[str, Any]]:
        """Return the events behind a place of a session, or of one turn of it."""
        scope = {"turn_id": turn_id} if turn_id else {}
        found: list[dict[str, Any]] = []
        more = True
        while more:
            response = self.page(session_id, after_seq=after, limit=500, **scope)
            assert response.status_code == httpx.codes.OK, response.text
            body = response.json()
            found += body["events"]
            after, more = body["next_after_seq"], body["more"]
        return found

    def connect(self) -> Socket:
        """Open a WebSocket; use it as a context manager."""
        return Socket(self.ws_url, self.api_key, self.touched)


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn that is over, with its events."""

    turn: Turn
    events: list[dict[str, Any]]

    @property
    def session_id(self) -> str:
        """Of the turn."""
        return self.turn.session_id

    @property
    def completed(self) -> dict[str, Any]:
        """The payload of `turn.completed`."""
        return self.only("turn.completed")

    @property
    def answer(self) -> Any:
        """What the turn ended with."""
        return self.completed.get("data")

    def all(self, event_type: str) -> list[dict[str, Any]]:
        """Return the payloads of a type."""
        return [e["payload"] for e in self.events if e["payload"]["type"] == event_type]

    def only(self, event_type: str) -> dict[str, Any]:
        """Return the payload of the one event of a type."""
        (found,) = self.all(event_type)
        return found

    def tool_texts(self) -> list[str]:
        """Return what the model reads of each tool call, in the order it was written."""
        made = [payload["message"] for payload in self.all("message.new")]
        return [message["content"] for message in made if message["role"] == "tool"]


def judged(response: httpx.Response) -> None:
    """Hold an answer against the published description; API Gateway's own words are not in it."""
    request = response.request
    body = response.read()
    if not _GATEWAYS_OWN.fullmatch(body):
        media = response.headers.get("content-type", "")
        check_answer(request.method, request.url.path, response.status_code, media, body)


def message_body(
    text: str,
    session_id: str | None = None,
    turn_id: str | None = None,
    agent_id: str = "demo",
    **more: Any,
) -> dict[str, Any]:
    """Return the body that sends one user message."""
    named: Mapping[str, str] = {"session_id": session_id} if session_id else {}
    turn = {"turn_id": turn_id} if turn_id else {}
    message = {"role": "user", "content": text}
    wanted = {"type": "client.message", "agent_id": agent_id, "message": message, **turn, **more}
    return {**named, "input": wanted}


def new_id(kind: str) -> str:
    """Return an id that nothing else has."""
    return f"{kind}.{uuid.uuid4().hex[:12]}"
