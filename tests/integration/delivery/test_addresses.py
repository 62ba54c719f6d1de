"""Where the webhook adapter connects to: names, addresses and certificates."""

from __future__ import annotations

import json
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from everturn.delivery.deliver import WebhookDecider
from everturn.ports.decider import Answered, DeliveryFailed
from everturn.protocol.decision import DecisionResponse
from integration.delivery.hook_server import EMPTY, Deciders, Worker, deliver, respond


def test_a_refused_connection_has_started_nothing(decider: WebhookDecider) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"

    answer = deliver(decider, url)

    assert answer == DeliveryFailed(
        "the worker refused the connection", "connection_failed", True, "no"
    )


def test_a_name_that_does_not_resolve_has_started_nothing(deciders: Deciders) -> None:
    def resolve(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    answer = deliver(deciders("public", resolve=resolve), "https://worker.test/")

    assert answer == DeliveryFailed(
        "the worker's host name does not resolve", "connection_failed", True, "no"
    )


def test_a_name_server_that_hangs_runs_into_the_time_limit(
    worker: Worker, deciders: Deciders
) -> None:
    def resolve(_host: str, _port: int) -> list[str]:
        worker.over.wait(5)
        return []

    answer = deliver(deciders("public", resolve=resolve), "https://worker.test/", timeout_s=0.2)

    assert answer == DeliveryFailed(
        "the worker did not answer in time", "deadline_exceeded", True, "no"
    )


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["::ffff:127.0.0.1", "10.0.0.1"], []])
def test_a_public_name_with_an_inner_address_is_never_connected_to(
    worker: Worker, addresses: list[str], deciders: Deciders
) -> None:
    decider = deciders("public", resolve=lambda _host, _port: addresses)

    answer = deliver(decider, f"https://worker.test:{worker.server.server_port}/")

    assert answer == DeliveryFailed(
        "the worker's URL is refused: the host has no address that may be called",
        "url_refused",
        False,
        "no",
    )
    assert worker.requests == []


def test_a_refused_url_is_not_even_resolved(decider: WebhookDecider) -> None:
    answer = deliver(decider, "https://user:secret@worker.test/")

    assert answer == DeliveryFailed(
        "the worker's URL is refused: credentials must not stand in the URL",
        "url_refused",
        False,
        "no",
    )


def test_a_name_is_resolved_once_and_the_checked_address_is_used(
    worker: Worker, deciders: Deciders
) -> None:
    asked: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["169.254.169.254", "127.0.0.1"]

    worker.act = respond()
    url = f"http://worker.test:{worker.server.server_port}/"

    answer = deliver(deciders("any", resolve=resolve), url)

    assert (answer, asked) == (EMPTY, ["worker.test"])
    assert worker.requests[0][1]["Host"] == f"worker.test:{worker.server.server_port}"


def test_the_next_address_is_tried_where_the_first_refuses(
    worker: Worker, deciders: Deciders
) -> None:
    worker.act = respond()
    decider = deciders("any", resolve=lambda _host, _port: ["127.0.0.2", "127.0.0.1"])

    answer = deliver(decider, f"http://worker.test:{worker.server.server_port}/")

    assert answer == EMPTY


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate of worker.test that nobody vouches for, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "worker.test")])
    today = datetime.now(tz=UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("worker.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "worker.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


def encrypt(worker: Worker, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    worker.server.socket = context.wrap_socket(
        worker.server.socket, server_side=True, do_handshake_on_connect=False
    )


def test_the_certificate_is_checked_against_the_name_not_the_address(
    worker: Worker, certificate: Path, deciders: Deciders
) -> None:
    encrypt(worker, certificate)
    worker.act = respond(200, json.dumps({"state": "x" * 200_000}).encode())
    trusting = ssl.create_default_context(cafile=str(certificate))
    port = worker.server.server_port

    making = [
        deciders("any", resolve=lambda _host, _port: ["127.0.0.1"], ssl_context=context)
        for context in (trusting, None)
    ]
    answers = [
        deliver(making[0], f"https://worker.test:{port}/"),
        deliver(making[0], f"https://other.test:{port}/"),
        deliver(making[1], f"https://worker.test:{port}/"),
    ]

    refused = DeliveryFailed(
        "the worker's certificate is not accepted", "connection_failed", True, "no"
    )
    assert answers == [Answered(DecisionResponse(state="x" * 200_000)), refused, refused]
