"""What every event source needs to deliver: data only."""

from __future__ import annotations

from dataclasses import dataclass

from everturn_local.clients import Clients
from everturn_local.faults import Faults
from everturn_local.functions import Functions
from everturn_local.meter import Meter


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Where events go, how they are disturbed, and who counts them."""

    functions: Functions
    clients: Clients
    faults: Faults
    meter: Meter
    region: str
