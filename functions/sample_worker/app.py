"""The sample worker: three tools behind the decision protocol; what they do stands beside it.

Nothing is verified: it is there to try things with.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field
from sample_clock import LocalTime, time_in
from sample_convert import Converted, converted
from sample_notes import MAX_NOTE_CHARS, Action, Notes, changed

from everturn.workers import Context, Worker

worker = Worker()


@worker.tool(effect="read")
def clock(timezone: str = "UTC") -> LocalTime:
    """The current date and time in a time zone.

    Args:
        timezone: IANA name such as Europe/Paris; UTC if left out.
    """
    return time_in(timezone, datetime.now(UTC))


@worker.tool(effect="read")
def convert(
    value: float,
    source: Annotated[
        str, Field(alias="from", description="Unit of the value, such as km, lb, F or MiB.")
    ],
    target: Annotated[str, Field(alias="to", description="Unit wanted, of the same kind.")],
) -> Converted:
    """Converts length, mass, temperature, volume, area, speed, time and data exactly."""
    return converted(value, source, target)


@worker.tool(effect="non_idempotent_write", overlap=False)
def note_pad(
    action: Action,
    context: Context,
    text: Annotated[str, Field(max_length=MAX_NOTE_CHARS)] = "",
) -> Notes:
    """Keeps short notes for this session: adds one, lists them, or clears them all."""
    state, notes = changed(action, text, context.state)
    if state != context.state:
        context.set_state(state)
    return notes


lambda_handler = worker.lambda_handler
