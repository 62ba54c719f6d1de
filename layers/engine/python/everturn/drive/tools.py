"""What a driver works with, made once a process; nothing happens here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from everturn.commands.attempts import Attempts
from everturn.commands.crossing import Crossing
from everturn.commands.reading import AgentLookup, SessionReader
from everturn.drive.effects import Body, Effects
from everturn.drive.machine import PATIENCE_S
from everturn.drive.watch import Watching, watching
from everturn.llm.models import Models
from everturn.ports.clock import Clock
from everturn.ports.decider import Decider
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.ports.wake import Wake
from everturn.push.lanes import Lanes
from everturn.session.commands import Deliveries
from everturn.store.upload_places import UploadPlaces


@dataclass(frozen=True, slots=True)
class Tools:
    """Adapters and policies."""

    store: SessionStore
    reader: SessionReader
    agents: AgentLookup
    wake: Wake
    clock: Clock
    models: Models
    decider: Decider
    secrets: Callable[[Mapping[str, Any]], str]
    new_lanes: Callable[[SessionKey], Lanes]
    attempts: Callable[[], Attempts]
    runnable_s: int
    crossing: Crossing
    """What is done in other sessions."""

    uploads: UploadPlaces
    """Where the files are that messages refer to."""

    functions: str = ""
    """How the ARNs of Lambda functions begin that may be workers; empty where IAM alone knows."""

    deliveries: Deliveries = field(default_factory=Deliveries)
    new_effects: Callable[[Body], Effects] = Effects
    """How effects run beside the loop; a test may want them one at a time."""

    watching: Watching = watching
    patience_s: float = PATIENCE_S
    """How long a step machine, or a table, that does not answer is asked again."""

    max_child_run_s: float | None = None
    """How long a child may run. Source: decision-protocol B-11."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """What one queue message and one invocation bring."""

    request_id: str
    receive_count: int
    remaining_ms: Callable[[], int]
