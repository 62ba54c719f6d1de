"""What happens before anybody dies: what is said, how the tools do, who reads, what is lost.

It must not hold a rule: what must be true afterwards is in `checks.py`, for every scenario alike.

To add one, add one entry to `SCENARIOS`, or to those of `scenarios_of_runs`. The fields say what is
odd about it, and all but the first two have a default. Texts are scripts of the demo model
(docs/demo-model.md), tools are those of `TOOLS`. Nothing else has to be written: the entry is run
undisturbed, then with a process killed at every moment, with some killed twice or stalled, and with
everything delivered twice. What a run came to must be what the undisturbed one came to.
"""

from __future__ import annotations

from typing import Final

from faults.scenario import MODEL, Scenario

ONE_TOOL = "[[call:look {}]][[turn]][[flaky:1 overloaded]][[say:looked at it]]"
THREE_TOOLS = "[[call:look {}]][[call:send {}]][[call:put {}]][[turn]][[say:all done]]"

MANY_WORDS = f"[[say:{' '.join(f'word{n}' for n in range(30))}]]"

SCENARIOS: Final = (
    Scenario("a plain turn", ("[[say:all is well]]",)),
    Scenario(
        "one tool, retried, and a model that fails once",
        (ONE_TOOL,),
        worker={"look": ("error",)},
        lazy_lanes=True,
    ),
    Scenario("three tools at once", (THREE_TOOLS,)),
    Scenario("a worker that decides", (ONE_TOOL, "[[say:again]]"), decides="worker"),
    Scenario(
        "a worker that decides, and fails",
        (THREE_TOOLS,),
        worker={"look": ("error",), "send": ("503",), "put": ("429",)},
        decides="worker",
    ),
    Scenario(
        "a worker that runs the model, and is busy once",
        (ONE_TOOL,),
        worker={MODEL: ("503",), "look": ("error",)},
        model="worker",
        readers=("subscriber", "poller"),
    ),
    Scenario(
        "a model call that fails for good, until somebody resumes",
        (ONE_TOOL, "[[say:again]]"),
        worker={MODEL: ("error", "result", "error")},
        model="worker",
        pauses=True,
    ),
    Scenario(
        "a reply that is cut off, until somebody resumes",
        ("[[say:one two three four]]",),
        worker={MODEL: ("cut",)},
        model="worker",
        pauses=True,
        lazy_lanes=True,
    ),
    Scenario(
        "tools that the client runs",
        ("[[call:ask {}]][[call:ask {}]][[call:send {}]][[turn]][[say:all answered]]",),
    ),
    Scenario(
        "a tool handed over",
        ("[[call:send {}]][[turn]][[say:sent it]]",),
        remaining_ms=(250_000,),
        lazy_lanes=True,
    ),
    Scenario(
        "handed over twice",
        ("[[call:put {}]][[turn]][[say:it is put]]",),
        remaining_ms=(50, 250_000),
    ),
    Scenario(
        "two turns of a client that retries",
        ("[[call:send {}]][[turn]][[say:one]]", "[[call:send {}]][[turn]][[say:two]]"),
    ),
    Scenario(
        "a conversation that is begun anew, and goes on there",
        (
            "[[call:send {}]][[turn]][[say:one]]",
            "[[call:look {}]][[turn]][[say:two of {{messages}}]]",
            "[[say:three of {{messages}}]]",
        ),
        anew=frozenset({"t2"}),
    ),
    Scenario(
        "a worker that decides, and a user who begins anew",
        ("[[call:send {}]][[turn]][[say:one]]", "[[say:two of {{messages}}]]"),
        anew=frozenset({"t2"}),
        decides="worker",
    ),
    Scenario(
        "two turns over a WebSocket that goes and comes back",
        ("[[say:one]]", "[[call:look {}]][[turn]][[say:two]]"),
        door="websocket",
        readers=("leaving subscriber",),
        fanout_lags=True,
    ),
    Scenario(
        "the input's wake-up is never sent",
        ("[[call:send {}]][[turn]][[say:woken by the stream]]",),
        lost=frozenset({"wake-up"}),
    ),
    Scenario(
        "neither the input's wake-up nor its stream record arrives",
        ("[[say:found by the sweep]]",),
        readers=("poller",),
        lost=frozenset({"wake-up", "stream record"}),
        swept=True,
    ),
    Scenario(
        "a message that kills five drivers",
        ("[[say:never said]]",),
        doom="driver: before the model streams",
        ends=("failed",),
    ),
    Scenario(
        "a tool that kills five drivers, and a turn after it",
        ("[[call:look {}]][[turn]][[say:never said]]", "[[say:all is well]]"),
        doom="driver: after worker.deliver",
        ends=("failed",),
        lazy_lanes=True,
    ),
    Scenario(
        "a turn that ends by its budget, and one after it",
        (
            "[[usage:in=60,out=40]][[call:send {}]][[turn]][[say:never said]]",
            "[[say:all is well]]",
        ),
        budgets={"turn": {"tokens": 100}, "session": {"tokens": 5000}, "mode": "fail"},
        ends=("failed",),
    ),
    Scenario(
        "turns that count for a tenant's budget",
        ("[[usage:in=60,out=40]][[call:look {}]][[turn]][[say:looked]]", "[[say:again]]"),
        tenant_tokens=1_000_000,
    ),
    Scenario(
        "a log that cannot be read",
        ("[[say:never said]]",),
        unreadable=frozenset({"log"}),
        ends=("quarantined",),
    ),
    Scenario(
        "a worker that is busy",
        (THREE_TOOLS,),
        worker={"look": ("503",), "send": ("429", "503 2"), "put": ("503 1",)},
    ),
    Scenario(
        "a worker that asks for half a minute",
        ("[[call:send {}]][[turn]][[say:sent it]]",),
        worker={"send": ("503 30",)},
        timers_late_ms=45_000,
    ),
    Scenario(
        "a tool that is tried again after half a minute",
        ("[[call:dawdle {}]][[turn]][[say:it is there]]",),
        worker={"dawdle": ("error",)},
        lazy_lanes=True,
    ),
    Scenario(
        "a slow tool, which the step machine runs, and a quick one",
        ("[[call:look {}]][[call:send {}]][[turn]][[say:both done]]",),
        worker={"look": ("error",)},
        by_machine=frozenset({"send"}),
    ),
    Scenario(
        "a tool that asks twice, and one beside it",
        ("[[call:send {}]][[call:put {}]][[turn]][[say:both done]]",),
        worker={"send": ("ask",), "put": ("ask", "ask")},
    ),
    Scenario(
        "a task that is polled thrice, and asks in between",
        ("[[call:put {}]][[turn]][[say:it is put]]",),
        worker={"put": ("task 30",), "put poll": ("pending", "ask", "pending")},
        lazy_lanes=True,
    ),
    Scenario(
        "a task of a worker that decides, polled soon, then after an hour",
        ("[[call:look {}]][[turn]][[say:seen it]]", "[[call:put {}]][[turn]][[say:done]]"),
        worker={"look": ("ask", "task 2"), "look poll": ("pending",), "put": ("task 3600",)},
        decides="worker",
    ),
    Scenario(
        "deltas, and a reader that comes back with its cursor",
        ("[[say:one two three four five six seven eight nine ten]]",),
        readers=("poller",),
    ),
    Scenario(
        "deltas, and somebody who subscribes in their midst",
        ("[[say:one two three four five six seven eight nine ten eleven twelve thirteen]]",),
        readers=("late subscriber",),
    ),
    Scenario(
        "a child, and a turn after it",
        ('[[call:poet {"message": "[[say:soft rain]]"}]][[turn]][[say:so it is]]', "[[say:again]]"),
        children=True,
    ),
    Scenario(
        "two children and a write, of a worker that decides",
        (
            '[[call:poet {"message": "[[say:rain]]"}]][[call:send {}]]'
            '[[call:poet {"message": "[[call:look {}]][[say:snow]]"}]][[turn]][[say:all of it]]',
        ),
        decides="worker",
        children=True,
        lazy_lanes=True,
    ),
    Scenario(
        "a child that writes to its parent, which is busy",
        ('[[call:poet {"message": "[[say:soft rain]]"}]][[turn]][[say:so it is]]',),
        decides="worker",
        children=True,
        writes_home=True,
    ),
    Scenario(
        "a child that waits, and is stopped with its parent, and a turn after it",
        ('[[call:poet {"message": "[[call:look {}]]"}]][[turn]][[say:never said]]', "[[say:on]]"),
        worker={"look": ("later",) * 9},
        children=True,
        stops="in the end",
        ends=("cancelled",),
    ),
    Scenario(
        "an answer that the user stops, and a turn after it",
        (MANY_WORDS, "[[say:and on]]"),
        readers=("subscriber", "poller"),
        stops="in the answer",
        ends=("cancelled",),
    ),
    Scenario(
        "a call that was left open, and is stopped, and a turn after it",
        ("[[call:look {}]][[turn]][[say:never said]]", "[[say:and on]]"),
        worker={"look": ("later",) * 9},
        stops="in the end",
        ends=("cancelled",),
    ),
    Scenario(
        "a worker that decides is stopped while its answer is awaited",
        ("[[call:put {}]][[turn]][[say:never said]]", "[[say:and on]]"),
        worker={"put": ("later",) * 9},
        decides="worker",
        stops="in the end",
        ends=("cancelled",),
    ),
)
