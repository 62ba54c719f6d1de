"""What holds for every test: no socket reaches beyond this machine, providers take each request."""

from __future__ import annotations

import gc
import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from counting import COUNTING
from transcripts.ledger import LEDGER

pytest_plugins = ["providers.servers"]
"""Fixtures that any test may use: they start nothing until one does."""

settings.register_profile(
    "repeated",
    derandomize=True,
    deadline=None,  # a busy machine has moods
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("exploring", max_examples=2_000)
settings.load_profile("repeated")
"""The same examples each time; `--hypothesis-profile=exploring` looks for new ones."""

SAID = "said"
"""The property under which a test has something for the end of the run."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests had to say, whichever process they ran in."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in getattr(report, "user_properties", ()):
            if name == SAID and report.when == "call":
                terminalreporter.write_line(text)


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what stays: thousands of tests, and all that they import."""
    gc.collect()
    gc.freeze()


def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Count coverage where that is wanted."""
    COUNTING.in_test_of(item.path)
    return (yield)


pytest_runtest_protocol = pytest.hookimpl(wrapper=True)(pytest_runtest_protocol)


class OutsideNetwork(Exception):
    """A test tried to reach beyond this machine."""


def is_local(family: int, address: Any) -> bool:
    """Return whether an address is on this machine; of the names only `localhost` is."""
    if family not in {socket.AF_INET, socket.AF_INET6}:
        return True
    host = str(address[0]).partition("%")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Guarded(socket.socket):
    """Holds the methods that take the place of `socket.socket`'s; never instantiated."""

    def connect(self, address: Any, /) -> None:
        """Connect to this machine; raises `OutsideNetwork` for any other."""
        if not is_local(self.family, address):
            raise OutsideNetwork(f"a test tried to connect to {address!r}")
        _REAL_CONNECT(self, address)

    def connect_ex(self, address: Any, /) -> int:
        """Connect to this machine; raises `OutsideNetwork` for any other."""
        if not is_local(self.family, address):
            raise OutsideNetwork(f"a test tried to connect to {address!r}")
        return _REAL_CONNECT_EX(self, address)


_REAL_CONNECT = socket.socket.connect
_REAL_CONNECT_EX = socket.socket.connect_ex


@pytest.fixture(autouse=True)
def _requests_are_accepted() -> Iterator[None]:
    """Hold every model request that a test comes to know against what providers refuse."""
    LEDGER.open()
    yield
    LEDGER.close()


@pytest.fixture(scope="session", autouse=True)
def _closed_network() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _Guarded.connect)
        patch.setattr(socket.socket, "connect_ex", _Guarded.connect_ex)
        yield
