"""What the routes of runs do: a body to a use case, its result to an answer; no rules.

Source: agent-runs.md, "Routes".
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from everturn.commands.find_run import check_run_id
from everturn.commands.list_models import ListModels
from everturn.commands.read_run import ReadRun
from everturn.commands.run_answers import RunAnswers, ToolResult
from everturn.commands.run_specs import RunSpecs
from everturn.commands.start_run import Started, StartRun, Wanted
from everturn.observability import Metric, metrics
from everturn.protocol.limits import MAX_RUN_BODY_BYTES
from everturn.protocol.runs.bodies import read_feedback, read_run, read_tool_result
from everturn.protocol.runs.run_spec import RunSpec
from everturn.runs.files import files_to_parts
from everturn.runs.listed import listed
from everturn.runs.messages import drafts, system_texts
from everturn.session.inbox_commands import RunOrder
from everturn.surfaces.routes import Operation, Request, Result


def run_operations(
    start: StartRun, specs: RunSpecs, read: ReadRun, answers: RunAnswers, models: ListModels
) -> dict[str, Operation]:
    """Return the operations on runs by name."""
    return {
        **_starting(start, specs),
        **_reading(read, models, specs),
        **_answering(answers),
    }


def _starting(start: StartRun, specs: RunSpecs) -> dict[str, Operation]:
    def create_run(request: Request) -> Result:
        body = read_run(request.body(MAX_RUN_BODY_BYTES))
        spec = body.spec
        resolved = specs.resolve(request.caller.tenant, spec, system_texts(body.turn))
        order = RunOrder(run_of(body, spec), resolved.config, resolved.client)
        wanted = Wanted(resolved.agent_id, order, tuple(drafts(body.turn)))
        started = start(request.caller, wanted)
        metrics.add_metric(Metric.INPUTS_ACCEPTED, "Count", 1)
        return HTTPStatus.ACCEPTED, accepted(request, started)

    return {"create_run": create_run}


def _reading(read: ReadRun, models: ListModels, specs: RunSpecs) -> dict[str, Operation]:
    def get_run(request: Request) -> Result:
        return HTTPStatus.OK, read.get(request.caller, named_run(request))

    def list_run_models(request: Request) -> Result:
        tenant = request.caller.tenant
        return HTTPStatus.OK, listed(models(tenant), specs.default_model(tenant))

    return {"get_run": get_run, "list_run_models": list_run_models}


def _answering(answers: RunAnswers) -> dict[str, Operation]:
    def answer_tool(request: Request) -> Result:
        body = read_tool_result(request.body(MAX_RUN_BODY_BYTES))
        files = tuple(files_to_parts(body.files or ()))
        given = ToolResult(body.tool_use_id, body.result or "", body.error, files)
        answers.tool_result(request.caller, named_run(request), given)
        return HTTPStatus.OK, {"ok": True}

    def cancel_run(request: Request) -> Result:
        answers.cancel(request.caller, named_run(request))
        return HTTPStatus.OK, {"ok": True}

    def rate_run(request: Request) -> Result:
        run_id = named_run(request)
        body = read_feedback(request.body(MAX_RUN_BODY_BYTES))
        kept, is_first = answers.feedback(
            request.caller, run_id, body.verdict, body.explanation, body.content_snapshot
        )
        status = HTTPStatus.CREATED if is_first else HTTPStatus.OK
        told = {"id": kept.id, "verdict": kept.verdict, "targetKind": "run", "agentRunId": run_id}
        return status, told

    return {"answer_tool": answer_tool, "cancel_run": cancel_run, "rate_run": rate_run}


def named_run(request: Request) -> str:
    """Return the run that the path names. Raises `UnknownRun` for what cannot be an id."""
    return check_run_id(request.path["run_id"])


def run_of(body: RunSpec, spec: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a body: `{spec, metadata?, name?}`."""
    run: dict[str, Any] = {"spec": spec}
    if body.metadata:
        run["metadata"] = dict(body.metadata)
    return {**run, "name": body.name} if body.name else run


def accepted(request: Request, started: Started) -> dict[str, Any]:
    """Return the body of a 202."""
    slug, run = quote(request.path["slug"]), quote(started.run_id)
    return {
        "runId": started.run_id,
        "sessionId": started.session_id,
        "streamUrl": f"/api/v1/workspaces/{slug}/agent-runs/{run}/stream",
    }
