"""The guard that every test runs behind."""

from __future__ import annotations

import socket

import pytest


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, ("192.0.2.1", 80)),
        (socket.AF_INET, ("example.com", 80)),
        (socket.AF_INET6, ("2001:db8::1", 80)),
    ],
)
def test_a_test_cannot_connect_to_another_machine(
    family: socket.AddressFamily, address: tuple[str, int]
) -> None:
    with socket.socket(family) as one, pytest.raises(Exception, match="tried to connect") as raised:
        one.connect(address)

    assert type(raised.value).__name__ == "OutsideNetwork"


def test_a_test_cannot_probe_another_machine_either() -> None:
    with socket.socket() as one, pytest.raises(Exception, match="tried to connect") as raised:
        one.connect_ex(("192.0.2.1", 80))

    assert type(raised.value).__name__ == "OutsideNetwork"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_test_reaches_servers_on_its_own_machine(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        with socket.create_connection((host, port), timeout=5) as one:
            peer = one.getpeername()

    assert peer == ("127.0.0.1", port)


def test_a_refused_connection_on_this_machine_is_refused_as_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with socket.socket() as one, pytest.raises(ConnectionRefusedError):
        one.connect(("127.0.0.1", port))
