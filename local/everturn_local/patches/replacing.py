"""Replace one attribute and put the old one back. Nothing here knows what is patched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ABSENT = object()


@contextmanager
def replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    """Set `owner.name` to `value` inside the block.

    A name that `owner` only inherits is removed again instead of being pinned.
    """
    before = vars(owner).get(name, _ABSENT)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
