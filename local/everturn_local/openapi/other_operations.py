"""What the operations on tokens, uploads and the API itself take and give."""

from __future__ import annotations

from typing import Final

from everturn.protocol.client_token import ClientTokenRequest
from everturn.protocol.upload import UploadRequest
from everturn.protocol.views import (
    ClientToken,
    Ok,
    UploadTicket,
    UploadView,
)
from everturn.rejections import (
    InvalidId,
    UnknownUpload,
)
from everturn_local.openapi import examples
from everturn_local.openapi.shape import (
    BODY,
    Answer,
    Spoken,
)

OTHER_OPERATIONS: Final[dict[str, Spoken]] = {
    "health": Spoken(
        "Ask whether the API answers",
        "Says that the function runs, and no more: neither the table nor the queue is asked.",
        (Answer(200, "It does.", Ok, {"ok": True}),),
    ),
    "create_client_token": Spoken(
        "Make a client token",
        "For a frontend of one owner: hand it on, and keep the API key. Nothing is stored, so a "
        "token holds until it expires.",
        (Answer(201, "The token.", ClientToken, examples.TOKEN),),
        body=ClientTokenRequest,
        bodies=(("for reading", examples.TOKEN_WANTED),),
        refusals=(*BODY, InvalidId),
    ),
    "create_upload": Spoken(
        "Ask for leave to upload a file",
        "`PUT` the bytes to `url` with all of `headers`, once; then put `file_url` into a message.",
        (Answer(201, "Where to put the file.", UploadTicket, examples.TICKET),),
        body=UploadRequest,
        bodies=(("an image", examples.UPLOAD),),
        refusals=BODY,
    ),
    "get_upload": Spoken(
        "Read an upload",
        "What is known of a stored file, and a URL that gives it.",
        (Answer(200, "The file.", UploadView, examples.UPLOADED),),
        refusals=(UnknownUpload,),
    ),
}
