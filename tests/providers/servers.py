"""Fixtures: servers that speak the providers' APIs, each started once for a test run.

No test lives here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from providers.aimock import Aimock, aimock_server
from providers.llmock import Llmock, llmock_server
from providers.scripted import ScriptedProvider, scripted_provider


@pytest.fixture(scope="session")
def aimock() -> Iterator[Aimock]:
    """Return aimock, which answers by a word of the last user message."""
    with aimock_server() as server:
        yield server


@pytest.fixture(scope="session")
def running_llmock() -> Iterator[Llmock]:
    """Return llmock with whatever an earlier test left; tests take `llmock`."""
    with llmock_server() as server:
        yield server


@pytest.fixture
def llmock(running_llmock: Llmock) -> Llmock:
    """Return llmock with nothing queued, which does what a test queues."""
    running_llmock.reset()
    return running_llmock


@pytest.fixture
def scripted() -> Iterator[ScriptedProvider]:
    """Return a provider that answers byte for byte; its script has to be played to the end."""
    with scripted_provider() as provider:
        yield provider
