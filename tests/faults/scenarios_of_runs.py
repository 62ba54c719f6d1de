"""What happens to inboxes, runs and guards before anybody dies; as in `scenarios`."""

from __future__ import annotations

from typing import Final

from faults.scenario import Scenario

QUICKLY: Final = {"consecutive_threshold": 2, "hard_cutoff_threshold": 3}
A_CITY: Final = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}

RUNS_AND_GUARDS: Final = (
    Scenario(
        "turns that wait in the inbox, one of them quietly",
        (
            "[[call:send {}]][[turn]][[say:one]]",
            "[[say:two of {{messages}}]]",
            "[[call:put {}]][[turn]][[say:three of {{messages}}]]",
        ),
        door="inbox",
        quiet=frozenset({"t2"}),
    ),
    Scenario(
        "turns that wait in the inbox of a worker that decides",
        ("[[call:send {}]][[turn]][[say:one]]", "[[say:two]]", "[[say:three of {{messages}}]]"),
        door="inbox",
        decides="worker",
        readers=("subscriber", "poller"),
        fanout_lags=True,
    ),
    Scenario(
        "runs with settings of their own, one with a tool of the client's",
        (
            "[[call:measure {}]][[turn]][[say:one: {{result}}. {{system}}]]",
            "[[say:two. {{system}}]]",
            "[[call:send {}]][[turn]][[say:three. {{system}}]]",
        ),
        door="runs",
        readers=("run reader",),
    ),
    Scenario(
        "runs of a worker that decides, one with a tool of the client's",
        ("[[call:measure {}]][[turn]][[say:one: {{result}}]]", "[[say:two]]"),
        door="runs",
        decides="worker",
        readers=("run reader",),
    ),
    Scenario(
        "a run that is stopped while another one waits",
        ("[[call:look {}]][[turn]][[say:never said]]", "[[say:and on]]"),
        worker={"look": ("later",) * 9},
        door="runs",
        readers=("run reader",),
        stops="in the end",
        ends=("cancelled",),
    ),
    Scenario(
        "a loop that is nudged, and then cut off",
        (f"{'[[call:look {}]][[turn]]' * 3}[[say:I give up]]",),
        agent_says={"guards": {"loop_detection": QUICKLY}},
    ),
    Scenario(
        "a write over its budget, and one beside it",
        ("[[call:send {}]][[call:send {}]][[call:put {}]][[turn]][[say:most of it]]",),
        agent_says={"guards": {"tool_budgets": {"send": {"max_calls": 1}}}},
    ),
    Scenario(
        "an answer that breaks its schema, and is asked for again",
        ('[[say:{"town":"Rome"}]][[turn]][[say:{"city":"Rome"}]]',),
        agent_says={"output_schema": A_CITY},
        lazy_lanes=True,
    ),
    Scenario(
        "a model that fails in its midst, and another one after it",
        ("[[call:send {}]][[turn]][[say:one two three from {{model}}]]", "[[say:and on]]"),
        agent_says={"model": "broken:m", "fallback_models": ["demo:demo"]},
        readers=("subscriber", "poller"),
    ),
)
