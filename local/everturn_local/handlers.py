"""Loads the handlers of `functions/` and calls them in this process, as JSON in and JSON out."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from everturn_local.invocations import (
    PAYLOAD_MAX_BYTES,
    Failed,
    LambdaContext,
    Outcome,
    Returned,
    failed_by,
)
from everturn_local.template import CodeLocation

logger = logging.getLogger(__name__)

Handler = Callable[[Any, LambdaContext], Any]
ENGINE_PACKAGE = "everturn"


def forget_modules(directories: Iterable[Path]) -> dict[str, ModuleType]:
    """Drop the engine's modules and those in `directories`: the next import is a cold start.

    Returns what was dropped, by name, for `restore_modules`.
    """
    folders = tuple(directories)
    dropped: dict[str, ModuleType] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        is_engine = name == ENGINE_PACKAGE or name.startswith(f"{ENGINE_PACKAGE}.")
        if is_engine or (file and Path(file).parent in folders):
            dropped[name] = sys.modules.pop(name)
    return dropped


def restore_modules(directories: Iterable[Path], dropped: Mapping[str, ModuleType]) -> None:
    """Put back what `forget_modules` dropped: who imported it before goes on with its own."""
    forget_modules(directories)
    sys.modules.update(dropped)


def load_handler(name: str, code: CodeLocation) -> Handler:
    """Import the function's module under a name of its own and return its handler.

    Modules beside it can be imported by their own names, as in Lambda. Raises whatever the
    import raises.
    """
    module_name, _, attribute = code.handler.rpartition(".")
    path = code.directory / f"{module_name.replace('.', '/')}.py"
    unique = f"everturn_local_function_{name}"
    spec = importlib.util.spec_from_file_location(unique, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ModuleNotFoundError(f"function {name} has no {path}")
    if str(code.directory) not in sys.path:
        sys.path.append(str(code.directory))
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module
    spec.loader.exec_module(module)
    handler: Handler = getattr(module, attribute)
    return handler


def call_handler(handler: Handler, event_json: str, context: LambdaContext) -> Outcome:
    """Run one invocation on this thread. It never raises: errors are logged and returned."""
    try:
        result = handler(json.loads(event_json), context)
    except BaseException as error:  # SystemExit, too, ends a sandbox and not the runtime
        name, request_id = context.function_name, context.aws_request_id
        logger.exception("%s failed in request %s", name, request_id)
        return failed_by(error)
    try:
        result_json = json.dumps(result)
    except (TypeError, ValueError) as error:
        logger.exception("%s returned what is not JSON", context.function_name)
        return Failed("Runtime.MarshalError", f"Unable to marshal response: {error}")
    if len(result_json) > PAYLOAD_MAX_BYTES:
        logger.error("%s returned %d bytes", context.function_name, len(result_json))
        return Failed(
            "Function.ResponseSizeTooLarge",
            f"Response payload size exceeded maximum allowed payload size "
            f"({PAYLOAD_MAX_BYTES} bytes).",
        )
    return Returned(json.loads(result_json))


class InProcessSandbox:
    """Runs a function's invocations in this process; the module is imported at the first one."""

    def __init__(self, name: str, code: CodeLocation) -> None:
        self._name = name
        self._code = code
        self._loading = threading.Lock()
        self._handler: Handler | None = None

    def run(self, event_json: str, context: LambdaContext) -> Outcome:
        """Run one invocation; an import that fails is a failed invocation and is tried again."""
        try:
            handler = self.warm()
        except BaseException as error:
            logger.exception("%s cannot be imported", self._name)
            return failed_by(error)
        return call_handler(handler, event_json, context)

    def warm(self) -> Handler:
        """Import the module if that is still to be done."""
        with self._loading:
            if self._handler is None:
                self._handler = load_handler(self._name, self._code)
            return self._handler

    def kill(self) -> int:
        """Nothing: what runs in this process cannot be killed."""
        return 0

    def close(self) -> None:
        """Nothing is held."""
