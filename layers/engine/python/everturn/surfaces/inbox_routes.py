"""What the routes of the inbox do: a request to a use case, its result to an answer; no rules."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from everturn.commands.inbox import Inbox
from everturn.protocol.limits import MAX_INPUT_BODY_BYTES
from everturn.surfaces.routes import Operation, Request, Result
from everturn.surfaces.session_routes import named_session


def inbox_operations(inbox: Inbox) -> dict[str, Operation]:
    """Return the operations by name."""

    def enqueue_item(request: Request) -> Result:
        body = request.body(MAX_INPUT_BODY_BYTES)
        done = inbox.enqueue(request.caller, named_session(request), body)
        told: dict[str, Any] = {"turn_id": done.turn_id}
        if done.item_id is not None:
            told |= {"item_id": done.item_id, "placement": "queued"}
        if done.duplicate is not None:
            told |= {"duplicate": True, "turn_status": done.duplicate}
        return HTTPStatus.ACCEPTED, told

    def edit_item(request: Request) -> Result:
        body = request.body(MAX_INPUT_BODY_BYTES)
        inbox.edit(request.caller, named_session(request), request.path["item_id"], body)
        return HTTPStatus.OK, {"ok": True}

    def drop_item(request: Request) -> Result:
        inbox.drop(request.caller, named_session(request), request.path["item_id"])
        return HTTPStatus.OK, {"ok": True}

    return {"enqueue_item": enqueue_item, "edit_item": edit_item, "drop_item": drop_item}
