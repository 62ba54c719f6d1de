"""Events of the runs view: what a run was asked to be, and what a session was made for.

They decide nothing by themselves: a run is a turn. Source: agent-runs.md.
"""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Json, Stored


class SessionDescribed(Stored):
    """A session was made with settings that its runs fall back to. Source: agent-runs 8.6."""

    type: Literal["session.described"] = "session.described"
    description: Json = None
    """`{spec, metadata?, name?}`, as the caller wrote them."""


class RunRequested(Stored):
    """A turn was asked for with settings of its own; `turn_id` is that turn's, open or not yet."""

    type: Literal["run.requested"] = "run.requested"
    run: Json = None
    """`{spec, metadata?, name?}`, as the caller wrote them, without the messages."""

    config: Json = None
    """The `AgentConfig` that the turn goes by; none where a worker decides."""

    client: Json = None
    """Where a worker decides: the `ClientContext` that its question carries."""

    messages: Json = None
    """Of a run that waits in the inbox: its messages, each with its id."""
