"""Use cases to what the functions of the two APIs call; nothing is decided here.

Imports stand inside the functions: a Lambda pays at its cold start for what it uses, and no more.
"""

from __future__ import annotations

import time
from functools import lru_cache
from random import uniform
from typing import TYPE_CHECKING, Any

from everturn.wiring.adapters import directory, push, store
from everturn.wiring.clients import CLOCK
from everturn.wiring.use_cases import (
    agent_sessions,
    agents,
    callers,
    cancels,
    delete_session,
    inbox,
    interrupts,
    list_models,
    list_sessions,
    mint_token,
    oauth,
    read_events,
    read_run,
    read_session,
    resolve_wait,
    run_answers,
    run_specs,
    session_budgets,
    settle_calls,
    shared_budgets,
    start_run,
    submit_answer,
    take_input,
    uploads,
)

if TYPE_CHECKING:
    from everturn.surfaces.http import HttpApi
    from everturn.surfaces.http_reader import ReaderApi
    from everturn.surfaces.http_runs import RunStreamApi
    from everturn.surfaces.routes import Operation
    from everturn.surfaces.websocket import Sockets


@lru_cache(maxsize=1)
def http_api() -> HttpApi:
    """Return the routes of `http_api`."""
    from everturn.surfaces.agent_routes import agent_operations
    from everturn.surfaces.budget_routes import budget_operations
    from everturn.surfaces.decision_routes import decision_operations
    from everturn.surfaces.health_routes import health_operations
    from everturn.surfaces.http import HttpApi
    from everturn.surfaces.inbox_routes import inbox_operations
    from everturn.surfaces.late import late
    from everturn.surfaces.lifecycle_routes import lifecycle_operations
    from everturn.surfaces.model_routes import model_operations
    from everturn.surfaces.session_routes import session_operations
    from everturn.surfaces.token_routes import token_operations
    from everturn.surfaces.upload_routes import upload_operations

    return HttpApi(
        callers(),
        health_operations()
        | session_operations(take_input("http_api"), read_session())
        | decision_operations(
            submit_answer("http_api"),
            settle_calls("http_api"),
            interrupts("http_api"),
            cancels("http_api"),
            resolve_wait("http_api"),
        )
        | budget_operations(session_budgets("http_api"), shared_budgets())
        | lifecycle_operations(list_sessions(), delete_session())
        | agent_operations(agents())
        | model_operations(list_models())
        | inbox_operations(inbox("http_api"))
        | late("/api/v1/", runs_api)
        | token_operations(mint_token())
        | late("/api/oauth/", oauth_api)
        | upload_operations(uploads()),
    )


def runs_api() -> dict[str, Operation]:
    """Return the operations of the runs API, but for its streams."""
    from everturn.surfaces.agent_session_routes import agent_session_operations
    from everturn.surfaces.run_routes import run_operations

    start, specs, by = start_run("http_api"), run_specs(), "http_api"
    answers = run_answers(by)
    return run_operations(
        start, specs, read_run(), answers, list_models()
    ) | agent_session_operations(start, specs, agent_sessions(by))


def oauth_api() -> dict[str, Operation]:
    """Return the operations of OAuth."""
    from everturn.surfaces.oauth_routes import oauth_operations

    return oauth_operations(oauth())


@lru_cache(maxsize=1)
def run_stream() -> RunStreamApi:
    """Return the stream of a run, which who reads sessions has no need of."""
    from everturn.surfaces.http_runs import RunStreamApi

    return RunStreamApi(callers(), read_run())


@lru_cache(maxsize=1)
def reader_api() -> ReaderApi:
    """Return the routes of `reader`."""
    from everturn.surfaces.http_events import EventsApi
    from everturn.surfaces.http_reader import ReaderApi

    events = EventsApi(callers(), read_events())
    return ReaderApi(events, _stream_run)


def _stream_run(event: dict[str, Any]) -> dict[str, Any]:
    return run_stream()(event)


def _about(seconds: float) -> None:
    """Sleep at most so long: connections that are throttled together come back apart."""
    time.sleep(uniform(seconds / 2, seconds))  # noqa: S311  # nobody's secret


@lru_cache(maxsize=1)
def sockets() -> Sockets:
    """Return the handler of the WebSocket API."""
    from everturn.commands.subscribe import Subscribe
    from everturn.surfaces.connections import Connections
    from everturn.surfaces.websocket import Sockets

    subscribe = Subscribe(store(), directory(), read_events())
    take = take_input("websocket")
    connections = Connections(directory(), callers(), CLOCK)
    return Sockets(connections, take, subscribe, push().post, _about, push().disconnect)
