"""Whether a caller may do what it asks for: the one place where privilege and scope count.

It must not know whose a thing is: that shows only once the thing has been read.
"""

from __future__ import annotations

from collections.abc import Mapping

from everturn.ports.callers import NOBODY, Caller, Who
from everturn.rejections import InsufficientPrivilege, InsufficientScope, UnknownRoute
from everturn.surfaces.callers import Callers
from everturn.surfaces.routes import Route


def admitted(callers: Callers, route: Route, headers: Mapping[str, str]) -> Caller:
    """Return who calls a route, if it may; `headers` have their names in lower case.

    Raises `Unauthenticated`, `InsufficientPrivilege`, `InsufficientScope`. Source: A-1, O-1.
    """
    if route.who is Who.ANYONE:
        return NOBODY
    caller = callers.by_headers(headers)
    if caller.privilege < route.who:
        raise InsufficientPrivilege(
            "This route takes an API key; client tokens are for end users.", required="machine"
        )
    check_scope(caller, route.scope)
    if route.also:
        check_scope(caller, route.also)
    return caller


def check_scope(caller: Caller, scope: str) -> None:
    """Accept a caller that may do what needs `scope`. Raises `InsufficientScope`."""
    if not caller.allows(scope):
        raise InsufficientScope(f"The client token lacks the scope {scope}.", required=scope)


def check_slug(caller: Caller, slug: str) -> None:
    """Accept the workspace of a path that is the caller's tenant. Raises `UnknownRoute`."""
    if slug != caller.tenant:
        raise UnknownRoute(
            "There is no such workspace.",
            hint="The path names the workspace that the credential belongs to.",
        )
