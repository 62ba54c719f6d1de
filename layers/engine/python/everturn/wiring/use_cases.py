"""Adapters to use cases; nothing is decided here.

Imports stand inside the functions: a Lambda pays at its cold start for what it uses, and no more.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

from everturn.settings import local_variable, needed, settings
from everturn.wiring.adapters import (
    agent_lookup,
    directory,
    forget_agent,
    models,
    new_lanes,
    store,
    tenant_record,
    wake,
)
from everturn.wiring.clients import CLOCK, SIGNING, late

if TYPE_CHECKING:
    from everturn.commands.agents import Agents
    from everturn.commands.attempts import Attempts
    from everturn.commands.fan_out import FanOut
    from everturn.commands.read_events import ReadEvents
    from everturn.commands.read_session import ReadSession
    from everturn.commands.reading import SessionReader
    from everturn.commands.recover import Recover
    from everturn.commands.submit_input import SubmitInput
    from everturn.commands.uploads import Uploads
    from everturn.drive.advance import AdvanceSession
    from everturn.surfaces.callers import Callers


@lru_cache(maxsize=1)
def callers() -> Callers:
    """Return the finder of callers."""
    from everturn.surfaces.callers import Callers

    return Callers(directory(), CLOCK)


@lru_cache(maxsize=1)
def session_reader() -> SessionReader:
    """Return the reader of sessions."""
    from everturn.commands.reading import SessionReader

    return SessionReader(store(), directory(), agent_lookup, models().catalogue())


def attempts() -> Attempts:
    """Return a fresh budget."""
    from everturn.commands.attempts import Attempts

    return Attempts(time.monotonic, time.sleep)


def submit_input(by: str) -> SubmitInput:
    """Return the use case of inputs, signed by the function that runs it."""
    from everturn.commands.submit_input import SubmitInput, demo_allowed

    return SubmitInput(
        store(),
        session_reader(),
        wake(),
        CLOCK,
        by=by,
        runnable_s=settings().runnable_seconds,
        check_route=demo_allowed(models().catalogue(), tenant_record),
        attempts=attempts,
    )


def read_session() -> ReadSession:
    """Return the use case of session reads."""
    from everturn.commands.read_session import ReadSession

    return ReadSession(store(), session_reader())


def read_events() -> ReadEvents:
    """Return the use case of event reads."""
    from everturn.commands.read_events import ReadEvents

    return ReadEvents(store(), CLOCK, time.sleep)


def agents() -> Agents:
    """Return the use cases of agents."""
    from everturn.commands.agents import Agents

    networks, catalogue = settings().worker_networks, models().catalogue()
    return Agents(directory(), CLOCK, networks, forget_agent, catalogue)


def uploads() -> Uploads:
    """Return the use cases of uploads; their URLs begin where callers reach S3."""
    from everturn.commands.uploads import Uploads
    from everturn.store.uploads import S3Uploads

    client = late("s3", SIGNING, needed("s3_endpoint"))
    return Uploads(S3Uploads(client, needed("bucket")), CLOCK)


@lru_cache(maxsize=1)
def advance_session() -> AdvanceSession:
    """Return the driver's use case."""
    from everturn.delivery.deliver import WebhookDecider
    from everturn.delivery.secret_places import SecretPlaces
    from everturn.drive.advance import AdvanceSession
    from everturn.drive.tools import Tools
    from everturn.session.commands import Deliveries

    networks = settings().worker_networks
    return AdvanceSession(
        Tools(
            store=store(),
            reader=session_reader(),
            agents=agent_lookup,
            wake=wake(),
            clock=CLOCK,
            models=models(),
            decider=WebhookDecider(networks),
            secrets=SecretPlaces(local_variable),
            new_lanes=new_lanes,
            attempts=attempts,
            runnable_s=settings().runnable_seconds,
            deliveries=Deliveries(max_attempts=settings().delivery_attempts),
        )
    )


@lru_cache(maxsize=1)
def fan_out() -> FanOut:
    """Return the use case of the table's stream."""
    from everturn.commands.fan_out import FanOut

    return FanOut(store(), wake(), new_lanes)


@lru_cache(maxsize=1)
def recover() -> Recover:
    """Return the use cases of recovery."""
    from everturn.commands.recover import Recover

    return Recover(store(), session_reader(), wake(), CLOCK)
