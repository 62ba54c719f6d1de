"""How long each handler takes to import in a fresh process, beside boto3; nothing is invoked."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.stage import ROOT

BEST_OF: Final = 5
YARDSTICK: Final = "boto3"
SHOWN: Final = 10

READY: Final = {
    "http_api": "surfaces.http_api()",
    "reader": "surfaces.reader_api()",
    "websocket": "surfaces.sockets()",
    "authorizer": "use_cases.callers()",
    "driver": "use_cases.advance_session()",
    "fanout": "use_cases.fan_out()",
    "recovery": "use_cases.recover()",
}
"""What `wiring` makes for the first invocation of a function."""

_WITHOUT: Final = """\
import sys
sys.modules.update(dict.fromkeys(("awscrt", "cryptography", "OpenSSL")))
"""
"""boto3 and PyJWT take these along where they are; our tools bring them, the layers do not."""

TIMED: Final = """\
import time
began = time.perf_counter()
{imports}
imported = time.perf_counter()
{ready}
print((imported - began) * 1000, (time.perf_counter() - began) * 1000)
"""
"""Prints how long `imports` took, and how long both did."""

_ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "POWERTOOLS_SERVICE_NAME": "everturn",
    "POWERTOOLS_METRICS_NAMESPACE": "Everturn",
    "EVERTURN_TABLE": "bench",
    "EVERTURN_BUCKET": "bench",
    "EVERTURN_S3_ENDPOINT": "https://s3.us-east-1.amazonaws.com",
    "EVERTURN_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/bench.fifo",
    "EVERTURN_STEP_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:bench",
    "EVERTURN_WEBSOCKET_ENDPOINT": "https://bench.execute-api.us-east-1.amazonaws.com/live",
}


@dataclass(frozen=True, slots=True)
class Cold:
    """One handler, in milliseconds."""

    name: str
    import_ms: float
    ready_ms: float
    """The import and what the first invocation makes: clients, use cases and their modules."""


def yardstick() -> Cold:
    """Return what boto3 alone takes, and with one client."""
    code = TIMED.format(imports="import boto3", ready="boto3.client('dynamodb')")
    return best(YARDSTICK, code, ROOT)


def handlers() -> list[Cold]:
    """Return every function's handler, by name."""
    return [_handler(path.parent) for path in sorted((ROOT / "functions").glob("*/app.py"))]


def dearest_modules(name: str) -> list[tuple[str, float]]:
    """Return the modules whose own code takes longest on import, in milliseconds."""
    process = _run(["-X", "importtime", "-c", f"{_WITHOUT}import app"], ROOT / "functions" / name)
    lines = [line for line in process.stderr.splitlines() if line.startswith("import time:")]
    own = [line.removeprefix("import time:").split("|") for line in lines[1:]]
    modules = [(module.strip(), int(micros) / 1000) for micros, _, module in own]
    return sorted(modules, key=lambda one: -one[1])[:SHOWN]


def best(name: str, code: str, folder: Path) -> Cold:
    """Return the best of several runs of `code` in `folder`, after one for the bytecode."""
    runs = [_run(["-c", _WITHOUT + code], folder).stdout.split() for _ in range(1 + BEST_OF)][1:]
    return Cold(name, min(float(one[-2]) for one in runs), min(float(one[-1]) for one in runs))


def _handler(folder: Path) -> Cold:
    ready = READY.get(folder.name)
    use = f"from everturn.wiring import surfaces, use_cases; {ready}" if ready else "pass"
    return best(folder.name, TIMED.format(imports="import app", ready=use), folder)


def _run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), str(ROOT / "layers/engine/python")])
    keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(  # noqa: S603  # our own handlers, our own interpreter
        [sys.executable, *arguments],
        env={**keep, **_ENVIRONMENT, "PYTHONPATH": paths},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
