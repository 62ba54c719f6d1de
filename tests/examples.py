"""How many examples a costly property is tried on, as a share of what hypothesis' profile says."""

from __future__ import annotations

from hypothesis import settings


def per_cent(share: int) -> int:
    """Return so many per cent of the profile's examples: the profile `exploring` tries more."""
    return settings().max_examples * share // 100
