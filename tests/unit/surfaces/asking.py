"""The surfaces on a world in memory, and the events that API Gateway would bring."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import urlencode

from everturn.commands.agent_sessions import AgentSessions
from everturn.commands.agents import Agents
from everturn.commands.answer_later import SettleCalls, SubmitAnswer
from everturn.commands.cancel import Cancels
from everturn.commands.delete_session import DeleteSession
from everturn.commands.inbox import Inbox
from everturn.commands.interrupts import Interrupts
from everturn.commands.list_models import ListModels
from everturn.commands.list_sessions import ListSessions
from everturn.commands.mint_token import MintToken
from everturn.commands.oauth import OAuth
from everturn.commands.read_events import ReadEvents
from everturn.commands.read_run import ReadRun
from everturn.commands.read_session import ReadSession
from everturn.commands.resolve_wait import ResolveWait
from everturn.commands.run_answers import RunAnswers
from everturn.commands.run_specs import RunSpecs
from everturn.commands.session_budgets import SessionBudgets
from everturn.commands.start_run import StartRun
from everturn.commands.subscribe import Subscribe
from everturn.commands.uploads import Uploads
from everturn.ports.directory import ApiKey
from everturn.protocol.api_keys import hash_of
from everturn.push.outcome import PushOutcome, Sent
from everturn.store.memory_revocations import InMemoryRevocations
from everturn.store.memory_runs import InMemoryRuns
from everturn.store.memory_uploads import InMemoryUploads
from everturn.surfaces.agent_routes import agent_operations
from everturn.surfaces.agent_session_routes import agent_session_operations
from everturn.surfaces.budget_routes import budget_operations
from everturn.surfaces.callers import Callers
from everturn.surfaces.connections import Connections
from everturn.surfaces.decision_routes import decision_operations
from everturn.surfaces.health_routes import health_operations
from everturn.surfaces.http import HttpApi
from everturn.surfaces.http_events import EventsApi
from everturn.surfaces.http_runs import RunStreamApi
from everturn.surfaces.inbox_routes import inbox_operations
from everturn.surfaces.lifecycle_routes import lifecycle_operations
from everturn.surfaces.model_routes import model_operations
from everturn.surfaces.oauth_routes import oauth_operations
from everturn.surfaces.routes import Operation
from everturn.surfaces.run_routes import run_operations
from everturn.surfaces.session_routes import session_operations
from everturn.surfaces.token_routes import token_operations
from everturn.surfaces.upload_routes import upload_operations
from everturn.surfaces.websocket import Sockets
from everturn.tokens.jwt_tokens import JwtTokens
from published import check_answer, check_frame
from unit.drive.doubles import FrozenClock
from unit.drive.world import TENANT, World
from unit.tokens.fixed_keys import FixedKeys

API_KEY = "key-of-acme"
RIVAL_KEY = "key-of-rival"


class Surfaces:
    """One deployment's doors."""

    def __init__(self, world: World | None = None, submit: Any = None) -> None:
        self.world = world or World(clock=FrozenClock())
        world = self.world
        world.directory.put_api_key(hash_of(API_KEY), ApiKey(TENANT, "main"))
        world.directory.put_api_key(hash_of(RIVAL_KEY), ApiKey("rival", "main"))
        self.keys = FixedKeys()
        self.tokens = JwtTokens(self.keys)
        self.revocations = InMemoryRevocations()
        self.callers = Callers(world.directory, world.clock, lambda: self.tokens, self.revocations)
        events = ReadEvents(world.store, world.clock, world.clock.sleep, wait_s=1)
        catalogue = world.models.catalogue()
        agents = Agents(
            world.directory,
            world.clock,
            networks="any",
            catalogue_of=lambda _tenant: catalogue,
            forget=lambda _tenant, _agent: None,
        )
        self.submit = world.taker(submit)
        change = world.changer()
        self._is_whole = submit is None
        self.uploads = InMemoryUploads()
        self.runs = InMemoryRuns(world.store)
        self._http = HttpApi(
            self.callers,
            health_operations()
            | session_operations(self.submit, ReadSession(world.store, world.reader))
            | decision_operations(
                SubmitAnswer(change),
                SettleCalls(change),
                Interrupts(change),
                Cancels(change),
                ResolveWait(change),
            )
            | budget_operations(SessionBudgets(change, world.wake_held()), world.shared_budgets())
            | lifecycle_operations(
                ListSessions(world.store),
                DeleteSession(world.store, world.clock, lambda: world.clock.now_ms() / 1000),
            )
            | agent_operations(agents)
            | token_operations(MintToken(lambda: self.tokens, world.clock))
            | oauth_operations(
                OAuth(world.directory, self.revocations, lambda: self.tokens, world.clock)
            )
            | model_operations(ListModels(world.catalogue_of, world.tenant_record))
            | upload_operations(Uploads(self.uploads, world.clock))
            | self._of_runs(),
        )
        self._events = EventsApi(self.callers, events)
        self._run_stream = RunStreamApi(self.callers, self._read_run())
        self.frames: list[dict[str, Any]] = []
        self.outcomes: list[PushOutcome] = []
        self.slept: list[float] = []
        self.hung_up: list[str] = []
        self.sockets = Sockets(
            Connections(world.directory, self.callers, world.clock),
            self.submit,
            Subscribe(world.store, world.directory, events),
            self._post,
            self.slept.append,
            self.hung_up.append,
        )

    def _of_runs(self) -> dict[str, Operation]:
        """Return the operations of runs, of their sessions and of the inbox."""
        world, change = self.world, self.world.changer()
        specs = RunSpecs(world.directory, world.catalogue_of)
        start = StartRun(change, lambda _tenant, _facts: None)
        models = ListModels(world.catalogue_of, world.tenant_record)
        return (
            inbox_operations(Inbox(change))
            | run_operations(start, specs, self._read_run(), RunAnswers(change, self.runs), models)
            | agent_session_operations(start, specs, AgentSessions(change, self.runs))
        )

    def _read_run(self) -> ReadRun:
        world = self.world
        return ReadRun(world.store, self.runs, world.clock, world.clock.sleep, wait_s=1)

    def _post(self, connection_id: str, frame: bytes) -> PushOutcome:
        assert connection_id == "c1"
        outcome = self.outcomes.pop(0) if self.outcomes else Sent()
        if outcome == Sent():
            self.frames.append(json.loads(frame))
            check_frame(self.frames[-1])
        return outcome

    def token(self, owner: str = "u1", **more: Any) -> str:
        """Return a client token of an owner, minted with the tenant's key."""
        body = {"identity": {"id": owner}, **more}
        status, told, _ = self.http("POST", "/v1/client-tokens", body)
        assert status == 201, told
        return str(told["token"])

    def http(
        self, method: str, path: str, body: Any = None, **how: Any
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        """Return status, body and headers of an answer of `http_api`."""
        response = self._http(http_event(method, path, body, **how), None)
        self._check(method, path, response)
        headers = {name.lower(): value for name, value in response.get("headers", {}).items()}
        return response["statusCode"], json.loads(response["body"]), headers

    def events(self, session_id: str | None, **how: Any) -> dict[str, Any]:
        """Return an answer of `reader`."""
        event = http_event("GET", f"/v1/sessions/{session_id}/events", **how)
        event["pathParameters"] = {} if session_id is None else {"session_id": session_id}
        response = self._events(event)
        self._check("GET", f"/v1/sessions/{session_id}/events", response)
        return response

    def run_stream(self, run_id: str, **how: Any) -> dict[str, Any]:
        """Return an answer of `reader` about a run."""
        path = f"/api/v1/workspaces/{TENANT}/agent-runs/{run_id}/stream"
        event = http_event("GET", path, **how)
        event["pathParameters"] = {"slug": TENANT, "run_id": run_id}
        response = self._run_stream(event)
        self._check("GET", path, response)
        return response

    def _check(self, method: str, path: str, response: dict[str, Any]) -> None:
        """Hold an answer against the published description, where all parts are real."""
        if self._is_whole:
            headers = {name.lower(): value for name, value in response["headers"].items()}
            assert len(headers) == len(response["headers"]), "a header stands there twice"
            media = headers.get("content-type", "")
            check_answer(method, path, response["statusCode"], media, response.get("body", ""))

    def say(self, frame: Any) -> list[dict[str, Any]]:
        """Send a frame over `c1`; return what came back."""
        before = len(self.frames)
        text = frame if isinstance(frame, str) else json.dumps(frame)
        self.sockets.frame("c1", text)
        return self.frames[before:]


def http_event(
    method: str,
    path: str,
    body: Any = None,
    *,
    key: str | None = API_KEY,
    query: dict[str, str] | None = None,
    raw_query: str = "",
    headers: dict[str, str] | None = None,
    encoded: bool = False,
) -> dict[str, Any]:
    """Return an event of an HTTP API, payload format 2.0; `raw_query` may repeat a name."""
    text = body if isinstance(body, str) or body is None else json.dumps(body)
    if encoded and text is not None:
        text = base64.b64encode(text.encode()).decode()
    named = {} if key is None else {"authorization": f"Bearer {key}"}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": raw_query or urlencode(query or {}),
        "headers": {**named, **(headers or {})},
        "queryStringParameters": query or {},
        "requestContext": {"http": {"method": method, "path": path}, "stage": "$default"},
        "body": text,
        "isBase64Encoded": encoded,
    }
