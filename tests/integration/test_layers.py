"""The two layers are all that a function needs beside Lambda's own Python; every lock is sound."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYER_LOCK = ROOT / "layers/dependencies/requirements.txt"
DEV_LOCK = ROOT / "requirements/dev.txt"
LOCKS = (LAYER_LOCK, DEV_LOCK, ROOT / "requirements/local.txt")

LAMBDA_HAS = ("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3")
"""boto3 and what it needs. Source: Lambda Developer Guide, "Runtime-included SDK versions"."""

NAMES = {
    "EVERTURN_TABLE": "table",
    "EVERTURN_BUCKET": "bucket",
    "EVERTURN_S3_ENDPOINT": "https://s3.us-east-1.amazonaws.com",
    "EVERTURN_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/queue.fifo",
    "EVERTURN_WEBSOCKET_ENDPOINT": "https://abc.execute-api.us-east-1.amazonaws.com/live",
}
"""Where things are; without them a function does not start."""

FUNCTIONS = sorted(path.parent.name for path in ROOT.glob("functions/*/app.py"))


def pins(lock: Path) -> dict[str, str]:
    """Return version by name of what a lock installs on Linux; extras left out."""
    found = re.findall(r"(?m)^([\w.-]+)(?:\[[^]]*])?==(\S+)", lock.read_text(encoding="utf-8"))
    return {name.lower(): version for name, version in found}


@pytest.fixture(scope="module")
def lambda_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A `PYTHONPATH` that holds the layers and Lambda's own libraries, linked one by one."""
    libraries = tmp_path_factory.mktemp("libraries")
    for name in {*pins(LAYER_LOCK), *LAMBDA_HAS}:
        installed = distribution(name)
        tops = {file.parts[0] for file in installed.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            (libraries / top).symlink_to(Path(str(installed.locate_file(top))))
    return f"{libraries}:{ROOT / 'layers/engine/python'}"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_starts_with_nothing_but_its_layers(lambda_path: str, function: str) -> None:
    environment = {"PYTHONPATH": lambda_path, "AWS_DEFAULT_REGION": "us-east-1"} | NAMES
    command = [sys.executable, "-S", "-c", "import app; print(callable(app.lambda_handler))"]

    started = subprocess.run(  # noqa: S603 - our own interpreter on our own code
        command,
        cwd=ROOT / "functions" / function,
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (started.stdout, started.returncode) == ("True\n", 0), started.stderr


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name + "/" + lock.name)
def test_a_lock_has_hashes_and_names_no_host(lock: Path) -> None:
    lines = lock.read_text(encoding="utf-8").splitlines()

    pinned = [line for line in lines if "==" in line and not line.startswith("#")]
    followed = [lines[lines.index(line) + 1].strip() for line in pinned]

    assert len(pinned) > len(LAMBDA_HAS)
    assert {line[: len("--hash=sha256:")] for line in followed} == {"--hash=sha256:"}
    assert [line for line in lines if "://" in line or line.startswith("-")] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name + "/" + lock.name)
def test_what_is_tested_is_what_is_run_and_deployed(lock: Path) -> None:
    tested, used = pins(DEV_LOCK), pins(lock)

    assert {name: tested.get(name) for name in used} == used


def declared() -> dict[str, set[str]]:
    """Return the names that the project needs by itself (`""`), and for each of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    return {
        group: {re.split(r"[\[<>=!~ ]", need, maxsplit=1)[0].lower() for need in needs}
        for group, needs in groups.items()
    }


def test_a_worker_author_installs_pydantic_and_nothing_else() -> None:
    assert declared()[""] == {"pydantic"}


def test_the_dependencies_layer_has_what_the_engine_declares() -> None:
    needed = declared()[""] | declared()["engine"]

    assert needed - set(LAMBDA_HAS) <= pins(LAYER_LOCK).keys()


def test_the_dependencies_layer_leaves_boto3_to_lambda() -> None:
    left_to_lambda = {"boto3", "botocore", "s3transfer", "urllib3"}

    assert left_to_lambda & pins(LAYER_LOCK).keys() == set()
