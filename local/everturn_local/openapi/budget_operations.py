"""What the operations on budgets take and give."""

from __future__ import annotations

from typing import Any, Final

from everturn.protocol.budgets import (
    BudgetGone,
    Budgets,
    SessionBudgetsView,
    SharedBudget,
    SharedBudgetView,
)
from everturn.rejections import (
    InvalidId,
    ModelRequired,
    NotYetSupported,
    SessionQuarantined,
    UnknownBudget,
    UnknownSession,
)
from everturn_local.openapi.shape import BODY, Answer, Spoken

BUDGETS: Final[dict[str, Any]] = {
    "turn": {"cost": "0.50"},
    "session": {"cost": "5", "tokens": 2_000_000},
    "mode": "pause",
}

SPENT: Final[dict[str, Any]] = {
    "session_id": "first",
    "mode": "pause",
    "turn": {"limit": {"cost": "0.50"}, "spent": {"cost": "0.0125", "tokens": 4_100}},
    "session": {
        "limit": {"cost": "5", "tokens": 2_000_000},
        "spent": {"cost": "0.31", "tokens": 98_000},
    },
}

OF_SESSION: Final = (InvalidId, UnknownSession, SessionQuarantined)

SHARED: Final[dict[str, Any]] = {"cost": "200", "period": "month", "mode": "fail"}

SHARED_SPENT: Final[dict[str, Any]] = {
    "scope": "tenant",
    "limit": {"cost": "200"},
    "spent": {"cost": "17.35", "tokens": 4_210_000},
    "mode": "fail",
    "period": "month",
    "since": "2026-01-01T12:00:00.000Z",
}

OWNER_SPENT: Final[dict[str, Any]] = {**SHARED_SPENT, "scope": "owner", "owner_id": "user-7"}

GONE: Final[dict[str, Any]] = {"ok": True, "woken": 0}

LAG: Final = "What model calls used is counted about a second after it was recorded."

BUDGET_OPERATIONS: Final[dict[str, Spoken]] = {
    "get_tenant_budget": Spoken(
        "Read what the tenant may spend",
        f"The budget of all sessions together, and what they have spent. {LAG}",
        (Answer(200, "The budget.", SharedBudgetView, SHARED_SPENT),),
        refusals=(UnknownBudget,),
    ),
    "put_tenant_budget": Spoken(
        "Set what the tenant may spend",
        "What was spent stays, unless the period is another one. The first budget of a tenant is "
        "heeded everywhere within a minute. Sessions that a budget pauses look again.",
        (Answer(200, "The budget.", SharedBudgetView, {**SHARED_SPENT, "woken": 0}),),
        body=SharedBudget,
        bodies=(("two hundred dollars a month", SHARED),),
        refusals=(*BODY, NotYetSupported),
    ),
    "delete_tenant_budget": Spoken(
        "Let the tenant spend what it needs",
        "Takes the budget and its figures away. Sessions that a budget pauses look again.",
        (Answer(200, "It is gone.", BudgetGone, GONE),),
        refusals=(UnknownBudget,),
    ),
    "get_owner_budget": Spoken(
        "Read what an owner may spend",
        f"The budget of all sessions of the owner, and what they have spent. {LAG}",
        (Answer(200, "The budget.", SharedBudgetView, OWNER_SPENT),),
        refusals=(InvalidId, UnknownBudget),
    ),
    "put_owner_budget": Spoken(
        "Set what an owner may spend",
        "As for the tenant. The owner need not have a session yet.",
        (Answer(200, "The budget.", SharedBudgetView, {**OWNER_SPENT, "woken": 0}),),
        body=SharedBudget,
        bodies=(("two hundred dollars a month", SHARED),),
        refusals=(*BODY, InvalidId, NotYetSupported),
    ),
    "delete_owner_budget": Spoken(
        "Let an owner spend what it needs",
        "Takes the budget and its figures away. Sessions that a budget pauses look again.",
        (Answer(200, "It is gone.", BudgetGone, GONE),),
        refusals=(InvalidId, UnknownBudget),
    ),
    "get_session_budgets": Spoken(
        "Read what a session may spend",
        "The budgets that hold in the session, and what its open turn and it have spent.",
        (Answer(200, "The budgets.", SessionBudgetsView, SPENT),),
        refusals=OF_SESSION,
    ),
    "put_session_budgets": Spoken(
        "Set what a session may spend",
        "Replaces the budgets that the session has from its agent. A model call that was held back "
        "goes on where there is room for it now.",
        (Answer(200, "The budgets.", SessionBudgetsView, SPENT),),
        body=Budgets,
        bodies=(("a turn and the whole session", BUDGETS),),
        refusals=(*BODY, *OF_SESSION, ModelRequired),
    ),
    "delete_session_budgets": Spoken(
        "Let a session spend what it needs",
        "Takes the session's budgets away. A model call that was held back goes on.",
        (
            Answer(
                200, "There are none.", SessionBudgetsView, {"session_id": "first", "mode": "pause"}
            ),
        ),
        refusals=(*OF_SESSION, ModelRequired),
    ),
}
