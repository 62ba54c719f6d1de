"""Let go of moto's dead objects. Nothing that is still in use is touched.

Upstream gap (moto 5.2.5): every model instance ever made (items, messages, stream records) stays
alive in its class's `instances_tracked`, so a long run only grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.core.common_models import BaseModel

from everturn_local.patches.replacing import replaced


@contextmanager
def untracked_instances() -> Iterator[None]:
    """Make instances without noting them; moto's dashboard shows less, nothing else does."""

    def new(cls: type[Any], *_args: Any, **_named: Any) -> Any:
        return object.__new__(cls)

    with replaced(BaseModel, "__new__", staticmethod(new)):
        yield
