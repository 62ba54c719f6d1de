"""Tools that ask their user, and a tool whose work goes on elsewhere for as long as it takes.

    uvicorn waiting:app --port 8809

The oven is played by a dict; a real one is another service, which knows its tasks by their ids.
"""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field

from everturn.workers import AskUser, Context, Pending, TaskStarted, ToolError, Worker

ASKS_FROM_GUESTS = 9
LOOKS_UNTIL_DONE = 3
POLLS_EVERY_S = float(os.environ.get("BAKERY_POLL_SECONDS", "1"))

worker = Worker(secret=os.environ.get("EVERTURN_WORKER_SECRET"))


class Oven:
    """How often each cake was looked at."""

    looks: dict[str, int] = {}  # noqa: RUF012  one oven, for all


@worker.tool(effect="non_idempotent_write", timeout_secs=30)
def book(
    day: Annotated[str, Field(min_length=1)],
    guests: Annotated[int, Field(ge=1)],
    context: Context,
) -> str | AskUser:
    """Books a table. A large one is asked about: is it certain, and under which name?"""
    answers = [one.answer for one in context.answers]
    if guests >= ASKS_FROM_GUESTS and not answers:
        return AskUser(f"A table for {guests} cannot be cancelled. Book it?", ("yes", "no"))
    if answers[:1] == ["no"]:
        return "The user does not want the table after all."
    if answers[:1] == ["yes"] and len(answers) == 1:
        return AskUser("Under which name?")
    name = f", for {answers[1]}" if answers else ""
    return f"A table for {guests} on {day}{name}"


@worker.tool(effect="idempotent_write")
async def bake(cake: str, context: Context) -> TaskStarted:
    """Bakes a cake."""
    Oven.looks[context.call_id] = 0
    return TaskStarted(context.call_id, POLLS_EVERY_S, continuation=cake)


@worker.poll("bake")
async def baked(task_id: str, continuation: str, context: Context) -> str | Pending | AskUser:
    """Says how far a cake is; before the end it wants to know about the icing."""
    if task_id not in Oven.looks:
        raise ToolError(f"There is no cake {task_id} in the oven.")
    if context.answers:
        (icing,) = context.answers
        wish = icing.answer if icing.resolution == "answered" else "none"
        return f"{continuation}, icing: {wish}"
    Oven.looks[task_id] += 1
    if Oven.looks[task_id] < LOOKS_UNTIL_DONE:
        return Pending()
    return AskUser("Which icing?", ("sugar", "chocolate"), allows_free_text=True)


app = worker.asgi
