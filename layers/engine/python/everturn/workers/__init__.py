"""The library for worker authors: tools that an engine calls, on Lambda or any ASGI server.

Needs pydantic and nothing else, and knows no other part of the engine than its wire. See
docs/workers.md.
"""

from everturn.workers.answers import NotADecision
from everturn.workers.context import Context, Identity, UserAnswer
from everturn.workers.replies import AskUser, Pending, TaskStarted, ToolError
from everturn.workers.vouching import verify
from everturn.workers.worker import Worker

__all__ = [
    "AskUser",
    "Context",
    "Identity",
    "NotADecision",
    "Pending",
    "TaskStarted",
    "ToolError",
    "UserAnswer",
    "Worker",
    "verify",
]
