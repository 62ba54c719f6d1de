"""The library is there for programs that have nothing else of the engine's, and starts fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import everturn

ENGINE = Path(everturn.__path__[0]).parent
PROGRAM = Path(__file__).with_name("a_program.py")

FOREIGN = (
    "anyio",
    "aws_lambda_powertools",
    "boto3",
    "botocore",
    "h11",
    "httpcore",
    "httpx",
    "jsonschema",
    "jwt",
    "moto",
    "referencing",
    "starlette",
    "uvicorn",
    "yaml",
)

BLOCKED = f"""
import sys
for name in {FOREIGN}:
    sys.modules[name] = None  # an import of it fails from here on
"""

COSTS = """
import time
begun = time.perf_counter()
import pydantic
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
before = time.perf_counter()
import everturn.workers
print((before - begun) * 1000, (time.perf_counter() - before) * 1000)
"""


def ran(script: str) -> str:
    """Return what a fresh interpreter prints that knows the library and pydantic."""
    done = subprocess.run(  # noqa: S603  our own interpreter on our own script
        [sys.executable, "-W", "error", "-c", script],
        env={"PYTHONPATH": str(ENGINE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_whole_worker_runs_without_any_other_library() -> None:
    program = f"import runpy; runpy.run_path({str(PROGRAM)!r})"

    printed = ran(BLOCKED + program)

    assert printed == "add ['a', 'b'] [{'type': 'tool.result', 'result': 3}] 200 200\n"


def test_importing_the_library_starts_neither_a_loop_nor_the_engine() -> None:
    printed = ran(
        "import sys, everturn.workers\n"
        "print([name for name in sys.modules if name in {'asyncio', 'ssl', 'socket'}])\n"
        "print(sorted({name.split('.')[1] for name in sys.modules if name[:9] == 'everturn.'}))"
    )

    assert printed == "[]\n['errors', 'protocol', 'rejections', 'workers']\n"


@pytest.mark.slow
def test_importing_the_library_costs_little_more_than_pydantic() -> None:
    runs = [[float(cost_ms) for cost_ms in ran(COSTS).split()] for _ in range(7)]
    pydantic_ms, own_ms = map(min, zip(*runs, strict=True))

    assert own_ms < max(40, pydantic_ms / 2)  # a slow machine is slow at both
