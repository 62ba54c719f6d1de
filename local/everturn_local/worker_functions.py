"""Lambda functions that are no part of the template: workers that a caller brings along.

It gives them what a function has to have, and invokes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from everturn_local.functions import Sandbox
from everturn_local.handlers import Handler, call_handler, load_handler
from everturn_local.intrinsics import TemplateError
from everturn_local.invocations import LambdaContext, Outcome
from everturn_local.template import ACCOUNT, CodeLocation
from everturn_local.topology import FunctionSpec

ALLOWED = "EVERTURN_WORKER_FUNCTIONS"
"""Variable that says how the ARNs of functions begin that may be workers."""

_TIMEOUT_S = 900.0
_MEMORY_MB = 512


class HandlerSandbox:
    """Calls a handler of this process."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def run(self, event_json: str, context: LambdaContext) -> Outcome:
        """Run one invocation."""
        return call_handler(self._handler, event_json, context)

    def warm(self) -> object:
        """Nothing is to be done ahead."""
        return None

    def kill(self) -> int:
        """Nothing: what runs in this process cannot be killed."""
        return 0

    def close(self) -> None:
        """Nothing is held."""


def function_arn(name: str, region: str) -> str:
    """ARN of a function in the local account."""
    return f"arn:aws:lambda:{region}:{ACCOUNT}:function:{name}"


def specs_of(
    names: Iterable[str], region: str, environment: Mapping[str, str]
) -> tuple[FunctionSpec, ...]:
    """Settings of functions of these names, those that Lambda would allow at most.

    Raises `TemplateError` for a name that the deployed stack would refuse, or that is none.
    """
    allowed = environment.get(ALLOWED, "")
    for name in names:
        if not function_arn(name, region).startswith(allowed) or not name:
            raise TemplateError(
                f"worker function {name!r}: the name must begin with {allowed.rpartition(':')[2]}"
            )
    return tuple(
        FunctionSpec(
            logical_id=name,
            name=name,
            code=CodeLocation(Path(), ""),
            timeout_s=_TIMEOUT_S,
            memory_mb=_MEMORY_MB,
            reserved_concurrency=None,
            has_url=False,
        )
        for name in names
    )


def sandboxes_of(handlers: Mapping[str, Handler]) -> dict[str, Sandbox]:
    """Where each of them runs."""
    return {name: HandlerSandbox(handler) for name, handler in handlers.items()}


def load_worker(argument: str) -> tuple[str, Handler]:
    """Name and handler of `NAME=path/to/file.py:handler`.

    Raises `ValueError` for what is not written so or leads nowhere; what the file itself raises
    passes through.
    """
    name, equals, place = argument.partition("=")
    file, colon, attribute = place.rpartition(":")
    path = Path(file).resolve()
    if not (name and equals and colon and attribute.isidentifier() and path.suffix == ".py"):
        raise ValueError(f"{argument!r} is not NAME=path/to/file.py:handler")
    if not path.is_file():
        raise ValueError(f"there is no file {file}")
    try:
        handler = load_handler(name, CodeLocation(path.parent, f"{path.stem}.{attribute}"))
    except AttributeError as error:
        raise ValueError(f"{file}: {error}") from error
    return name, handler
