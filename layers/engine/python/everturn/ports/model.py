"""The role that answers model requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol


class Model(Protocol):
    """A provider's model."""

    def stream(
        self,
        request: Any,
        *,
        attempt: int,
        cancelled: Callable[[], bool],
        failed_tool_calls: frozenset[str] = frozenset(),
    ) -> Iterator[Any]:
        """Yield `llm.chunks` as they arrive. Raises `ModelFailed`, never a library's error."""
        ...
