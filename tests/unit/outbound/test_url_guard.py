"""Users name URLs; the engine's own network must stay out of their reach."""

from __future__ import annotations

import pytest

from everturn.outbound.url_guard import (
    Destination,
    Networks,
    UrlRefused,
    allowed_address,
    check_url,
)


@pytest.mark.parametrize(
    ("url", "networks", "destination"),
    [
        (
            "https://Worker.example.com/decide?tier=1#top",
            "public",
            Destination("https", "worker.example.com", 443, "/decide?tier=1"),
        ),
        (
            "https://worker.example.com.",
            "public",
            Destination("https", "worker.example.com", 443, "/"),
        ),
        ("https://93.184.216.34:8443/", "public", Destination("https", "93.184.216.34", 8443, "/")),
        ("https://[2606:2800::1]/x", "public", Destination("https", "2606:2800::1", 443, "/x")),
        ("http://localhost:9000/w", "any", Destination("http", "localhost", 9000, "/w")),
        ("http://127.0.0.1/w", "any", Destination("http", "127.0.0.1", 80, "/w")),
        ("http://[::1]:81/", "any", Destination("http", "::1", 81, "/")),
        ("http://10.0.3.4/", "any", Destination("http", "10.0.3.4", 80, "/")),
    ],
)
def test_a_fit_url_is_taken_apart(url: str, networks: Networks, destination: Destination) -> None:
    checked = check_url(url, networks)

    assert checked == destination


@pytest.mark.parametrize(
    ("destination", "authority"),
    [
        (Destination("https", "a.example", 443, "/"), "a.example"),
        (Destination("https", "a.example", 80, "/"), "a.example:80"),
        (Destination("http", "::1", 80, "/"), "[::1]"),
        (Destination("http", "::1", 8080, "/"), "[::1]:8080"),
    ],
)
def test_the_host_header_names_the_port_only_where_it_is_unusual(
    destination: Destination, authority: str
) -> None:
    assert destination.authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "",
        "worker.example.com",
        "https://",
        "https:///path",
        "http://worker.example.com/",
        "ftp://worker.example.com/",
        "file:///etc/passwd",
        "https://user:secret@worker.example.com/",
        "https://@worker.example.com/",
        "https://worker.example.com:0/",
        "https://worker.example.com:99999/",
        "https://worker.example.com:x/",
        "https://localhost/",
        "https://api.localhost/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://127.0.0.1./",
        "https://0.0.0.0/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:8.8.8.8]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[fe80::1%25eth0]/",
        "https://[fd00:ec2::254]/",
        "https://[::1",
        "https://worker.example.com\\@127.0.0.1/",
        "https://worker.example.com/a b",
        "https://worker.example.com/\r\nX-Injected: 1",
        "https://münchen.example/",
        "https://127。0。0。1/",
        "https://worker%2eexample.com/",
        "https://-worker..example.com/",
        "https://worker.example.com/" + "a" * 2048,
    ],
)
def test_a_public_deployment_refuses(url: str) -> None:
    checked = check_url(url, "public")

    assert isinstance(checked, UrlRefused)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://0.0.0.0:9000/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://user@localhost/",
        "http://224.0.0.1/",
    ],
)
def test_no_deployment_calls_the_metadata_service_or_a_disguised_address(url: str) -> None:
    checked = check_url(url, "any")

    assert isinstance(checked, UrlRefused)


@pytest.mark.parametrize(
    ("address", "public", "anywhere"),
    [
        ("8.8.8.8", True, True),
        ("2606:4700::1111", True, True),
        ("127.0.0.1", False, True),
        ("::1", False, True),
        ("10.1.2.3", False, True),
        ("100.64.0.1", False, True),
        ("172.31.255.255", False, True),
        ("192.168.1.1", False, True),
        ("fd12::1", False, True),
        ("0.0.0.0", False, False),  # noqa: S104  an address among others
        ("169.254.170.2", False, False),
        ("192.0.2.1", False, False),
        ("198.18.0.1", False, False),
        ("224.0.0.251", False, False),
        ("255.255.255.255", False, False),
        ("::", False, False),
        ("::ffff:10.0.0.1", False, False),
        ("::8.8.8.8", False, False),
        ("64:ff9b::808:808", False, False),
        ("64:ff9b:1::1", False, False),
        ("2002:808:808::1", False, False),
        ("2001::1", False, False),
        ("2001:db8::1", False, False),
        ("fe80::1", False, False),
        ("fe80::1%eth0", False, False),
        ("fec0::1", False, False),
        ("ff02::1", False, False),
        ("fd00:ec2::254", False, False),
        ("worker.example.com", False, False),
    ],
)
def test_what_a_name_resolves_to_is_judged_too(address: str, public: bool, anywhere: bool) -> None:
    judged = (allowed_address(address, "public"), allowed_address(address, "any"))

    assert judged == (public, anywhere)
