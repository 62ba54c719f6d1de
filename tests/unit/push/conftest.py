"""Lanes to a scripted gateway."""

from __future__ import annotations

import pytest

from everturn.push.lanes import Lanes
from unit.push.gateway import QUICK, Gateway


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def lanes(gateway: Gateway) -> Lanes:
    return Lanes(gateway.post, on_end=gateway.on_end, limits=QUICK)
