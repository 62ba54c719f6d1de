"""`TokenKeys` that a test gives out itself; the first one signs."""

from __future__ import annotations

from everturn.ports.tokens import TokenKey

OLD = TokenKey("old", "a-secret-of-yesterday-" + "o" * 20)
NEW = TokenKey("new", "a-secret-of-today-" + "n" * 24)


class FixedKeys:
    """`TokenKeys`."""

    def __init__(self, *keys: TokenKey) -> None:
        self.keys = keys or (NEW, OLD)

    def current(self) -> TokenKey:
        return self.keys[0]

    def named(self, kid: str) -> TokenKey | None:
        return next((key for key in self.keys if key.kid == kid), None)
