"""The same worker with `everturn.workers`: types become schemas, and only the decisions are left.

    uvicorn library:app --port 8809

Here the approval is asked for a step earlier: when the model has asked for the transfer. The calls
of an answer that pauses wait until somebody resumes.
"""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

from pydantic import BaseModel, Field

from everturn.workers import Context, ToolError, Worker

HELP = "I tell your balance and send money. From 100.00 on I ask first."
ASKS_FROM_CENTS = 10_000

worker = Worker(secret=os.environ.get("EVERTURN_WORKER_SECRET"))


class Sent(BaseModel):
    """What was sent, and what is left."""

    to: str
    sent: int
    left: int


class Account:
    """What it holds, and what each call was told: a call that comes again is told the same."""

    cents = 100_000
    answers: dict[tuple[str, str], Sent] = {}  # noqa: RUF012  one account, for all


@worker.tool(effect="read", overlap=False)
def get_balance() -> dict[str, int]:
    """Tells what the account holds, in cents."""
    return {"cents": Account.cents}


@worker.tool(effect="idempotent_write")
async def transfer(
    to: Annotated[str, Field(min_length=1)],
    cents: Annotated[int, Field(ge=1)],
    context: Context,
) -> Sent:
    """Sends money from the account."""
    key = (context.session_id, context.call_id)
    if key not in Account.answers:
        if cents > Account.cents:
            raise ToolError(f"There are only {Account.cents} cents.")
        Account.cents -= cents
        Account.answers[key] = Sent(to=to, sent=cents, left=Account.cents)
    return Account.answers[key]


@worker.on("client.messages")
def help_without_a_model(request: dict[str, Any]) -> dict[str, Any] | None:
    """Answer `/help`, and leave everything else to the engine."""
    if request["trigger"]["messages"][-1].get("content") != "/help":
        return None
    reply = {"role": "assistant", "content": HELP}
    messages = [*request["proposed"]["messages"], reply]
    return {"messages": messages, "actions": [{"type": "done", "data": HELP}]}


@worker.on("llm.finished")
def ask_first(request: dict[str, Any]) -> dict[str, Any] | None:
    """Pause before large transfers."""
    proposed = request["proposed"]
    large = [one for one in proposed.get("actions", ()) if is_large(one)]
    if not large:
        return None
    asked = {"tool": "transfer", **arguments_of(large[0])}
    pause = {"type": "interrupt", "reason": "approval", "payload": asked}
    return {**proposed, "actions": [*proposed["actions"], pause]}


@worker.on("interrupt.resumed")
def go_on(request: dict[str, Any]) -> dict[str, Any]:
    """Let the calls that waited run, or end them."""
    if (request["trigger"].get("payload") or {}).get("approved") is True:
        return {}
    no = {"type": "tool.error", "error": "The user said no."}
    return {"actions": [{**no, "id": call["id"]} for call in request["calls"] if is_large(call)]}


def is_large(call: dict[str, Any]) -> bool:
    """Tell whether a call is a transfer that somebody has to agree to."""
    cents = arguments_of(call).get("cents") if call.get("name") == "transfer" else None
    return isinstance(cents, int) and cents >= ASKS_FROM_CENTS


def arguments_of(call: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call; none where the model did not write an object."""
    given = call["arguments"]
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


app = worker.asgi
