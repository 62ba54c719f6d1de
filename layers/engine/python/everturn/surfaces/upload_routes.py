"""What the routes of uploads do: a request to a use case, its result to an answer; no rules."""

from __future__ import annotations

from http import HTTPStatus

from everturn.commands.uploads import Uploads
from everturn.protocol.limits import MAX_UPLOAD_REQUEST_BYTES
from everturn.surfaces.routes import Operation, Request, Result


def upload_operations(uploads: Uploads) -> dict[str, Operation]:
    """Return the operations on uploads by name."""

    def create_upload(request: Request) -> Result:
        body = request.body(MAX_UPLOAD_REQUEST_BYTES)
        return HTTPStatus.CREATED, uploads.create(request.caller, body)

    def get_upload(request: Request) -> Result:
        return HTTPStatus.OK, uploads.get(request.caller, request.path["upload_id"])

    return {"create_upload": create_upload, "get_upload": get_upload}
