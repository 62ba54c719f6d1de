"""An ASGI application behind a real server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from e2e.waiting import until


class _Quiet(uvicorn.Server):
    """Leaves the signals of the process to the test runner."""

    def install_signal_handlers(self) -> None:
        """Install none."""


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve `app` while the body runs; gives its URL."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, lifespan="on", ws="none", log_level="error"
    )
    server = _Quiet(config)
    thread = threading.Thread(target=server.run, name="worker-server", daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    assert server.started
    (listening,) = server.servers
    host, port = listening.sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()
