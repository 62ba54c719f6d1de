"""What each operation of the HTTP API takes and gives: the half of the table that no Lambda needs.

It must not say how a route is reached or who may use it: that is `everturn.surfaces.routes`.
"""

from __future__ import annotations

from typing import Final

from everturn_local.openapi import examples, run_examples
from everturn_local.openapi.agent_operations import AGENT_OPERATIONS
from everturn_local.openapi.agent_session_operations import AGENT_SESSION_OPERATIONS
from everturn_local.openapi.budget_operations import BUDGET_OPERATIONS
from everturn_local.openapi.decision_operations import DECISION_OPERATIONS
from everturn_local.openapi.inbox_operations import INBOX_OPERATIONS
from everturn_local.openapi.model_operations import MODEL_OPERATIONS
from everturn_local.openapi.oauth_operations import OAUTH_OPERATIONS
from everturn_local.openapi.other_operations import OTHER_OPERATIONS
from everturn_local.openapi.run_operations import RUN_OPERATIONS
from everturn_local.openapi.run_stream_operations import RUN_STREAM_OPERATIONS
from everturn_local.openapi.schemas import Schema
from everturn_local.openapi.session_operations import SESSION_OPERATIONS
from everturn_local.openapi.shape import IDENTIFIER, Spoken

PATH_PARAMETERS: Final[dict[str, tuple[str, str, Schema]]] = {
    "session_id": ("The session.", "first", IDENTIFIER),
    "turn_id": ("The turn.", "t1", IDENTIFIER),
    "slug": ("The workspace: the tenant.", "acme", IDENTIFIER),
    "run_id": ("The run.", run_examples.RUN_ID, IDENTIFIER),
    "item_id": ("The message that waits.", run_examples.RUN_ID, {"type": "string", "minLength": 1}),
    "agent_id": ("The agent.", "helper", IDENTIFIER),
    "owner_id": ("The owner.", "user-7", IDENTIFIER),
    "interrupt_id": (
        "The wait, as the session has it.",
        "call_8d63-input-1",
        {"type": "string", "minLength": 1},
    ),
    "upload_id": ("The upload.", examples.UPLOAD_ID, {"type": "string", "format": "uuid"}),
}
"""Parts of paths: what they name, an example, the spelling."""

OPERATIONS: Final[dict[str, Spoken]] = (
    OTHER_OPERATIONS
    | SESSION_OPERATIONS
    | DECISION_OPERATIONS
    | BUDGET_OPERATIONS
    | AGENT_OPERATIONS
    | MODEL_OPERATIONS
    | OAUTH_OPERATIONS
    | INBOX_OPERATIONS
    | RUN_OPERATIONS
    | RUN_STREAM_OPERATIONS
    | AGENT_SESSION_OPERATIONS
)
"""By the operation's name in `everturn.surfaces.routes`."""
