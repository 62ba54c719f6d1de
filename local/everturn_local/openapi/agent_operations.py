"""What the operations on agents take and give."""

from __future__ import annotations

from typing import Final

from everturn.commands.agents import DEFAULT_AGENTS, PAGE_AGENTS
from everturn.llm.catalogue import UnsupportedEffort
from everturn.protocol.agent import AgentDefinition
from everturn.protocol.views import (
    AgentsPage,
    AgentView,
    Ok,
)
from everturn.rejections import (
    DuplicateToolName,
    FormatRequiresWorker,
    InvalidHandler,
    InvalidId,
    InvalidToolSchema,
    NotYetSupported,
    SchemaViolation,
    UnknownAgent,
)
from everturn_local.openapi import examples
from everturn_local.openapi.shape import (
    BODY,
    CURSOR,
    Answer,
    Spoken,
    limit_of,
)

AGENT_OPERATIONS: Final[dict[str, Spoken]] = {
    "list_agents": Spoken(
        "List agents",
        "All agents of the tenant, by their ids.",
        (Answer(200, "A page of agents.", AgentsPage, examples.AGENTS),),
        takes=(limit_of("agents", PAGE_AGENTS, DEFAULT_AGENTS), CURSOR),
        refusals=(SchemaViolation, InvalidId),
    ),
    "put_agent": Spoken(
        "Write an agent",
        "Sessions that exist keep the definition that they began with; only the worker and the "
        "place of its secret are read anew.",
        (
            Answer(200, "It replaced the one that was there.", AgentView, examples.AGENT_SHOWN),
            Answer(201, "It is new.", AgentView, examples.AGENT_SHOWN),
        ),
        body=AgentDefinition,
        bodies=(("without tools", {"model": "demo"}), ("with a worker", examples.AGENT)),
        refusals=(
            *BODY,
            InvalidId,
            InvalidHandler,
            FormatRequiresWorker,
            DuplicateToolName,
            InvalidToolSchema,
            NotYetSupported,
            UnsupportedEffort,
        ),
    ),
    "get_agent": Spoken(
        "Read an agent",
        "Its definition; of a secret only the place.",
        (Answer(200, "The agent.", AgentView, examples.AGENT_SHOWN),),
        refusals=(UnknownAgent,),
    ),
    "delete_agent": Spoken(
        "Delete an agent",
        "Its sessions keep what they pinned, without a worker.",
        (Answer(200, "It is gone.", Ok, {"ok": True}),),
        refusals=(UnknownAgent,),
    ),
}
