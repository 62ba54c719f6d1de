"""The real clock and the real randomness, behind the `Clock` port."""

from __future__ import annotations

import secrets
import time


class SystemClock:
    """`Clock` of this machine."""

    def now_ms(self) -> int:
        """Return epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def entropy(self) -> bytes:
        """Return 16 random bytes."""
        return secrets.token_bytes(16)
