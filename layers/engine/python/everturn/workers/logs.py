"""The library's logger: plain `logging`, so that it goes wherever its user's program logs to."""

from __future__ import annotations

import logging
from typing import Final

logger: Final = logging.getLogger("everturn.workers")
"""Says what failed and in which call; never arguments, results or secrets."""
