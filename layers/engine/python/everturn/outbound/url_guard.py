"""Which URLs and addresses a user may have the engine call; connects and resolves nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal
from urllib.parse import SplitResult, urlsplit

Networks = Literal["public", "any"]
"""`public`: https to the public internet. `any`: http, loopback and private networks as well."""

MAX_URL_CHARS = 2048

_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*"
)
_NUMERIC_LABEL = re.compile(r"\d+|0x[0-9a-f]*")
_DEFAULT_PORTS = {"http": 80, "https": 443}

_NEVER_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "169.254.0.0/16",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
"""Link-local (the metadata service), unspecified, multicast, reserved, documentation, relays.

Source: IANA IPv4 Special-Purpose Address Registry.
"""
_INSIDE_V4 = tuple(
    map(
        IPv4Network,
        ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
    )
)
_INSIDE_V6 = (IPv6Network("::1/128"), IPv6Network("fc00::/7"))
_METADATA_V6 = IPv6Network("fd00:ec2::/32")
_GLOBAL_V6 = IPv6Network("2000::/3")
"""All that is handed out publicly; mapped, compatible and NAT64 addresses lie outside of it."""
_NOT_GLOBAL_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
"""Teredo and other embeddings, documentation, 6to4.

Source: IANA IPv6 Special-Purpose Address Registry.
"""


@dataclass(frozen=True, slots=True)
class Destination:
    """A URL taken apart once, so that whoever checks it and whoever connects read the same."""

    scheme: Literal["http", "https"]
    host: str
    """Lower case, an IPv6 address without its brackets."""
    port: int
    target: str
    """Path and query, as they stand in the request line."""

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UrlRefused:
    """The engine will not call this URL; `reason` is fit for whoever configured it."""

    reason: str


def check_url(url: str, networks: Networks) -> Destination | UrlRefused:
    """Take `url` apart or say why it is refused.

    A host name is judged by its form only. What it resolves to is for `allowed_address`, at the
    moment of connecting: a check made earlier could be undone by another answer of the name server.
    """
    if not _PRINTABLE.fullmatch(url) or len(url) > MAX_URL_CHARS or "\\" in url:
        return UrlRefused(f"a URL is 1 to {MAX_URL_CHARS} printable ASCII characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return UrlRefused("this is not a URL")
    if (refused := _refused_form(parts, networks)) is not None:
        return refused
    host = (parts.hostname or "").removesuffix(".")
    if (refused := _refused_host(host, networks, bracketed="[" in parts.netloc)) is not None:
        return refused
    query = f"?{parts.query}" if parts.query else ""
    return Destination(
        scheme="https" if parts.scheme == "https" else "http",
        host=host,
        port=_DEFAULT_PORTS[parts.scheme] if port is None else port,
        target=(parts.path or "/") + query,
    )


def allowed_address(address: str, networks: Networks) -> bool:
    """Tell whether the engine may connect to this IP address, an answer of the name server."""
    try:
        match ip_address(address):
            case IPv4Address() as v4:
                return _allowed_v4(v4, networks)
            case IPv6Address() as v6:
                return _allowed_v6(v6, networks)
    except ValueError:
        return False


def _refused_form(parts: SplitResult, networks: Networks) -> UrlRefused | None:
    if parts.scheme != "https" and not (parts.scheme == "http" and networks == "any"):
        return UrlRefused("the URL must begin with https://")
    if "@" in parts.netloc:
        return UrlRefused("credentials must not stand in the URL")
    if parts.port == 0:
        return UrlRefused("there is no port 0")
    return None


def _refused_host(host: str, networks: Networks, *, bracketed: bool) -> UrlRefused | None:
    """Refuse what is no host, an address in disguise, or an address that is out of bounds."""
    if not bracketed and not _HOST_NAME.fullmatch(host):
        return UrlRefused("the host is neither a name in its ASCII form nor an address")
    last = host.rpartition(".")[2]
    if not bracketed and not _NUMERIC_LABEL.fullmatch(last):
        inside = last == "localhost"
        return UrlRefused("the host is not public") if inside and networks == "public" else None
    try:
        ip_address(host)
    except ValueError:  # 2130706433, 0x7f.1, 0177.0.0.1: resolvers read them as 127.0.0.1
        return UrlRefused("an address must be written in its usual form")
    if not allowed_address(host, networks):
        return UrlRefused("the address is not one that may be called")
    return None


def _allowed_v4(address: IPv4Address, networks: Networks) -> bool:
    if any(address in network for network in _NEVER_V4):
        return False
    return networks == "any" or not any(address in network for network in _INSIDE_V4)


def _allowed_v6(address: IPv6Address, networks: Networks) -> bool:
    if address.scope_id is not None or address in _METADATA_V6:
        return False
    if any(address in network for network in _INSIDE_V6):
        return networks == "any"
    return address in _GLOBAL_V6 and not any(address in network for network in _NOT_GLOBAL_V6)
