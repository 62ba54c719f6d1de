"""What the stream of a run takes and gives."""

from __future__ import annotations

from typing import Final

from everturn.commands.read_run import WAIT_S
from everturn.rejections import InvalidRequest, UnknownRun
from everturn_local.openapi.shape import EVENT_STREAM, SEQ, Answer, Given, Spoken

RUN_STREAM: Final = (
    'id: 16001001\nevent: assistant_delta\ndata: {"text":"Hi","seq":16001001,'
    '"type":"assistant_delta","data":{"text":"Hi"}}\n\n'
)

RUN_STREAM_OPERATIONS: Final[dict[str, Spoken]] = {
    "stream_run": Spoken(
        "Follow a run",
        "Server-sent events: `started`, `assistant_delta`, `thinking_delta`, `assistant_message`, "
        "`tool_call`, `tool_result`, `local_tool_call`, `local_tool_result_in`, `loop_detected`, "
        "`tool_budget_exceeded`, and in the end exactly one of `result`, `error` and `cancelled`. "
        "A frame's `seq` is its `id` and grows from frame to frame; `data` stands in it twice, by "
        f"itself and spread out. A stream that has nothing to tell waits up to {WAIT_S:g} s for "
        "it; then it closes, and the client comes back with the last `seq` as `lastSeq`, as "
        "`Last-Event-ID`, or as both. It is sent what comes behind that and nothing twice, "
        "however often it comes back.",
        (Answer(200, "Frames behind a place in the stream.", None, RUN_STREAM, EVENT_STREAM),),
        takes=(
            Given("lastSeq", "The `seq` of the last frame seen.", SEQ),
            Given(
                "Last-Event-ID",
                "The same; of two that differ the larger one counts.",
                {"type": "string", "pattern": r"^\d{1,18}$"},
                "header",
            ),
        ),
        refusals=(InvalidRequest, UnknownRun),
    ),
}
