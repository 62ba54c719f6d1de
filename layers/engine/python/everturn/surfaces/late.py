"""Routes whose code is imported when the first of them is asked for: a cold start is a feature.

It must not know what a route does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from everturn.surfaces.routes import ROUTES, Operation, Request, Result

Make = Callable[[], dict[str, Operation]]


def late(under: str, make: Make) -> dict[str, Operation]:
    """Return an operation for each route of `http_api` below a path; `make` returns the real ones.

    It is called once, when the first of them is asked for.
    """
    made = lru_cache(maxsize=1)(make)
    named = [one for one in ROUTES if one.function == "http_api" and one.path.startswith(under)]
    return {route.operation: _late(route.operation, made) for route in named}


def _late(name: str, made: Make) -> Operation:
    def operation(request: Request) -> Result:
        return made()[name](request)

    return operation
