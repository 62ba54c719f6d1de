"""The worker: what its author registers, and the ways in which it is served; others do the work."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from everturn.workers.answers import Call, Response, answer
from everturn.workers.http import MAX_REQUEST_BYTES
from everturn.workers.lambda_entry import call_here, handle, run
from everturn.workers.registry import Handler, Registry
from everturn.workers.results import Fits, fits_http
from everturn.workers.schemas import called
from everturn.workers.tools import Effect, Options, to_poll, to_tool
from everturn.workers.vouching import Secret, Secrets, Vouching

if TYPE_CHECKING:
    from everturn.workers.asgi import AsgiApp

F = TypeVar("F", bound=Callable[..., Any])
H = TypeVar("H", bound=Handler)

MAX_THREADS = 40
"""Sync tools that run at once under ASGI, where nothing else is asked for."""


class Worker:
    """Tools and handlers that answer an engine's decisions, on Lambda or behind any ASGI server."""

    def __init__(
        self,
        *,
        secret: Secret | None = None,
        secrets: Secrets | None = None,
        max_body_bytes: int = MAX_REQUEST_BYTES,
        max_threads: int = MAX_THREADS,
        shows_errors: bool = True,
    ) -> None:
        """Make a worker without tools.

        With `secret`, or with one of those that `secrets` returns at the moment, every HTTP request
        must be signed; with neither, none is checked. `shows_errors` tells the model what an
        exception says that is no `ToolError`; a traceback never leaves the log.
        Raises `ValueError` for an empty secret, or for both.
        """
        self._vouching = Vouching(secret, secrets)
        self._registry = Registry()
        self._max_body_bytes = max_body_bytes
        self._max_threads = max_threads
        self._shows_errors = shows_errors

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        /,
        *,
        effect: Effect | None = None,
        timeout_secs: float | None = None,
        overlap: bool | None = None,
        approval: Literal["never", "always"] | None = None,
        retry: Mapping[str, Any] | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> Callable[[F], F]: ...

    def tool(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Any,
    ) -> Any:
        """Register a function as a tool, and return it as it is.

        Its name, docstring and type hints are what the model sees. Raises `TypeError` for a
        function that no model could call, `ValueError` for a name that is taken.
        """
        made = Options(**options)

        def register(given: F) -> F:
            around = sys._getframe(depth).f_locals  # types defined beside the function
            tool = to_tool(given, around, made, name=name, description=description)
            self._registry.add_tool(tool)
            return given

        depth = 1 if function is None else 2
        return register if function is None else register(function)

    def poll(self, tool: str | Callable[..., Any]) -> Callable[[F], F]:
        """Register a function that says how far a task of `tool` is, and return it as it is.

        It takes any of `task_id`, `continuation`, `pending_answer`, and a `Context`; it returns the
        tool's result, `Pending` or `AskUser`. Raises as `tool`.
        """
        name = tool if isinstance(tool, str) else self._name_of(tool)

        def register(function: F) -> F:
            around = sys._getframe(1).f_locals
            self._registry.add_poll(to_poll(name, function, around))
            return function

        return register

    def on(self, trigger: str) -> Callable[[H], H]:
        """Register a handler of a trigger such as `llm.finished`, and return it as it is.

        It gets the decision request and returns a decision response, or None for what the engine
        proposes, which is the answer to every trigger without a handler. Raises `ValueError` for
        a trigger that there is not, or one that has a handler.
        """
        self._registry.check_trigger(trigger)

        def register(handler: H) -> H:
            self._registry.add_handler(trigger, handler)
            return handler

        return register

    def agent_tools(self) -> list[dict[str, Any]]:
        """Return the `tools` of an agent that this worker serves, for `PUT /v1/agents`.

        Raises `ValueError` for what the engine would refuse, `TypeError` for a parameter whose type
        has no JSON Schema.
        """
        return self._registry.declarations()

    def answer(self, request: Mapping[str, Any]) -> Response:
        """Return the decision response to a decision request, as a test may want it.

        Raises `NotADecision`, and what a handler raises.
        """
        answered: tuple[Response, bytes] = run(self._ask(request, call_here, fits_http))
        return answered[0]

    def lambda_handler(self, event: Any, context: object = None) -> Any:  # noqa: ARG002
        """Serve Lambda: an invocation with a decision request, or an event of a Function URL."""
        return handle(event, self._ask_here, self._vouching, self._max_body_bytes)

    @functools.cached_property
    def asgi(self) -> AsgiApp:
        """The worker as an ASGI 3 application, the same one every time."""
        from everturn.workers.asgi import AsgiApp  # noqa: PLC0415  40 ms, not paid on Lambda

        return AsgiApp(self._ask, self._vouching, self._max_body_bytes, self._max_threads)

    async def _ask(self, request: Any, call: Call, fits: Fits) -> tuple[Response, bytes]:
        return await answer(self._registry, request, call, fits, shows_errors=self._shows_errors)

    async def _ask_here(self, request: Any, fits: Fits) -> tuple[Response, bytes]:
        return await self._ask(request, call_here, fits)

    def _name_of(self, function: Callable[..., Any]) -> str:
        for tool in self._registry.tools.values():
            if tool.function is function:
                return tool.name
        raise ValueError(f"{called(function)} is no tool of this worker")
