"""A runtime, clients of fresh tenants, a worker; after every test the invariants hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.client import Client, new_id
from e2e.command import COMMANDS
from e2e.invariants import check_session
from e2e.scripted_function import REGISTERED, ScriptedFunction
from e2e.scripted_worker import ScriptedWorker, scripted_worker
from e2e.stage import ROOT, STAGE, Setup
from everturn_local.bootstrap import open_access, register_sample_agent
from everturn_local.runtime import LocalRuntime

HERE = Path(__file__).parent

EXPECTED = ("No application metrics to publish", "unclosed <socket")

Enter = Callable[[], Client]
"""Opens the door to a new tenant."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say what a runtime that outlives a test may warn of: the engine's own filter, open pools."""
    marks = [pytest.mark.filterwarnings(f"ignore:{message}") for message in EXPECTED]
    for item in items:
        if HERE in item.path.parents:
            for mark in marks:
                item.add_marker(mark)


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop what tests share behind the last one here: others start their own."""
    yield
    if nextitem is None or HERE not in nextitem.path.parents:
        STAGE.stop()
        COMMANDS.stop()


pytest_runtest_teardown = pytest.hookimpl(wrapper=True)(pytest_runtest_teardown)


@pytest.fixture(scope="module")
def setup() -> Setup:
    """What the module's runtime is started with; modules may say otherwise."""
    return Setup()


@pytest.fixture
def runtime(setup: Setup) -> LocalRuntime:
    """The running stack."""
    return STAGE.running(setup)


@contextmanager
def entering(runtime: LocalRuntime) -> Iterator[Enter]:
    """Give a maker of clients of tenants of their own, and check all their sessions in the end."""
    clients: list[Client] = []

    def make() -> Client:
        access = open_access(runtime, new_id("tenant"))
        clients.append(Client(access.http_url, access.ws_url, access.api_key, access.workspace))
        register_sample_agent(runtime, access, ROOT)
        return clients[-1]

    yield make
    try:
        for one in clients:
            for session_id in one.touched:
                check_session(one.tenant, session_id, idle=session_id not in one.left_open)
    finally:
        for one in clients:
            one.close()


@pytest.fixture
def enter(runtime: LocalRuntime) -> Iterator[Enter]:
    """Makes clients of tenants of their own, and checks all their sessions in the end."""
    with entering(runtime) as make:
        yield make


@pytest.fixture
def client(enter: Enter) -> Client:
    """A client of a new tenant, which has the agent `demo` with the sample tools."""
    return enter()


@pytest.fixture
def function() -> Iterator[ScriptedFunction]:
    """A Lambda function that acts as told; the runtime knows it as `scripted_function.NAME`."""
    made = REGISTERED.at_hand = ScriptedFunction()
    yield made
    made.over.set()


@pytest.fixture
def worker() -> Iterator[ScriptedWorker]:
    """A worker that acts as told."""
    with scripted_worker() as made:
        yield made
