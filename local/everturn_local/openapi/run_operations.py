"""What the operations on runs take and give; the stream has a module of its own."""

from __future__ import annotations

from typing import Final

from everturn.protocol.runs.bodies import FeedbackBody, RunBody, ToolResultBody
from everturn.protocol.runs.views import RunAccepted, RunFeedback, RunModels, RunView
from everturn.protocol.views import Ok
from everturn.rejections import (
    InvalidJson,
    InvalidModel,
    InvalidRequest,
    NotYetSupported,
    RunTerminal,
    SchemaViolation,
    SessionQuarantined,
    TooLarge,
    UnknownAgent,
    UnknownRun,
    UnknownToolUse,
)
from everturn_local.openapi import run_examples
from everturn_local.openapi.shape import Answer, Spoken

RUN_BODY: Final = (InvalidJson, InvalidRequest, TooLarge)
"""What every body of the runs API can be refused for."""

SPEC: Final = (*RUN_BODY, InvalidModel, NotYetSupported, UnknownAgent)
"""The same of bodies with a spec."""

UPLOADS: Final = SchemaViolation
"""More uploads in one request than are kept at once."""

RUN_OPERATIONS: Final[dict[str, Spoken]] = {
    "list_run_models": Spoken(
        "List models of a workspace",
        "What a run may name as its model, and what it gets if it names none.",
        (Answer(200, "The models.", RunModels, run_examples.MODELS),),
    ),
    "create_run": Spoken(
        "Begin a run",
        "A turn in a session of its own, with settings of its own. Unknown fields are kept and do "
        "nothing. What happens is told by the stream.",
        (Answer(202, "The run is recorded.", RunAccepted, run_examples.ACCEPTED),),
        body=RunBody,
        bodies=run_examples.RUNS,
        refusals=(*SPEC, UPLOADS),
    ),
    "get_run": Spoken(
        "Read a run",
        "How it stands, what was asked, and once it is over what came of it.",
        (Answer(200, "The run.", RunView, run_examples.RUN),),
        refusals=(UnknownRun, SessionQuarantined),
    ),
    "answer_tool": Spoken(
        "Post the result of a local tool",
        "For the `toolUseId` of a `local_tool_call`; the first one counts, and is recorded before "
        "it is answered. With neither `result` nor `error` it is an empty result. After a cancel "
        "it is taken and does nothing.",
        (Answer(200, "It is recorded.", Ok, {"ok": True}),),
        body=ToolResultBody,
        bodies=run_examples.TOOL_RESULTS,
        refusals=(*RUN_BODY, UnknownRun, UnknownToolUse, RunTerminal, SessionQuarantined),
    ),
    "cancel_run": Spoken(
        "Stop a run",
        "Also one that waits for its turn; one that is over stays as it is. What waits behind it "
        "goes on.",
        (Answer(200, "It is over.", Ok, {"ok": True}),),
        refusals=(UnknownRun, SessionQuarantined),
    ),
    "rate_run": Spoken(
        "Say what a run was worth",
        "Kept with the run; a later one takes the place of the one before and keeps its id.",
        (
            Answer(200, "It took the place of the one before.", RunFeedback, run_examples.RATED),
            Answer(201, "It is the first one.", RunFeedback, run_examples.RATED),
        ),
        body=FeedbackBody,
        bodies=(("praise", run_examples.RATING),),
        refusals=(*RUN_BODY, UnknownRun, SessionQuarantined),
    ),
}
