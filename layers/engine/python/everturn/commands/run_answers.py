"""What is said of a run while it goes on, a local tool's result or a stop; feedback afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from everturn.commands.change import ChangeSession
from everturn.commands.find_run import FoundRun, find_run, place_of
from everturn.ports.callers import Caller
from everturn.ports.runs import Feedback, RunIndex, Verdict
from everturn.rejections import (
    CallNotOpen,
    RunTerminal,
    SessionCancelled,
    StaleAttempt,
    UnknownCall,
    UnknownToolUse,
    WrongHandler,
)
from everturn.session.commands import CancelTurn, Command, SettleCall
from everturn.session.facts import Facts, Stamp
from everturn.session.state import Session

NOT_OPEN = (UnknownCall, CallNotOpen, StaleAttempt, WrongHandler, SessionCancelled)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a local tool came to: an error, or a text and files."""

    tool_use_id: str
    text: str = ""
    error: str | None = None
    files: tuple[Mapping[str, Any], ...] = ()
    """As content parts."""


class RunAnswers:
    """The use cases behind `/tool-results`, `/cancel` and `/feedback` of a run."""

    def __init__(self, change: ChangeSession, runs: RunIndex) -> None:
        self._change = change
        self._runs = runs

    def tool_result(self, caller: Caller, run_id: str, given: ToolResult) -> None:
        """End a local tool's call: the first one counts. After a cancel nothing happens.

        Raises `UnknownRun`, `UnknownToolUse`, `RunTerminal`. Source: agent-runs, "Routes".
        """
        found = self._found(caller, run_id)
        action: dict[str, Any] = {"id": given.tool_use_id}
        if given.error is not None:
            action |= {"type": "tool.error", "error": given.error}
        else:
            action |= {"type": "tool.result", "result": given.text, "files": list(given.files)}

        def settle(stamp: Stamp, facts: Facts, session: Session) -> Command:
            call = session.call(given.tool_use_id)
            if call is None or call.turn_id != run_id:
                raise UnknownCall("The run has no such call.")
            return SettleCall(stamp, facts, action, ("client",))

        try:
            self._change(caller, found.place.session, settle)
        except NOT_OPEN:
            self._explain(caller, run_id)

    def _explain(self, caller: Caller, run_id: str) -> None:
        """Say why a result is not taken; after a cancel nobody has to hear it."""
        match self._found(caller, run_id).outcome:
            case "":
                raise UnknownToolUse(
                    "The run waits for no tool result of that id.",
                    hint="It was answered before, timed out, or never asked for.",
                )
            case "cancelled":
                return
            case _:
                raise RunTerminal("The run has ended; the result is dropped.")

    def cancel(self, caller: Caller, run_id: str) -> None:
        """Stop a run, whether it is open or waits; what has ended stays. Raises `UnknownRun`."""
        found = self._found(caller, run_id)
        if found.status == "over":
            return

        def stop(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            return CancelTurn(stamp, facts, run_id, "user", keep_inbox=True)

        self._change(caller, found.place.session, stop)

    def _found(self, caller: Caller, run_id: str) -> FoundRun:
        place = place_of(self._runs, caller, run_id)
        return find_run(self._change.store, caller, place)

    def feedback(
        self,
        caller: Caller,
        run_id: str,
        verdict: Verdict,
        explanation: str | None,
        content_snapshot: str | None,
    ) -> tuple[Feedback, bool]:
        """Keep what somebody thinks of a run; return it, and whether it is the first.

        Raises `UnknownRun`.
        """
        found = self._found(caller, run_id)
        given = Feedback(
            self._change.stamp().uuid(0),
            verdict,
            explanation,
            content_snapshot,
            self._change.clock.now_ms(),
        )
        before = self._runs.put_feedback(caller.tenant, found.place, given)
        kept = given if before is None else Feedback(before.id, verdict)
        return kept, before is None
