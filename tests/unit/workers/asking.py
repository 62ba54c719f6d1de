"""Decision requests as the engine sends them, for tests of the library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from everturn.workers import Worker
from worker_answers import read_response


def execute(name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """Return a request with a `tool.execute`; `trigger` in `more` changes the trigger."""
    value = {} if arguments is None else arguments
    trigger = {
        "type": "tool.execute",
        "id": "call_1",
        "name": name,
        "arguments": json.dumps(value),
        "input": {"status": "valid", "value": value},
        "attempt": 1,
        **more.pop("trigger", {}),
    }
    return about(trigger, **more)


def about(trigger: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a request about `trigger`."""
    return {
        "session_id": "s1",
        "decision_id": "d1",
        "agent_id": "helper",
        "identity": {"id": "ann"},
        "trigger": trigger,
        "proposed": {},
        "state": None,
        "attempts": 1,
        "turn_id": "t1",
        **more,
    }


def result(value: Any, **more: Any) -> dict[str, Any]:
    """Return the response with that result."""
    return {"actions": [{"type": "tool.result", "result": value}], **more}


def error(text: str, *, retryable: bool = False, **more: Any) -> dict[str, Any]:
    """Return the response with that error."""
    return {"actions": [{"type": "tool.error", "error": text, "retryable": retryable, **more}]}


def ask(worker: Worker, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a worker's answer, which is in order by itself."""
    answered = worker.answer(request)
    read_response(answered, decides="engine")
    return answered
