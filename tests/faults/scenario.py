"""What is odd about one run of a session before anybody dies; the runs are in `scenarios`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from everturn.session.commands import Deliveries

PATIENT: Final = {
    "timeout_secs": 3600,
    "max_retries": 9,
    "backoff_base_secs": 0.01,
    "backoff_max_secs": 60,
}
"""Attempts enough for every failure of a script and two deaths."""

TOOLS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "look", "description": "Looks.", "effect": "read", "retry": PATIENT},
    {"name": "put", "description": "Puts.", "effect": "idempotent_write", "retry": PATIENT},
    {"name": "send", "description": "Sends.", "effect": "non_idempotent_write"},
    {
        "name": "dawdle",
        "description": "Looks, and waits long before it tries again.",
        "effect": "read",
        "retry": {**PATIENT, "backoff_base_secs": 30},
    },
)

CLIENT_TOOLS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "ask", "description": "Asks the user.", "handler": "client"},
    {
        "name": "ask_soon",
        "description": "Asks the user, for three days.",
        "handler": "client",
        "effect": "read",
        "timeout_secs": 3 * 86_400,
        "retry": PATIENT,
    },
)
"""Tools that the client runs: `owner.Owner`."""

MODEL: Final = "the model"
"""What model calls that the worker runs are called in its script."""

FUNCTION: Final = "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-tools"
TOOL_NAMES: Final = tuple(tool["name"] for tool in TOOLS)
SLOW_S: Final = 3600
QUICK_S: Final = 15
"""A driver waits so long for a function itself. Source: architecture, section 2."""

NOT_REPEATABLE: Final = "send"
"""The tool that must never be started twice for one call."""

PLENTY_MS: Final = 900_000

Reader = Literal["subscriber", "late subscriber", "leaving subscriber", "poller", "run reader"]
"""Who reads along: a WebSocket that subscribes as soon as there is a session; one that does so in
the middle of an answer; one that goes and comes back with its cursor; a server-sent events client,
which comes back with its cursor after every answer; a client of each run, which does the same."""

End = Literal["done", "failed", "cancelled", "quarantined"]
"""`quarantined` is what becomes of the session in the last turn, which does not end."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Some turns of one session, and what is odd about them."""

    name: str
    turns: tuple[str, ...]
    """What the user says, one after another; the client repeats what was not accepted."""

    anew: frozenset[str] = frozenset()
    """Turns whose input is a view of nothing that was: the conversation branches at its root."""

    door: Literal["http_api", "websocket", "inbox", "runs"] = "http_api"
    """Where the inputs go; behind `inbox` all but the first, which makes the session.

    Those that may wait are sent at once. `runs` are started, each with settings of its own.
    """

    quiet: frozenset[str] = frozenset()
    """Turns that do not begin by themselves, but on the way of a later one."""

    readers: tuple[Reader, ...] = ("subscriber",)
    worker: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the first requests for a tool meet: `error`, `429`, `503`, `503 30` (Retry-After), or
    `later`, for a call that is left open; `ask`, or `task 30` (to be polled every 30 s).

    Polls of `look` are requests for `look poll`, and may be `pending`, too. Those for `MODEL` meet
    `error` (for good), `cut` (a reply that is cut off) or `503`.
    """

    deliveries: Deliveries = field(
        default_factory=lambda: Deliveries(backoff_base_s=0.01, backoff_max_s=60)
    )

    decides: Literal["engine", "worker"] = "engine"
    """Who answers the questions; the worker answers what is proposed."""

    agent_says: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the agent has besides."""

    children: bool = False
    """The agent may start children of the agent `poet`, which is like it otherwise."""

    writes_home: bool = False
    """Children send their parent a message, which is busy then and takes it as its next turn."""

    budgets: Mapping[str, Any] | None = None
    """What the agent lets a turn and a session spend."""

    tenant_tokens: int | None = None
    """What the tenant may spend. Figures lag behind, so it must be more than the turns do."""

    model: Literal["server", "worker"] = "server"
    """Who runs the model calls."""

    pauses: bool = False
    """The agent wants to be asked when a model call fails, or is cut off; its owner resumes."""

    answers_after_ms: int = 1_000
    """How long the owner thinks before it answers a tool of its own."""

    by_machine: frozenset[str] = frozenset()
    """Slow tools; the worker is a Lambda function then, and the step machine runs these."""

    remaining_ms: tuple[int, ...] = ()
    """How long the driver has for the first messages; plenty for those after them."""

    lost: frozenset[Literal["wake-up", "stream record"]] = frozenset()
    """What never arrives: the wake-up of an input, the records of the table's stream."""

    fanout_lags: bool = False
    """The stream's records come only when nothing else moves."""

    lazy_lanes: bool = False
    """Frames go out only when a function waits for it: whoever dies takes all of them along."""

    timers_late_ms: int = 0
    stops: Literal["", "in the answer", "in the end"] = ""
    """When the user stops the first turn: in the midst of the model's words, or much later, when
    all that happens by itself has happened."""

    doom: str = ""
    """Every process that comes to this place dies: `driver: before the model streams`."""

    unreadable: frozenset[str] = frozenset()
    """Methods of the store that find what drivers and recovery cannot read."""

    ends: tuple[End, ...] = ()
    """How each turn ends; those that are not named are done."""

    swept: bool = False
    """Only the sweep can find it."""

    @property
    def agent(self) -> dict[str, Any]:
        """What is not as usual about the agent."""
        if not self.by_machine:
            tools = [dict(tool) for tool in (*TOOLS, *CLIENT_TOOLS)]
            wish = "interrupt" if self.pauses else None
            asks = {"on_failure": wish, "on_truncated": wish, "budgets": self.budgets}
            below = {"sub_agents": [{"id": "poet"}]} if self.children else {}
            told = {"tools": tools, "decides": self.decides, "handler": self.model}
            return {**told, **asks, **below, **self.agent_says}
        limits = {name: SLOW_S if name in self.by_machine else QUICK_S for name in TOOL_NAMES}
        tools = [{**tool, "timeout_secs": limits[tool["name"]]} for tool in TOOLS]
        return {"worker": FUNCTION, "tools": tools}

    def end_of(self, turn: int) -> End:
        """Return how a turn ends, counted from 0."""
        return self.ends[turn] if turn < len(self.ends) else "done"

    def remaining_ms_of(self, message: int) -> int:
        """Return how long the driver of a message has."""
        return self.remaining_ms[message] if message < len(self.remaining_ms) else PLENTY_MS
