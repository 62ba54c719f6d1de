"""Nobody logs here: processes die by the thousand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everturn.observability import logger


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    level = logger.log_level
    logger.setLevel("CRITICAL")
    yield
    logger.setLevel(level)
