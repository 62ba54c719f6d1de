"""A process that imported the command once and forks for each run of it: no run imports it again.

`e2e.command` starts it and talks to it over a socket pair; it ends when that is closed. It has no
threads: what is forked off is as good as a process of its own.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, Final

IMPORTED: Final = (
    "everturn_local.agents_file",
    "everturn_local.bootstrap",
    "everturn_local.cli",
    "everturn_local.demo",
    "everturn_local.invoking",
    "everturn_local.remote",
    "everturn_local.tailing",
)
"""What one or the other command imports, and nothing that looks at the environment meanwhile."""

REQUEST_BYTES: Final = 200_000
"""As much as a socket pair takes in one piece; most of it is the environment."""

_CHILD_ENDS: Final = frozenset({signal.SIGCHLD})


@dataclass(slots=True)
class Server:
    """Forks on demand, and tells of each end."""

    link: socket.socket
    _running: dict[int, int] = field(default_factory=dict)
    """Where the end of each child is told, by its process id."""

    def next_run(self) -> dict[str, Any] | None:
        """Return in each child what it is to run, and in the parent nothing, once all is over."""
        signal.signal(signal.SIGCHLD, self._reap)
        while True:
            text, handles, _, _ = socket.recv_fds(self.link, REQUEST_BYTES, 3)
            if not text:
                return None
            signal.pthread_sigmask(signal.SIG_BLOCK, _CHILD_ENDS)
            pid = os.fork()
            if pid == 0:
                return self._become(json.loads(text), *handles)
            stdout, stderr, self._running[pid] = handles
            os.close(stdout)
            os.close(stderr)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD_ENDS)
            self.link.send(str(pid).encode())

    def _become(
        self, request: dict[str, Any], stdout: int, stderr: int, ended: int
    ) -> dict[str, Any]:
        """Make a child of this process what the request says."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD_ENDS)
        self.link.close()
        for other in (ended, *self._running.values()):
            os.close(other)
        for handle, number in ((stdout, 1), (stderr, 2)):
            os.dup2(handle, number)
            os.close(handle)
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environment"])
        return request

    def _reap(self, _number: int, _frame: object) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            ended = self._running.pop(pid)
            os.write(ended, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(ended)


def main() -> None:
    """Serve until nobody asks any more; in each child, run the command."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what children share is not touched by their collections
    run = Server(socket.socket(fileno=int(sys.argv[1]))).next_run()
    if run is None:
        return
    sys.argv = ["everturn", *run["arguments"]]
    try:
        importlib.import_module("everturn_local.cli").app()
    except SystemExit as ended:
        _end(ended.code)


def _end(status: Any) -> None:
    """End as Python does, but for taking apart every module, which would copy them all first."""
    threading._shutdown()  # type: ignore[attr-defined]  # as multiprocessing ends its children
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


if __name__ == "__main__":
    main()
