"""An Everturn API somewhere, over HTTP: a request, its JSON, or why there is none.

It must not know what a route means, nor print.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

TIMEOUT_S = 30.0
STREAM_TIMEOUT_S = 60.0
"""A stream says something every 25 s, if only that there is nothing new."""


class Refused(Exception):
    """The API answered with an error."""

    def __init__(self, code: str, message: str, hint: str | None, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status


class Unreachable(Exception):
    """No answer came."""


class Remote:
    """A client; use it as a context manager."""

    def __init__(self, url: str, api_key: str) -> None:
        headers = {"authorization": f"Bearer {api_key}"}
        self.http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT_S)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.http.close()

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """Return what a GET answers; parameters that are empty are left out."""
        return self._asked("GET", path, params={k: v for k, v in query.items() if v})

    def put(self, path: str, body: Any) -> dict[str, Any]:
        """Return what a PUT answers."""
        return self._asked("PUT", path, json=body)

    def post(self, path: str, body: Any) -> dict[str, Any]:
        """Return what a POST answers."""
        return self._asked("POST", path, json=body)

    def delete(self, path: str) -> dict[str, Any]:
        """Return what a DELETE answers."""
        return self._asked("DELETE", path)

    def _asked(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """Return an answer's JSON. Raises `Refused`, `Unreachable`."""
        with reached(self.http):
            response = self.http.request(method, path, **more)
        check(response)
        return _json(response)


@contextmanager
def reached(http: httpx.Client) -> Iterator[None]:
    """Turn what httpx raises where nobody answers into `Unreachable`."""
    try:
        yield
    except (httpx.TransportError, httpx.InvalidURL) as error:
        why = str(error) or type(error).__name__
        raise Unreachable(f"{http.base_url} does not answer: {why}") from error


def check(response: httpx.Response) -> None:
    """Accept a success. Raises `Refused`; the body has been read."""
    if response.is_success:
        return
    status = response.status_code
    try:
        said = response.json()
    except ValueError:
        said = {}
    if not isinstance(said, dict):
        said = {}
    phrase = httpx.codes.get_reason_phrase(status)
    raise Refused(
        code=str(said.get("code") or f"http_{status}"),
        message=str(said.get("message") or phrase or "the server answered with an error"),
        hint=said.get("hint"),
        status=status,
    )


def place(name: str) -> str:
    """Return an id as a part of a path."""
    return quote(name, safe="")


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Refused("no_json", "the server's answer is no JSON", "is the URL right?", 400)
    return answer
